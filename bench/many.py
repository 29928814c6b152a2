"""Ten objects in a tenth of the namespaces each, against one object in all of them, by turns."""

import statistics
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil

from bench.bed import SECRET, Bed, Run, Unsound
from tests.support.objects import entry

OBJECTS = 10
_PAGE = 500


@dataclass(frozen=True)
class Many:
    """PATCHes a second of the many and of the one, the function's own milliseconds for each, medians.

    `ratio` is the median of the ratios of each round. `requests`, `source_reads` and `peak_mb` are the most of any run
    of the many.
    """

    many: float
    one: float
    ratio: float
    cpu_many: float
    cpu_one: float
    requests: int
    source_reads: int
    peak_mb: float


def tenth(size: int) -> str:
    """Return a glob for a tenth of a cluster of so many namespaces, such as team-01000 to team-01999 of 10,000."""
    return f"team-{1:0{6 - len(str(size // 10))}}*"


def requests_due(size: int) -> int:
    """Return how many requests a run of the many makes."""
    return ceil(size / _PAGE) + OBJECTS * (size // 10)


def measure(bed: Bed, rounds: int) -> Many:
    """Return how many objects compare with one. Afterwards the functions keep one object, as shipped."""
    size = len(bed.namespaces)
    glob = tenth(size)
    objects = [entry(name=f"{SECRET}-{number}", include=[glob]) for number in range(OBJECTS)]
    if size // 10 != sum(fnmatchcase(name, glob) for name in bed.namespaces):
        raise Unsound(f"{glob} is no tenth of {size} namespaces")
    writes = OBJECTS * (size // 10)
    bed.keep(*objects)
    bed.run()  # which creates them
    many: list[Run] = []
    one: list[Run] = []
    reads: list[int] = []
    try:
        for number in range(rounds):
            # By turns, and each as often first as the other: the server's store grows with every write.
            for is_many in (True, False) if number % 2 else (False, True):
                bed.keep(*(objects if is_many else [entry()]))
                asked = len(bed.ecr.calls)
                run = bed.refresh(writes if is_many else size)
                (many if is_many else one).append(run)
                if is_many:
                    reads.append(len(bed.ecr.calls) - asked)
    finally:
        bed.keep(entry())
    ratios = [mine / its for mine, its in zip(_rates(many), _rates(one), strict=True)]
    return Many(
        statistics.median(_rates(many)),
        statistics.median(_rates(one)),
        statistics.median(ratios),
        _cpu(many, writes),
        _cpu(one, size),
        max(run.served.requests for run in many),
        max(reads),
        max(run.invocation.peak_mb for run in many),
    )


def _rates(runs: list[Run]) -> list[float]:
    return [run.served.patches_per_second for run in runs]


def _cpu(runs: list[Run], writes: int) -> float:
    return statistics.median(run.invocation.cpu_seconds for run in runs) / writes * 1000
