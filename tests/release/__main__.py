"""Write a release: ``python -m tests.release BUILT DIST``."""

import sys
from pathlib import Path

from tests.release.contents import SUMS, version, write


def main() -> None:
    """Write a release of what was built into the folder BUILT, into the new folder DIST."""
    built, dist = map(Path, sys.argv[1:])
    write(dist, built)
    print(f"==> version {version()}: {len((dist / SUMS).read_text().splitlines())} files in {SUMS}", file=sys.stderr)


if __name__ == "__main__":
    main()
