"""The file of objects that docs/objects.md shows, with the files beside it: what the page says is what is deployed."""

import re
from functools import cache
from pathlib import Path

import yaml

from tests.support.sam import ROOT

PAGE = ROOT / "docs" / "objects.md"

_BLOCK = re.compile(r"^```[a-z]+\n# functions/(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def files() -> dict[str, bytes]:
    """Return the files that the page shows, by their path beside the file of objects, itself included."""
    return {path: text.encode() for path, text in _BLOCK.findall(PAGE.read_text())}


def objects() -> bytes:
    """Return the file of objects."""
    return files()["objects.yaml"]


def titles() -> list[str]:
    """Return its objects as records name them, in its order."""
    named = yaml.safe_load(objects())["objects"]
    return [_title(yaml.safe_load(files()[one["manifest"]["file"]]) if "manifest" in one else one) for one in named]


def kinds() -> set[tuple[str, str]]:
    """Return the kinds of its objects, each with what sort of Secret it is if it is one."""
    named = yaml.safe_load(objects())["objects"]
    told = [yaml.safe_load(files()[one["manifest"]["file"]]) if "manifest" in one else one for one in named]
    return {(one.get("kind", "Secret"), one.get("type", "")) for one in told}


def write(folder: Path) -> Path:
    """Write them into a folder and return the path of the file of objects there."""
    for path, content in files().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder / "objects.yaml"


def _title(one: dict[str, object]) -> str:
    metadata = one.get("metadata", one)
    assert isinstance(metadata, dict)
    return f"{str(one.get('kind', 'Secret')).lower()}/{metadata['name']}"
