"""EventBridge as a rule's author sees it: which events a pattern lets through.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
"""

from collections.abc import Mapping
from typing import Any

SECRET_ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:apps/api-AbCdEf"


def secret_changed(label: str = "AWSCURRENT", *, name: str = "apps/api", arn: str = SECRET_ARN) -> dict[str, Any]:
    """Return the event of a label that has moved to another version of a secret.

    https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html
    """
    detail = {"name": name, "labelUpdated": label, "versionId": "a1b2c3d4-5678-90ab-cdef-111111111111"}
    return _event("aws.secretsmanager", "Secret Label Updated", arn, detail)


def parameter_changed(operation: str = "Update", *, name: str = "/apps/api/token", **more: str) -> dict[str, Any]:
    """Return the event of a parameter that somebody did something with; `more` stands in its detail, too.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/monitoring-systems-manager-event-examples.html
    """
    arn = f"arn:aws:ssm:eu-central-1:123456789012:parameter/{name.removeprefix('/')}"
    detail = {"operation": operation, "name": name, "type": "SecureString", **more}
    return _event("aws.ssm", "Parameter Store Change", arn, detail)


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """Return whether a rule with this pattern sends the event to its targets.

    Known are texts, nesting and ``exists``; raises `NotImplementedError` at anything else.
    """
    return all(_matches(wanted, name in event, event.get(name)) for name, wanted in pattern.items())


def _matches(wanted: Any, is_there: bool, value: Any) -> bool:
    if isinstance(wanted, Mapping):
        return matches(wanted, value if isinstance(value, Mapping) else {})
    values = value if isinstance(value, list) else [value]
    for one in wanted:
        match one:
            case str():
                if one in values:
                    return True
            case {"exists": bool(exists), **rest} if not rest:
                if exists is is_there:
                    return True
            case _:
                raise NotImplementedError(f"a pattern that is not known here: {one}")
    return False


def _event(source: str, kind: str, arn: str, detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "detail-type": kind,
        "source": source,
        "account": "123456789012",
        "time": "2026-11-30T06:45:35Z",
        "region": "eu-central-1",
        "resources": [arn],
        "detail": detail,
    }
