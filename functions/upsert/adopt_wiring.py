"""The composition root of the adopter."""

from upsert import kinds
from upsert.adopt import AdoptParts
from upsert.adopt_records import AdoptRecords
from upsert.adopt_request import AdoptRequest
from upsert.check import Sources
from upsert.core.identity import ADOPTER
from upsert.core.value_plan import SECRET, Store
from upsert.importing import ImportParts, Kept
from upsert.kinds.comparison import compare
from upsert.kube.reader import KubeReader
from upsert.kube.writer import KubeWriter
from upsert.release import ReleaseParts
from upsert.sources.kept import KeptParameter, KeptSecret
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
        resource=lambda one: kinds.of(one).resource,
        own_fields=lambda one: kinds.of(one).own_fields,
        kept=lambda store: kept(store, surroundings.aws),
        connect=lambda: _connect(request, surroundings),
        record=records.result,
        conceal=surroundings.conceal,
    )


def kept(store: Store, aws: AwsApi) -> Kept:
    """Return where values are kept, at AWS."""
    return KeptSecret(store.name, aws) if store.source == SECRET else KeptParameter(store.name, aws)


def release_parts(request: AdoptRequest, surroundings: Surroundings, records: AdoptRecords) -> ReleaseParts:
    """Return the parts of a release."""
    return ReleaseParts(
        resource=lambda one: kinds.of(one).resource,
        connect=lambda: _connect(request, surroundings),
        record=records.result,
    )


def _sources(surroundings: Surroundings) -> Sources:
    return Sources(surroundings.read, kinds.build, compare)


def _connect(request: AdoptRequest, surroundings: Surroundings) -> tuple[KubeWriter, KubeReader]:
    api = surroundings.connect(request.target, ADOPTER)
    return KubeWriter(api), KubeReader(api)
