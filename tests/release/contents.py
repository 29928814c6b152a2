"""What a release holds. Nothing in it depends on the folder, the time or the user that made it."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

from compiler import archives
from tests.release.compiler import PARSER, ROOT, pack
from tests.release.sbom import project, sbom
from tests.release.template import ARTIFACTS, packaged

SBOM = "sbom.cdx.json"
SUMS = "SHA256SUMS"

# From their place here to their place there. Documents that speak of the repository alone stay.
_COPIED = {
    "CHANGELOG.md": "",
    "LICENSE": "",
    "SECURITY.md": "",
    "samconfig.toml": "",
    "tests/release/Makefile": "",
    "functions/objects.yaml": "functions",
    "functions/objects.schema.json": "functions",
    "docs/*.md": "docs",
    "events/*.json": "events",
    "fleet/*": "fleet",
    "rbac/*.yaml": "rbac",
}


class CannotBeReleased(Exception):
    """Something that ships is not as a release needs it; the message says what."""


def version() -> str:
    """Return the version of this tree."""
    return str(project()["version"])


def write(dist: Path, built: Path) -> None:
    """Write a release into the new folder `dist`, of the functions and the layer that were built into `built`.

    Raises `CannotBeReleased`, `CannotBePackaged` and `NoSbom`.
    """
    dist.mkdir()
    for name in ARTIFACTS:
        with (dist / f"{name}.zip").open("wb") as file:
            archives.write(file, _files(built / name))
    (dist / "template.yaml").write_text(packaged((ROOT / "template.yaml").read_text(), version()))
    pack(dist / "compiler.pyz")
    for pattern, folder in _COPIED.items():
        for source in sorted(ROOT.glob(pattern)):
            (dist / folder).mkdir(exist_ok=True)
            shutil.copyfile(source, dist / folder / source.name)
    with tempfile.TemporaryDirectory() as scratch:
        parser = _parser(Path(scratch))
        shipped = (built / "DependenciesLayer" / "python", parser)
        for distribution in _distributions(*shipped):
            _write_licences(distribution, dist / "licences")
        (dist / SBOM).write_text(sbom(shipped, Path(scratch)))
    sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(_files(dist).items()))
    (dist / SUMS).write_text("".join(sums))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _parser(scratch: Path) -> Path:
    """Return a folder with the notes on the compiler's parser alone: its environment holds pip, too."""
    folder = scratch / "parser"
    (notes,) = PARSER.glob("[Pp]y[Yy][Aa][Mm][Ll]-*.dist-info")
    shutil.copytree(notes, folder / notes.name)
    return folder


def _distributions(*folders: Path) -> Iterator[Distribution]:
    for folder in folders:
        for notes in sorted(folder.glob("*.dist-info")):
            yield Distribution.at(notes)


def _write_licences(distribution: Distribution, folder: Path) -> None:
    name = f"{distribution.metadata['Name']}-{distribution.version}"
    texts = {
        Path(file).name: text
        for file in distribution.metadata.get_all("License-File") or ()
        if (text := distribution.read_text(f"licenses/{file}") or distribution.read_text(file))
    }
    if not texts:
        raise CannotBeReleased(f"{name} says no licence that could be shipped with it")
    (folder / name).mkdir(parents=True)
    for file, text in texts.items():
        (folder / name / file).write_text(text)
