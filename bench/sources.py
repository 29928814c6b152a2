"""How often sources are read and namespaces are listed in one run, by the log of the sources and of the API server."""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from typing import Any

from bench.bed import Bed, Unsound
from tests.support.objects import entry
from tests.support.parameters_standin import MOST_NAMES, Parameter, ParametersStandin
from tests.support.secrets_standin import MOST_IDS, SecretsStandin

SECRETS, PARAMETERS, OTHERS, NAMESPACES = 45, 25, 2, 10
# Five objects, each in as many namespaces; of the selectors two are distinct.
_SELECTORS = ("", "", "", _LABELLED := "kubernetes.io/metadata.name!=default", _LABELLED)
READS_DUE = ceil(SECRETS / MOST_IDS) + ceil(PARAMETERS / MOST_NAMES) + OTHERS + 1
_NAMES = [f"team-0001{number}" for number in range(NAMESPACES)]


def requests_due(size: int) -> int:
    """Return how many requests the run makes in a cluster of so many namespaces."""
    return len(set(_SELECTORS)) * ceil(size / 500) + len(_SELECTORS) * NAMESPACES


@dataclass(frozen=True)
class Asked:
    """The calls that the sources got in a run, and the requests that the API server got."""

    reads: int
    requests: int


def measure(bed: Bed) -> Asked:
    """Return what a run asks for whose objects share sources: secrets, parameters, a stage, a version, and a login.

    Afterwards the functions keep one object, as shipped.
    """
    secrets = {f"apps/secret-{number}": f"value {number}" for number in range(SECRETS)}
    parameters = {f"/apps/parameter-{number}": f"value {number}" for number in range(PARAMETERS)}
    of_secrets: dict[str, Any] = {name.replace("/", "."): {"secret": name} for name in secrets}
    of_parameters: dict[str, Any] = {name.strip("/").replace("/", "."): {"parameter": name} for name in parameters}
    with ExitStack() as stack:
        manager, store = stack.enter_context(SecretsStandin()), stack.enter_context(ParametersStandin())
        manager.kept |= secrets
        manager.others = {("apps/secret-0", "AWSPREVIOUS"): "old"}
        store.kept = {name: Parameter([value]) for name, value in parameters.items()}
        store.kept["/apps/parameter-0"] = Parameter(["older", "old"])
        objects = [
            _object(0, of_secrets),
            _object(1, of_secrets | of_parameters),
            entry(name="bench-login", namespaces=_scope(2)),
            _object(3, of_parameters),
            _object(
                4,
                {
                    "stage": {"secret": "apps/secret-0", "stage": "AWSPREVIOUS"},
                    "version": {"parameter": "/apps/parameter-0", "version": "1"},
                },
            ),
        ]
        bed.keep(*objects)
        stack.callback(bed.keep, entry())
        before = len(bed.ecr.calls)
        run = bed.run(AWS_ENDPOINT_URL_SECRETS_MANAGER=manager.url, AWS_ENDPOINT_URL_SSM=store.url)
        done = Counter(record["object"] for record in bed.records("object.applied"))
        if len(done) != len(objects) or set(done.values()) != {NAMESPACES}:
            raise Unsound(f"the objects were applied so often: {dict(done)}")
        reads = len(bed.ecr.calls) - before + len(manager.calls) + len(store.requests)
        return Asked(reads, run.served.requests)


def _object(number: int, data: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"bench-app-{number}", "type": "generic", "data": data, "namespaces": _scope(number)}


def _scope(number: int) -> dict[str, Any]:
    selector = _SELECTORS[number]
    return {"include": _NAMES, **({"selector": selector} if selector else {})}
