"""What kubectl made of the first cases of each sort, by a digest of each."""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.parity.cases import Case, cases
from tests.parity.sides import Side, by_kubectl
from tests.support import assets

PATH = Path(__file__).parent / "kubectl.json"
COUNT = 500

_AT_ONCE = 2


def ask(asked: Iterable[Case]) -> list[tuple[Case, Side]]:
    """Return each case with what kubectl makes of it now."""
    found = list(asked)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(zip(found, pool.map(by_kubectl, found), strict=True))


def write() -> None:
    """Ask kubectl, and write the table."""
    made = {case.name: side.digest for case, side in ask(cases(COUNT))}
    table = {"kubectl": assets.release(assets.NEWEST), "made": made}
    PATH.write_text(json.dumps(table, indent=1) + "\n")


def read() -> Mapping[str, str]:
    """Return the digests by the names of cases. They are those of the version that is pinned."""
    table = json.loads(PATH.read_text())
    assert table["kubectl"] == assets.release(assets.NEWEST), "another kubectl is pinned: python -m tests.parity"
    found: Mapping[str, str] = table["made"]
    return found
