"""How the adopter's check grows: with the hosts of one docker config, and with namespaces times objects."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from bench.bed import SECRET, Bed
from tests.adopt.test_parts import seconds_to_check
from tests.support.objects import entry

_OBJECTS = 5
_TENTH = "team-00*"


@dataclass(frozen=True)
class Check:
    """The check of five objects in all namespaces: how many pairs, the memory, and the time against a tenth of them."""

    pairs: int
    peak_mb: float
    growth: float


def docker_config(hosts: int) -> float:
    """Return the seconds of processor time that the check of a docker config of so many hosts takes."""
    return seconds_to_check(hosts)


def cluster(bed: Bed) -> Check:
    """Check five objects in every namespace, and in a tenth of them. Of the five, each namespace has the first."""
    bed.keep(entry(), *(entry(name=f"{SECRET}-{number}") for number in range(1, _OBJECTS)))
    part = bed.invoke({"action": "check", "namespaces": [_TENTH]}, function="adopt")
    whole = bed.invoke({"action": "check"}, function="adopt")
    of_part = _OBJECTS * sum(fnmatchcase(name, _TENTH) for name in bed.namespaces)
    of_whole = _OBJECTS * len(bed.namespaces)
    growth = (whole.cpu_seconds / of_whole) / (part.cpu_seconds / of_part) * 10
    return Check(of_whole, whole.peak_mb, growth)
