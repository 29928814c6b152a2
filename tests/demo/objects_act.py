"""The second act: the file of objects that docs/objects.md shows, and a value that changes at its source."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.demo.screen import Screen
from tests.support import example
from tests.support.audit import AuditLog
from tests.support.readers import Eyes
from tests.support.story import NAMESPACES, PLURALS, READS, Story, value_of
from tests.support.world import World

ROTATED = "secret/api-config"
WITHIN_SECONDS = 5.0

# The namespaces of the first act stay as it left them.
_TEAMS = {"namespaces": ["team-*"]}
# All secrets in one call, all parameters in another.
_SOURCE_READS = 2
# Of every namespace, of those with proxy=yes, and of those with ingress=public.
_SELECTORS = 3


@dataclass(frozen=True)
class ObjectsEvidence:
    """What was seen. `written` and `expected` count objects, each in a namespace."""

    kinds: int
    objects: int
    namespaces: int
    expected: int
    written: int
    same_in_log: bool
    requests: Mapping[tuple[str, str], int]
    source_reads: int
    woken_seconds: float
    woken: frozenset[str]
    uids_kept: bool
    reads: int
    absent: int

    @property
    def line(self) -> str:
        """Return the numbers as measured."""
        return (
            f"objects: kinds={self.kinds} objects={self.objects} namespaces={self.namespaces} applied={self.written} "
            f"source_reads={self.source_reads} woken_in_ms={self.woken_seconds * 1000:.0f} absent={self.absent}"
        )

    def problems(self) -> Iterator[str]:
        """Give whatever is not as it should be."""
        if self.written != self.expected:
            yield f"{self.written} objects were written, expected {self.expected}"
        if not self.same_in_log:
            yield "the log names other uids or resourceVersions than the API server"
        patches = sum(count for (verb, _), count in self.requests.items() if verb == "patch")
        lists = self.requests.get(("list", "namespaces"), 0)
        if (patches, lists, patches + lists) != (self.expected, _SELECTORS, sum(self.requests.values())):
            yield f"the API server got {dict(self.requests)}, expected {self.expected} patches and {_SELECTORS} lists"
        if self.source_reads != _SOURCE_READS:
            yield f"the sources were read {self.source_reads} times, expected {_SOURCE_READS}"
        if self.woken_seconds > WITHIN_SECONDS:
            yield f"a changed value took {self.woken_seconds:.1f} s, expected at most {WITHIN_SECONDS:g}"
        if self.woken != {ROTATED}:
            yield f"a changed value had {', '.join(sorted(self.woken)) or 'nothing'} written, expected {ROTATED} alone"
        if not self.uids_kept:
            yield "a uid changed when its value did"
        if self.absent or not self.reads:
            yield f"{self.absent} of {self.reads} reads found nothing where an object had been"


def play(world: World, screen: Screen) -> ObjectsEvidence:
    """Deploy the file, write its objects, change a value at its source, and return what was seen."""
    screen.head(f"Any Secret and ConfigMap: the file of docs/objects.md, {len(NAMESPACES)} namespaces")
    with Story(world).played() as story:
        audit, trail = AuditLog(world.control_plane.audit_log), world.trail(*READS)
        with screen.step(f"{len(example.titles())} objects from Secrets Manager, Parameter Store, ECR and files"):
            answer = world.invoke(_TEAMS)
        logged = {
            (record["object"], record["namespace"]): (record["uid"], record["resource_version"])
            for record in answer.run.named("object.applied")
        }
        requests, source_reads = audit.counts(user=world.user), sum(trail.counts().values())
        proofs = {key: proof for key, proof in story.proofs().items() if key[1] in NAMESPACES}
        known, before = world.runs(), _uids(story)
        password = secrets.token_hex(16)
        audit.mark()
        with (
            screen.step("a password changes in Secrets Manager, and the change wakes the function"),
            Eyes(world.control_plane, ROTATED.partition("/")[2], sorted(NAMESPACES)) as eyes,
        ):
            story.put("apps/api", json.dumps({"db_password": password, "db_host": "db.internal"}))
            seconds = story.wait_until(
                ROTATED, lambda one: value_of(one, "DB_PASSWORD") == password.encode(), timeout=60
            )
            world.wait_for_run(known, timeout=60)
            audit.counts(user=world.user)
        return ObjectsEvidence(
            kinds=len(example.kinds()),
            objects=len(example.titles()),
            namespaces=len(NAMESPACES),
            expected=sum(len(story.goes_to(title) & NAMESPACES.keys()) for title in example.titles()),
            written=len(proofs),
            same_in_log=logged == proofs,
            requests=requests,
            source_reads=source_reads,
            woken_seconds=seconds,
            woken=frozenset(_titles(audit, world)),
            uids_kept=_uids(story) == before,
            reads=eyes.reads,
            absent=eyes.absent + eyes.events["DELETED"],
        )


def _uids(story: Story) -> dict[str, str]:
    return {name: found["metadata"]["uid"] for name, found in story.everywhere(ROTATED).items()}


def _titles(audit: AuditLog, world: World) -> Iterable[str]:
    kinds = {plural: kind for kind, plural in PLURALS.items()}
    for event in audit.events(user=world.user):
        if event.verb == "patch":
            yield f"{kinds[event.resource]}/{event.name}"
