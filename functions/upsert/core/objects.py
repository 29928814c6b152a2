"""What the file of objects says, as values."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from upsert.core.namespaces import is_any
from upsert.core.resources import Resource
from upsert.core.sensitive import Sensitive


class OnConflict(StrEnum):
    """What to do about an object that another field manager writes."""

    TAKE_OVER = "take-over"
    REFUSE = "refuse"


class Target(NamedTuple):
    """An EKS cluster to write to: in this region unless another is named, as this function unless a role is."""

    name: str
    region: str = ""
    role_arn: str = ""


class Scope(NamedTuple):
    """The namespaces that an object goes to: globs over their names, exclude wins, and a label selector."""

    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    selector: str = ""


class Ref(NamedTuple):
    """Where a source has what is wanted of it: the source's name in the table, and the fields that it understands.

    Equal ones are read once.
    """

    source: str
    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return a field's value, or the default if it was left out."""
        return dict(self.fields).get(name, default)


class Part(NamedTuple):
    """One part of an object: its place there, such as the key in its data, and where its bytes come from."""

    place: str
    ref: Ref


class Object(NamedTuple):
    """One object of the file, of a Kubernetes `kind`.

    `type` is what sort of Secret it is, in the words of the table of kinds, and empty for what is none. `clusters` are
    globs over clusters' names. One that is not `is_written` is still in the roles, so that it can be given back.
    """

    name: str
    type: str
    parts: tuple[Part, ...]
    scope: Scope = Scope()
    kind: str = "Secret"
    on_conflict: OnConflict = OnConflict.REFUSE
    service_accounts: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ("*",)
    is_written: bool = True

    def __hash__(self) -> int:
        """Return a hash of few of the fields: each write looks its object up, which may have thousands of parts."""
        return hash((self.name, self.kind, self.scope.selector, self.scope.include[:1], self.clusters[:1]))

    @property
    def title(self) -> str:
        """Return how records name it, such as ``secret/aws-ecr-token``."""
        return f"{self.kind.lower()}/{self.name}"

    def is_for(self, cluster: str) -> bool:
        """Return whether it goes to the cluster of that name."""
        return is_any(cluster, self.clusters)


class Material(NamedTuple):
    """What a source gave: bytes by key.

    A source of values gives one under ``value``; one of registry logins gives ``server``, ``username`` and
    ``password``. `rotates` says that each reading gives another value, `changed_at` when this one was put there,
    `expires_at` when it stops being useful. `secrets` are the texts in it that nobody may see.
    """

    data: Mapping[str, Sensitive[bytes]]
    rotates: bool = False
    changed_at: datetime | None = None
    expires_at: datetime | None = None
    secrets: tuple[Sensitive[str], ...] = ()


class Desired(NamedTuple):
    """What is to be in the cluster: one API object without a namespace.

    `binary_keys` are the keys of a ConfigMap's data that are no text. `rest` is what a manifest says beside its name,
    by top-level field. `rotating` names the parts whose value is new each time, in the words of the kind that compares
    them.
    """

    resource: Resource
    name: str
    type: str
    data: Mapping[str, Sensitive[bytes]]
    binary_keys: frozenset[str] = frozenset()
    rest: Mapping[str, Any] = MappingProxyType({})
    rotating: frozenset[str] = frozenset()
    changed_at: datetime | None = None
    expires_at: datetime | None = None


class BadMaterial(Exception):
    """What the sources gave makes no object of its kind. The text says which part and why, and quotes nothing."""


class NothingYet(BadMaterial):
    """A source holds nothing yet for the part at `place`."""

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        super().__init__(text)
