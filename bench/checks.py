"""How the adopter's check grows: with the hosts of one docker config, and with namespaces times objects."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from bench.bed import Bed, Unsound
from bench.many import tenth
from tests.adopt import test_many_checks
from tests.adopt.test_parts import seconds_to_check
from tests.support.objects import entry

OBJECTS = test_many_checks.OBJECTS
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Check:
    """The check of many objects: how many, the memory, and the processor time against that for a tenth of them."""

    checked: int
    peak_mb: float
    seconds: float
    growth: float


def docker_config(hosts: int) -> float:
    """Return the seconds of processor time that the check of a docker config of so many hosts takes."""
    return seconds_to_check(hosts)


def without_server(namespaces: int) -> Check:
    """Check five objects of three values each, all of them there, in so many namespaces and in a tenth of them.

    The API server is one in memory: what is measured is the adopter's own, in a process of its own.
    """
    part, whole = test_many_checks.measured(namespaces // 10), test_many_checks.measured(namespaces)
    checked = whole["records"]["adopt.checked"]
    return Check(checked, whole["peak"] / _MEGABYTE, whole["seconds"], whole["seconds"] / part["seconds"])


def cluster(bed: Bed) -> Check:
    """Check the pull Secret in every namespace, with the adopter as built, and in a tenth of them."""
    bed.keep(entry())
    size = len(bed.namespaces)
    glob = tenth(size)
    part = bed.invoke({"action": "check", "namespaces": [glob]}, function="adopt")
    whole = bed.invoke({"action": "check"}, function="adopt")
    checked = len(bed.records("adopt.checked"))
    if checked != size or size // 10 != sum(fnmatchcase(name, glob) for name in bed.namespaces):
        raise Unsound(f"{checked} of {size} objects were checked")
    return Check(checked, whole.peak_mb, whole.cpu_seconds, whole.cpu_seconds / part.cpu_seconds)
