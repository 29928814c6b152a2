"""The composition root of the adopter."""

from collections.abc import Mapping
from dataclasses import dataclass

from upsert import kinds
from upsert.adopt import AdoptParts
from upsert.adopt_records import AdoptRecords
from upsert.adopt_request import AdoptRequest
from upsert.check import Sources
from upsert.core.identity import ADOPTER
from upsert.core.objects import Desired, Object
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Verdict
from upsert.imports import ImportParts, Version
from upsert.kube.reader import KubeReader
from upsert.kube.writer import KubeWriter
from upsert.release import ReleaseParts
from upsert.sources import secrets_manager
from upsert.sources.source import AwsApi
from upsert.wiring import Surroundings


def adopt_parts(request: AdoptRequest, surroundings: Surroundings, records: AdoptRecords) -> AdoptParts:
    """Return the parts of a check or an adoption."""
    return AdoptParts(
        sources=_sources(surroundings),
        connect=lambda: _connect(request, surroundings),
        record=records.result,
        source_failed=records.source_failed,
        unplaced=records.unplaced,
    )


def import_parts(request: AdoptRequest, surroundings: Surroundings, records: AdoptRecords) -> ImportParts:
    """Return the parts of an import."""
    return ImportParts(
        sources=_sources(surroundings),
        kept=lambda secret: KeptSecret(secret, surroundings.aws),
        connect=lambda: _connect(request, surroundings),
        record=records.result,
        conceal=surroundings.conceal,
    )


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """One secret of AWS Secrets Manager, by its name or ARN."""

    name: str
    aws: AwsApi

    def fetch(self) -> Version | None:
        """Return the current version, or None if there is none yet. Raises `SourceFailed`."""
        found = secrets_manager.fetch(self.name, self.aws)
        return Version(*found) if found else None

    def put(self, value: Sensitive[str], *, over: str) -> bool:
        """Make `value` the current one if the version `over` still is, and return whether. Raises `SourceFailed`."""
        return secrets_manager.put(self.name, value, self.aws, over=over)


def release_parts(request: AdoptRequest, surroundings: Surroundings, records: AdoptRecords) -> ReleaseParts:
    """Return the parts of a release."""
    return ReleaseParts(
        resource=lambda one: kinds.of(one).resource,
        connect=lambda: _connect(request, surroundings),
        record=records.result,
    )


def _sources(surroundings: Surroundings) -> Sources:
    return Sources(surroundings.read, kinds.build, _compare)


def _compare(one: Object, live: Mapping[str, Sensitive[bytes]], new: Desired) -> tuple[Verdict, ...]:
    return kinds.of(one).compare(live, new)


def _connect(request: AdoptRequest, surroundings: Surroundings) -> tuple[KubeWriter, KubeReader]:
    api = surroundings.connect(request.target, ADOPTER)
    return KubeWriter(api), KubeReader(api)
