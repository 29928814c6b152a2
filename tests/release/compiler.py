"""`make compiler`: the compiler of files of objects in one file, which needs Python 3.13 alone."""

import sys
from pathlib import Path

from compiler import archives

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
PARSER = ROOT / ".venv" / "compiler" / "lib" / "python3.13" / "site-packages"
"""PyYAML, as functions/compiler/requirements.txt pins it."""

# Of the package it needs what says which objects, kinds and sources there are.
_MODULES = (
    "compiler/*.py",
    "upsert/__init__.py",
    "upsert/errors.py",
    *(f"upsert/{name}/*.py" for name in ("core", "kinds", "sources")),
)
_START = b"import compiler.__main__\ncompiler.__main__.main()\n"


def pack(target: Path) -> None:
    """Write the compiler with its parser into the file `target`, the same bytes wherever it is made."""
    places = [*((FUNCTIONS, pattern) for pattern in _MODULES), (PARSER, "yaml/*.py")]
    files = {str(path.relative_to(root)): path.read_bytes() for root, pattern in places for path in root.glob(pattern)}
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3.13\n")
        archives.write(file, files | {"__main__.py": _START})
    target.chmod(0o755)


def main() -> None:
    """Write the file that the command line names."""
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    pack(target)
    print(f"==> {target}", file=sys.stderr)


if __name__ == "__main__":
    main()
