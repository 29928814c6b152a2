"""Zip archives that are the same bytes wherever they are made: times, order and modes are the archive's own."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

# The earliest time that the format knows.
_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
# Lambda runs a function as another user than the one who packed it.
_FOR_EVERYBODY = (stat.S_IFREG | 0o644) << 16


def read(file: Path) -> dict[str, bytes]:
    """Return the files of an archive by name. Raises `OSError` and `zipfile.BadZipFile`."""
    with ZipFile(file) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist() if not entry.is_dir()}


def write(target: IO[bytes], files: Mapping[str, bytes]) -> None:
    """Append an archive of these files to what the target holds."""
    with ZipFile(target, "w") as archive:
        for name in sorted(files):
            entry = ZipInfo(name, _TIME)
            entry.create_system = _UNIX
            entry.external_attr = _FOR_EVERYBODY
            archive.writestr(entry, files[name], ZIP_DEFLATED)
