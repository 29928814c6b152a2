"""Secrets of any other type: what is in them is their readers' business."""

from collections.abc import Sequence
from copy import replace
from functools import cache

from upsert.core.fields import Fields
from upsert.core.objects import Part
from upsert.kinds import keyed
from upsert.kinds.kind import Kind, PartReader

KIND = keyed.secret("generic", "Opaque")


@cache
def of_type(name: str) -> Kind:
    """Return the kind of Secret of that type, such as ``example.com/token``."""
    return keyed.secret(name, name)


def _refuse(fields: Fields, _: PartReader) -> Sequence[Part]:
    fields.wrong("type", "is filled by the cluster's own controller, with tokens of its own; expected another type")
    return ()


# https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets
SERVICE_ACCOUNT_TOKEN = replace(of_type("kubernetes.io/service-account-token"), parts=_refuse)
