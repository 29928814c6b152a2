"""Runs the tests of what Kubernetes does on the newest and on the oldest version; arguments are pytest's own."""

import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.support import assets
from tests.support.processes import ChildFailed
from tests.versions.runs import run


def main(arguments: Sequence[str]) -> int:
    """Build what is missing, run the tests on each version, print a closing line for each; return the exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        folders = [assets.build(module) for module in (assets.NEWEST, assets.OLDEST)]
    except (assets.AssetsMissing, ChildFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    outcomes = [run(folder, arguments) for folder in folders]
    for outcome in outcomes:
        print(outcome)
    return max(outcome.status for outcome in outcomes)


def _terminate(*_: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
