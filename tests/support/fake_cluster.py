"""An API server in memory, for tests of the use case. It is held to the real one by contract tests."""

import itertools
import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy, replace
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from upsert.core.answers import Answer, Refusal, Written
from upsert.core.document import EXPIRES_AT, LAST_APPLIED
from upsert.core.identity import FIELD_MANAGER, REFRESHER, Identity
from upsert.core.sensitive import Sensitive
from upsert.errors import InputError
from upsert.kube.pace import Pace

# A manager that applies and one of the same name that updates are two.
_APPLIER = (FIELD_MANAGER, "Apply")


@dataclass
class FakeSecret:
    """A Secret: its fields flat, such as ``type`` and ``data/.dockerconfigjson``, and who manages each."""

    uid: str
    version: int
    fields: dict[str, str]
    managers: dict[str, set[tuple[str, str]]]
    immutable: bool = False
    has_owner: bool = False
    is_being_deleted: bool = False
    changed_at: datetime | None = None

    def written(self) -> Written:
        """Return what an answer says of it."""
        data = [managers for name, managers in self.managers.items() if name.startswith("data/")]
        others = {manager for managers in data if _APPLIER not in managers for manager, _ in managers}
        return Written(
            self.uid,
            str(self.version),
            holds_last_applied=_annotation(LAST_APPLIED) in self.fields,
            is_being_deleted=self.is_being_deleted,
            is_dated=any(_APPLIER in managers for managers in self.managers.values()),
            changed_at=self.changed_at,
            keeps_keys_of=tuple(sorted(others)),
            expires_at=self.fields.get(_annotation(EXPIRES_AT), ""),
            has_owner=self.has_owner,
        )


@dataclass
class FakeNamespace:
    """A namespace, with what decides over writes to it."""

    labels: Mapping[str, str]
    terminating: bool = False
    quota_full: bool = False
    secrets: dict[str, FakeSecret] = field(default_factory=dict)


class FakeCluster:
    """Implements the `Writer` that a refresh needs. `calls` lists what was asked, in order.

    `instead` may name, for a namespace, a function that answers in place of the server, for faults.
    """

    def __init__(self) -> None:
        self.contents: dict[str, FakeNamespace] = {}
        self.calls: list[str] = []
        self.names_listed: list[tuple[str, ...]] = []
        self.instead: dict[str, Callable[[], Answer[Written]]] = {}
        self.pace = Pace(4)
        self.identity: Identity = REFRESHER
        self.time_is_up = False
        self._versions = itertools.count(1)
        self._lock = threading.Lock()

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far."""
        return len(self.calls)

    def time_left(self) -> float:
        """Return the seconds that the test has left."""
        return 0.0 if self.time_is_up else 60.0

    def add(self, name: str, **labels: str) -> FakeNamespace:
        """Add a namespace and return it."""
        return self.contents.setdefault(name, FakeNamespace(labels))

    def store(self, namespace: str, body: Mapping[str, Any], manager: str) -> FakeSecret:
        """Put a Secret in place as another field manager does, and return it."""
        fields = _fields(body)
        secret = FakeSecret(
            str(uuid.uuid4()),
            next(self._versions),
            fields,
            {key: {(manager, "Update")} for key in fields},
            immutable=body.get("immutable", False),
            has_owner=bool(body["metadata"].get("ownerReferences")),
        )
        self.contents[namespace].secrets[body["metadata"]["name"]] = secret
        return secret

    def namespaces(self, selector: str, names: Sequence[str] = ()) -> list[str]:
        """Return the names, of `names` if given, that match a selector ``key=value``; another is not understood."""
        self.calls.append("list")
        self.names_listed.append(tuple(names))
        existing = sorted(set(self.contents) & set(names) if names else self.contents)
        if not selector:
            return existing
        key, equals, value = selector.partition("=")
        if not (key and equals):
            raise InputError([f"namespaces.selector: the API server does not understand {selector!r}"])
        return [name for name in existing if self.contents[name].labels.get(key) == value]

    def apply(
        self, path: str, configuration: Sensitive[bytes], *, force: bool, dry_run: bool = False
    ) -> Answer[Written]:
        """Return the answer to a server-side apply."""
        namespace, name = _place(path)
        manifest = configuration
        with self._lock:
            self.calls.append(f"apply {namespace}{' forced' if force else ''}{' dry' if dry_run else ''}")
            if namespace in self.instead:
                return self.instead[namespace]()
            place = self.contents.get(namespace)
            if place is None:
                return Answer(404, refusal=Refusal(reason="NotFound", kind="namespaces"))
            if name not in place.secrets:
                return self._create(place, name, json.loads(manifest.reveal()), dry_run=dry_run)
            return self._update(place.secrets[name], json.loads(manifest.reveal()), force=force, dry_run=dry_run)

    def remove_last_applied(self, path: str, written: Written, *, dry_run: bool = False) -> Answer[Written]:
        """Return the answer to the removal of kubectl's annotation from that version."""
        namespace, name = _place(path)
        with self._lock:
            self.calls.append(f"remove {namespace}{' dry' if dry_run else ''}")
            place = self.contents.get(namespace)
            if place is None or name not in place.secrets:
                return Answer(404, refusal=Refusal(reason="NotFound", kind="secrets" if place else "namespaces"))
            secret = place.secrets[name]
            if written.uid != secret.uid:
                return Answer(422, refusal=Refusal("Invalid", "Secret", (("FieldValueInvalid", "metadata.uid"),)))
            if written.resource_version != str(secret.version):
                return Answer(409, refusal=Refusal(reason="Conflict", kind="secrets"))
            after = replace(secret.written(), holds_last_applied=False)
            if not dry_run and secret.fields.pop(_annotation(LAST_APPLIED), None) is not None:
                secret.version = next(self._versions)
                after = secret.written()
            return Answer(200, value=after, at=_now())

    def _create(self, place: FakeNamespace, name: str, body: Mapping[str, Any], *, dry_run: bool) -> Answer[Written]:
        if place.terminating:
            return Answer(403, refusal=Refusal("Forbidden", "secrets", (("NamespaceTerminating", ""),)))
        if place.quota_full:
            return Answer(403, refusal=Refusal("Forbidden", "secrets", quota="full"))
        fields = _fields(body)
        secret = FakeSecret(
            str(uuid.uuid4()), next(self._versions), fields, {key: {_APPLIER} for key in fields}, changed_at=_now()
        )
        if dry_run:
            return Answer(201, value=replace(secret.written(), resource_version=""), at=_now())
        place.secrets[name] = secret
        return Answer(201, value=secret.written(), at=_now())

    def _update(self, secret: FakeSecret, body: Mapping[str, Any], *, force: bool, dry_run: bool) -> Answer[Written]:
        claimed = _fields(body)
        changed = {key for key, value in claimed.items() if secret.fields.get(key) != value}
        rivals = {key: secret.managers.get(key, set()) - {_APPLIER} for key in sorted(changed)}
        conflicts = [manager for managers in rivals.values() for manager, _ in sorted(managers)]
        if conflicts and not force:
            causes = (("FieldManagerConflict", ""),) * len(conflicts)
            return Answer(409, refusal=Refusal("Conflict", causes=causes, managers=tuple(sorted(set(conflicts)))))
        if "type" in changed:
            return Answer(422, refusal=Refusal("Invalid", "Secret", (("FieldValueInvalid", "type"),)))
        if secret.immutable and any(key.startswith("data/") for key in changed):
            return Answer(422, refusal=Refusal("Invalid", "Secret", (("FieldValueForbidden", "data"),)))
        after = deepcopy(secret) if dry_run else secret
        for key, value in claimed.items():
            kept = set() if key in changed else after.managers.get(key, set())
            after.fields[key], after.managers[key] = value, kept | {_APPLIER}
        if changed:
            after.version = secret.version if dry_run else next(self._versions)
            after.changed_at = _now()
        return Answer(200, value=after.written(), at=_now())


def _now() -> datetime:
    """Return the time as the server tells it: in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def _place(path: str) -> tuple[str, str]:
    """Return the namespace and name in the path of a Secret."""
    _, api, version, namespaces, namespace, secrets, name = path.split("/")
    assert (api, version, namespaces, secrets) == ("api", "v1", "namespaces", "secrets"), path
    return namespace, name


def _annotation(name: str) -> str:
    return f"annotations/{name}"


def _fields(body: Mapping[str, Any]) -> dict[str, str]:
    annotations = body["metadata"].get("annotations", {})
    return {
        "type": body.get("type", "Opaque"),
        **{f"data/{key}": value for key, value in body.get("data", {}).items()},
        **{_annotation(key): value for key, value in annotations.items()},
    }
