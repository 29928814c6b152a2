"""Ten objects in a tenth of the namespaces each, against one object in all of them, by turns."""

import statistics
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil

from bench.bed import SECRET, Bed
from bench.served import Served, Window
from bench.standins import USER
from tests.support.objects import entry

OBJECTS = 10
_ROUNDS = 2
_PAGE = 500


@dataclass(frozen=True)
class Many:
    """PATCHes a second of the many and of the one, medians, and what a run of the many asked for and held."""

    many: float
    one: float
    ratio: float
    requests: int
    requests_due: int
    source_reads: int
    peak_mb: float


def measure(bed: Bed) -> Many:
    """Return how many objects compare with one. Afterwards the functions keep one object, as shipped."""
    # A thousand of ten thousand: team-00000 to team-00999.
    tenth = f"team-{0:02}*"
    objects = [entry(name=f"{SECRET}-{number}", include=[tenth]) for number in range(OBJECTS)]
    ours = [name for name in bed.namespaces if fnmatchcase(name, tenth)]
    rates: dict[bool, list[float]] = {True: [], False: []}
    peaks: list[float] = []
    for _ in range(_ROUNDS):
        bed.keep(*objects)
        if not peaks:
            bed.invoke()  # which creates them
        asked = len(bed.ecr.calls)
        peak, of_many = _refresh(bed)
        reads = len(bed.ecr.calls) - asked
        peaks.append(peak)
        rates[True].append(of_many.patches_per_second)
        bed.keep(entry())
        _, of_one = _refresh(bed)
        rates[False].append(of_one.patches_per_second)
    return Many(
        statistics.median(rates[True]),
        statistics.median(rates[False]),
        statistics.median(many / one for many, one in zip(rates[True], rates[False], strict=True)),
        of_many.requests,
        ceil(len(bed.namespaces) / _PAGE) + OBJECTS * len(ours),
        reads,
        max(peaks),
    )


def _refresh(bed: Bed) -> tuple[float, Served]:
    window = Window(bed.control_plane.audit_log)
    invocation = bed.invoke()
    return invocation.peak_mb, window.served(USER)
