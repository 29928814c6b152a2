"""What the demo proves, decided from what was seen and nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

MINIMUM_READS = 1000
MINIMUM_SCHEDULED = 2
MINIMUM_BY_HAND = 1

ALLOWED_REQUESTS = frozenset({("list", "namespaces"), ("patch", "secrets")})


class Ending(StrEnum):
    """How a namespace should come out of the demo."""

    CREATED = "created"
    UPDATED = "updated"
    SKIPPED = "skipped"
    FAILED = "failed"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class Sight:
    """A Secret as it was at one moment; `password` is a fingerprint, never the password."""

    uid: str
    resource_version: str
    password: str
    old_copy: bool = False
    """Whether an annotation of `kubectl apply` holds the data of an earlier time, password included."""


@dataclass(frozen=True)
class Report:
    """What one run of the function logged about one namespace."""

    outcome: str
    """`applied`, `skipped` or `failed`."""
    change: str = ""
    uid: str = ""
    reason: str = ""
    remedy: str = ""
    took_over_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class Namespace:
    """One row of the demo: what was there, what the function said, what is there now."""

    name: str
    state: str
    ending: Ending
    before: Sight | None
    """The Secret before the first run."""
    first: Sight | None
    """The Secret when it was first seen: `before`, or what the readers saw first of a new one."""
    after: Sight | None
    uids: frozenset[str]
    """Every uid that the readers ever saw."""
    reports: tuple[Report, ...]
    reason: str = ""
    """Why it should be skipped or fail."""


@dataclass(frozen=True)
class Reads:
    """What became of the readers' GETs of Secrets that were known to exist."""

    answered: int
    absent: int
    unanswered: int


@dataclass(frozen=True)
class Evidence:
    """All that the verdict rests on."""

    namespaces: tuple[Namespace, ...]
    reads: Reads
    issued: frozenset[str]
    """Fingerprints of all passwords that ECR handed out."""
    scheduled: tuple[str | None, ...]
    """With which error each scheduled run ended, None for those that returned."""
    by_hand: tuple[str | None, ...]
    """With which error each run by hand ended."""
    requests: Mapping[tuple[str, str], int]
    """The API server's own count of the function's requests, by verb and resource."""


@dataclass(frozen=True)
class Verdict:
    """The proof line, and whatever is not as it should be."""

    proof: str
    problems: tuple[str, ...]


_WRITTEN = frozenset({Ending.CREATED, Ending.UPDATED})


def judge(evidence: Evidence) -> Verdict:
    """Return the proof line with the numbers as measured, and one line per thing that went wrong."""
    problems = [
        f"{namespace.name}: {problem}"
        for namespace in evidence.namespaces
        for problem in _problems(namespace, evidence.issued)
    ]
    return Verdict(_proof(evidence), (*problems, *_overall(evidence)))


def is_stable(namespace: Namespace) -> bool:
    """Return whether a Secret that was seen is still there and was the same object at every sight."""
    if namespace.first is None or namespace.after is None:
        return False
    return {namespace.first.uid, namespace.after.uid} | namespace.uids == {namespace.first.uid}


def is_rotated(namespace: Namespace) -> bool:
    """Return whether the password is another one than when the Secret was first seen."""
    if namespace.first is None or namespace.after is None:
        return False
    return namespace.first.password != namespace.after.password


def _proof(evidence: Evidence) -> str:
    existed = [namespace for namespace in evidence.namespaces if namespace.first is not None]
    to_rotate = [namespace for namespace in evidence.namespaces if namespace.ending in _WRITTEN]
    last = [namespace.reports[-1].outcome for namespace in evidence.namespaces if namespace.reports]
    created = sum(any(r.change == "created" for r in namespace.reports) for namespace in evidence.namespaces)
    numbers = {
        "namespaces": len(evidence.namespaces),
        "applied": last.count("applied"),
        "created": created,
        "skipped": last.count("skipped"),
        "failed": last.count("failed"),
        "uid_stable": f"{sum(map(is_stable, existed))}/{len(existed)}",
        "rotated": f"{sum(map(is_rotated, to_rotate))}/{len(to_rotate)}",
        "reads": evidence.reads.answered + evidence.reads.absent,
        "absent": evidence.reads.absent,
    }
    return "proof: " + " ".join(f"{name}={value}" for name, value in numbers.items())


def _overall(evidence: Evidence) -> Iterable[str]:
    reads = evidence.reads
    if reads.absent:
        yield f"{reads.absent} reads found no Secret where one had been"
    if reads.answered + reads.absent < MINIMUM_READS:
        yield f"{reads.answered + reads.absent} reads are too few, {MINIMUM_READS} are the least that counts"
    if reads.unanswered:
        yield f"{reads.unanswered} reads got no answer, so they prove nothing"
    if len(evidence.scheduled) < MINIMUM_SCHEDULED:
        yield f"the schedule fired {len(evidence.scheduled)} times, expected at least {MINIMUM_SCHEDULED}"
    if len(evidence.by_hand) < MINIMUM_BY_HAND:
        yield f"{len(evidence.by_hand)} runs by hand, expected at least {MINIMUM_BY_HAND}"
    for error in sorted({error for error in evidence.scheduled if error}):
        yield f"a scheduled run ended with {error}, but where only objects fail it should return"
    expected = _ends_by_hand(evidence.namespaces)
    for error in sorted({error or "nothing" for error in evidence.by_hand} - {expected or "nothing"}):
        yield f"a run by hand ended with {error}, expected {expected or 'nothing'}"
    for verb, resource in sorted(set(evidence.requests) - ALLOWED_REQUESTS):
        yield f"the function sent {verb} {resource}, which it should never do"
    for verb, resource in sorted(ALLOWED_REQUESTS - set(evidence.requests)):
        yield f"the API server saw no {verb} {resource} of the function"


def _ends_by_hand(namespaces: Iterable[Namespace]) -> str | None:
    """Return the error that tells a person who waits for the answer that some objects failed; a schedule gets none."""
    return "ObjectsFailed" if any(namespace.ending is Ending.FAILED for namespace in namespaces) else None


def _problems(namespace: Namespace, issued: frozenset[str]) -> Iterable[str]:
    if namespace.first is not None and not is_stable(namespace):
        yield "the Secret is gone or another object than before"
    if namespace.ending in _WRITTEN:
        yield from _written(namespace, issued)
    else:
        yield from _left_alone(namespace)


def _written(namespace: Namespace, issued: frozenset[str]) -> Iterable[str]:
    if (namespace.before is None) is not (namespace.ending is Ending.CREATED):
        yield f"should have been {namespace.ending}, but before it there was {'a' if namespace.before else 'no'} Secret"
    yield from _said(namespace, "applied")
    if namespace.after is None:
        yield "there is no Secret"
        return
    if not is_rotated(namespace):
        yield "the password did not change"
    if namespace.after.password not in issued:
        yield "the password is none that ECR handed out"
    if namespace.after.old_copy:
        yield "an annotation still holds an old password"
    if any(report.uid != namespace.after.uid for report in namespace.reports):
        yield "the function logged another uid than the Secret has"
    changes = [report.change for report in namespace.reports]
    if changes.count("created") != (namespace.ending is Ending.CREATED):
        yield f"the function logged the changes {', '.join(changes)}"


def _left_alone(namespace: Namespace) -> Iterable[str]:
    if namespace.after != namespace.before:
        yield "the Secret should not have been touched, but it changed"
    if namespace.ending is Ending.EXCLUDED:
        if namespace.reports:
            yield "excluded, but the function worked on it"
    else:
        yield from _said(namespace, namespace.ending)


def _said(namespace: Namespace, outcome: str) -> Iterable[str]:
    if not namespace.reports:
        yield "the function never mentioned it"
    expected = f"{outcome} {namespace.reason}".strip()
    for said in sorted({f"{report.outcome} {report.reason}".strip() for report in namespace.reports} - {expected}):
        yield f"the function said {said}, expected {expected}"
