"""Reads and writes files: never too much, never half."""

import errno
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

from compiler import archives
from compiler.loading import MOST_BYTES
from upsert.sources.source import NoFile

COMPILED = "objects.json"
# The function runs as another user than the one who builds it.
_FOR_EVERYBODY = 0o644


@dataclass(frozen=True, slots=True)
class Beside:
    """The folder of the file of objects, or None if there is none to look into."""

    folder: Path | None

    def read(self, path: str) -> bytes:
        """Return what a file in the folder holds. Raises `NoFile`."""
        if self.folder is None:
            raise NoFile(f"{path!r} cannot be looked for; expected no file")
        folder, file = self.folder.resolve(), (self.folder / path).resolve()
        if not file.is_relative_to(folder):
            raise NoFile(f"{path!r} leads out of the folder of the file of objects; expected a file within")
        try:
            content = load(file)
        except OSError as error:
            raise NoFile(
                f"{path!r} cannot be read ({error.strerror}); expected a file beside the file of objects"
            ) from None
        if len(content) > MOST_BYTES:
            raise NoFile(f"{path!r} has more than {MOST_BYTES} bytes; expected at most that many")
        return content


NOWHERE = Beside(None)


def load(source: Path) -> bytes:
    """Return a file's bytes, and of a file that is too long no more than shows that. Raises `OSError`."""
    with source.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def write(text: str, targets: Sequence[Path]) -> tuple[Path, ...]:
    """Write the text to every target, in a folder or a zip archive as ``objects.json``, and return where it is now.

    A target holds the old text or the new one, whole, at any time, and none is touched before all can be written.
    Raises `OSError`.
    """
    content = text.encode()
    files = tuple(target / COMPILED if target.is_dir() else target for target in targets)
    with ExitStack() as undo:
        waiting = [(_beside(file, content, undo), file) for file in files]
        for new, file in waiting:
            new.replace(file)
    return files


def _beside(file: Path, content: bytes, undo: ExitStack) -> Path:
    packed = _packed(file) if file.suffix == ".zip" else None
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    undo.callback(_remove, Path(name))
    with os.fdopen(descriptor, "wb") as new:
        if packed is None:
            new.write(content)
        else:
            archives.write(new, packed | {COMPILED: content})
    Path(name).chmod(_FOR_EVERYBODY)
    return Path(name)


def _packed(file: Path) -> dict[str, bytes]:
    """Return what the archive of a built function holds. Raises `OSError`, also if it is another archive or none."""
    try:
        packed = archives.read(file)
    except BadZipFile:
        packed = {}
    if COMPILED not in packed:
        raise OSError(errno.EINVAL, f"not the archive of a function, which holds {COMPILED}", str(file))
    return packed


def _remove(file: Path) -> None:
    with suppress(FileNotFoundError):
        file.unlink()
