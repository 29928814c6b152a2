"""Secrets of any other type: what is in them is their readers' business."""

from functools import cache

from upsert.kinds import keyed
from upsert.kinds.kind import Kind

KIND = keyed.secret("generic", "Opaque")


@cache
def of_type(name: str) -> Kind:
    """Return the kind of Secret of that type, such as ``example.com/token``."""
    return keyed.secret(name, name)
