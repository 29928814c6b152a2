"""An API server that lets few requests of the function in at once, and refuses the rest with 429."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from bench.standins import USER
from tests.support.controlplane import ControlPlane

# https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
_NAME = "bench-few-seats"
_LEVEL = {
    "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
    "kind": "PriorityLevelConfiguration",
    "metadata": {"name": _NAME},
    "spec": {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 2,
            "lendablePercent": 0,
            "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        },
    },
}
_FLOW = {
    "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
    "kind": "FlowSchema",
    "metadata": {"name": _NAME},
    "spec": {
        "priorityLevelConfiguration": {"name": _NAME},
        "matchingPrecedence": 10,
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": USER}}],
                "resourceRules": [
                    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
                ],
            }
        ],
    },
}
_METRIC = f'apiserver_flowcontrol_nominal_limit_seats{{priority_level="{_NAME}"}}'


@contextmanager
def throttled(control_plane: ControlPlane) -> Iterator[int]:
    """Throttle the function while the block lasts, and yield how many of its requests are let in at once."""
    control_plane.apply_yaml(f"{json.dumps(_LEVEL)}\n---\n{json.dumps(_FLOW)}")
    try:
        yield _seats(control_plane)
    finally:
        control_plane.kubectl("delete", "flowschema", _NAME)
        control_plane.kubectl("delete", "prioritylevelconfiguration", _NAME)


def _seats(control_plane: ControlPlane) -> int:
    """Return the limit once the API server acts on it."""
    for _ in range(100):
        for line in control_plane.kubectl("get", "--raw", "/metrics").splitlines():
            if line.startswith(_METRIC):
                return int(float(line.rpartition(" ")[2]))
    raise TimeoutError("the API server does not act on the priority level")
