"""What the changelog says of a version: ``python -m tests.release.notes TAG``."""

import re
import sys

from tests.release.compiler import ROOT
from tests.release.contents import CannotBeReleased, version


def notes(tag: str, version: str, changelog: str) -> str:
    """Return the changelog's section on the version. Raises `CannotBeReleased` for another's tag, or without a date."""
    if tag != f"v{version}":
        raise CannotBeReleased(f"the tag is {tag}; expected v{version}, the version in pyproject.toml")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n"
    found = re.search(rf"{heading}\n(.*?)\s*(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None:
        raise CannotBeReleased(f"CHANGELOG.md has no heading '## [{version}] - YYYY-MM-DD'")
    return found[1]


def main() -> None:
    """Print the notes, or say why there can be no release."""
    try:
        print(notes(sys.argv[1], version(), (ROOT / "CHANGELOG.md").read_text()))
    except CannotBeReleased as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
