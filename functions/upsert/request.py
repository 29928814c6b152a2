"""What an event asks the refresher for, checked whole against the file of objects."""

from collections.abc import Callable, Iterable, Sequence
from copy import replace
from typing import NamedTuple

from upsert import audit_events, change_events
from upsert.audit_events import Gap
from upsert.config import Config
from upsert.core import namespaces
from upsert.core.fields import Fields, Problem, shown
from upsert.core.grammars import CLUSTER, NAMESPACE_GLOB, OBJECT_GLOB
from upsert.core.objects import Object, Target
from upsert.errors import InputError

# A longer answer helps nobody, and an event may hold a million bad names.
_MOST_PROBLEMS = 20
_MOST_UNKNOWN = 10
MOST_NAMES = 10_000


class Request(NamedTuple):
    """What is to be refreshed: objects of the file, in one of its clusters.

    `namespaces` are names or globs, empty for all of an object's; `dry_run` writes nothing. `gaps` are what the audit
    log names, and none of them means nothing; they may be gone by now, or left out by the file, while what a person
    names must be there. `rivals` are the other objects of the same titles: they are not refreshed, but where one of
    them goes too, neither may be written. It `is_woken` if a source has changed, so nobody named the objects.
    `is_by_hand` is whether somebody waits for the answer.
    """

    target: Target
    objects: tuple[Object, ...]
    namespaces: tuple[str, ...] = ()
    dry_run: bool = False
    gaps: tuple[Gap, ...] | None = None
    rivals: tuple[Object, ...] = ()
    is_woken: bool = False
    is_by_hand: bool = False
    is_whole: bool = True


class ClustersFor(NamedTuple):
    """The question which clusters an event concerns, with its answer."""

    names: tuple[str, ...]


def refresh_request(event: object, config: Config) -> Request | ClustersFor:
    """Return what the event asks the refresher for. Raises `InputError` that names every bad field at once."""
    return checked(lambda problems: _refresh_request(event, config, problems))


def checked[R](ask: Callable[[list[Problem]], R]) -> R:
    """Return what is asked for. Raises `InputError` with the problems that were noted meanwhile."""
    problems: list[Problem] = []
    request = ask(problems)
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        lines = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
        raise InputError([*lines, f"and {more} more"] if more > 0 else lines)
    return request


_SCHEDULED_SOURCES = ("aws.scheduler", "aws.events")
# https://docs.aws.amazon.com/eventbridge/latest/ref/overview-event-structure.html
_EVENT = ("version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail")
_BY_HAND = ("objects", "namespaces", "cluster", "dry_run")


def _refresh_request(event: object, config: Config, problems: list[Problem]) -> Request | ClustersFor:
    fields = Fields.of(event, ("event",), problems, "a JSON object, such as {}")
    if "clusters_for" in fields:
        fields.closed(("clusters_for",))
        inner = Fields.of(fields.value["clusters_for"], ("event", "clusters_for"), problems, "an event, such as {}")
        return ClustersFor(_clusters_of(inner, config))
    if "event" in fields:
        fields.closed(("cluster", "event"))
        inner = Fields.of(fields.value["event"], ("event", "event"), problems, "an event, such as {}")
        named = named_target(inner, config)
        target = named_target(fields, config)
        if target is None and "cluster" not in fields:
            fields.wrong("cluster", "is missing; expected the name of a cluster of the file")
        elif target and named not in (None, target):
            inner.wrong("cluster", f"is another cluster than {target.name}; expected the same, or none")
        return _request(inner, config, target or config.own, is_by_hand=False)
    target = named_target(fields, config)
    if target is None and "cluster" not in fields:
        fields.wrong(
            None,
            f"names no cluster, and this function refreshes one of a fleet at a time; start the state machine "
            f"{config.state_machine or 'of the fleet'} with this event, or name a cluster",
        )
    return _request(fields, config, target or config.own, is_by_hand=True)


def _request(fields: Fields, config: Config, target: Target, *, is_by_hand: bool) -> Request:
    of_cluster = [one for one in config.objects if one.is_for(target.name)]
    for_cluster = tuple(one for one in of_cluster if one.is_written)
    if _is_scheduled(fields):
        _check_scheduled(fields)
        return _with_rivals(Request(target, for_cluster), of_cluster)
    if change_events.is_one(fields):
        fields.closed(_EVENT)
        changed = change_events.change(fields)
        here = {"account": config.account, "region": config.region}
        concerned = tuple(one for one in for_cluster if changed.concerns(one, **here))
        return _with_rivals(Request(target, concerned, is_woken=True, is_whole=False), of_cluster)
    if set(fields.value) == {"awslogs"}:
        gaps = _gaps(fields)
        concerned = tuple(one for one in for_cluster if any(gap.concerns(one.title) for gap in gaps))
        return _with_rivals(Request(target, concerned, gaps=gaps, is_whole=False), of_cluster)
    if not for_cluster:
        but = " that is written" if of_cluster else ""
        fields.wrong("cluster", f"{target.name!r} gets no object of the file{but}; expected a cluster that gets one")
    fields.closed(_BY_HAND)
    asked = fields.texts("namespaces", NAMESPACE_GLOB, most=MOST_NAMES)
    objects = named_objects(fields, for_cluster, never=[one for one in of_cluster if not one.is_written])
    request = Request(
        target,
        objects,
        asked,
        dry_run=fields.flag("dry_run"),
        is_by_hand=is_by_hand,
        is_whole=not asked and objects == for_cluster,
    )
    return _with_rivals(request, of_cluster)


def _with_rivals(request: Request, of_cluster: Iterable[Object]) -> Request:
    """Return the request with the other objects of its titles, those that are never written among them."""
    titles = {one.title for one in request.objects}
    chosen = set(request.objects)
    return replace(request, rivals=tuple(one for one in of_cluster if one.title in titles and one not in chosen))


def named_objects(fields: Fields, known: tuple[Object, ...], *, never: Sequence[Object] = ()) -> tuple[Object, ...]:
    """Return the objects that the event names, all if it names none. Those that are `never` written are not known."""
    patterns = fields.texts("objects", OBJECT_GLOB, most=MOST_NAMES)
    if not patterns:
        return known
    for pattern in namespaces.unmatched(patterns, [one.name for one in known]):
        why = "is no object of the file for this cluster"
        if not namespaces.unmatched((pattern,), [one.name for one in never]):
            why = "has `write: never` in the file, so no refresh writes it"
        fields.wrong("objects", f"{pattern!r} {why}; expected {_names(known)}")
    is_named = namespaces.matcher(patterns)
    return tuple(one for one in known if is_named(one.name))


def _names(objects: tuple[Object, ...]) -> str:
    return shown(", ".join(sorted({one.name for one in objects})))


def named_target(fields: Fields, config: Config) -> Target | None:
    """Return the cluster that the event names, or the one that there is; None if a fleet's is not named."""
    if "cluster" not in fields:
        # The audit log that a stack reads is that of its own cluster.
        return None if config.is_fleet and "awslogs" not in fields else config.own
    name = fields.text("cluster", CLUSTER)
    if name and (target := config.target(name)):
        return target
    if name:
        fields.wrong("cluster", f"{name!r} is no cluster of the file; nothing else can be written to")
    return None


def _clusters_of(fields: Fields, config: Config) -> tuple[str, ...]:
    """Return the names of the clusters that an event concerns: the one that it names, or all that get its objects."""
    named = named_target(fields, config) if "cluster" in fields or "awslogs" in fields else None
    targets = (named,) if named else config.targets
    # Each of them will be sent this event, so it is checked whole before the first one. How `objects` is written is the
    # same for all, whether they are for the cluster is not.
    fields.texts("objects", OBJECT_GLOB, most=MOST_NAMES)
    seen = set(fields.problems)
    found: list[str] = []
    for target in targets:
        if not any(one.is_written and one.is_for(target.name) for one in config.objects):
            continue
        attempt: list[Problem] = []
        request = _request(Fields(fields.value, fields.path, attempt), config, target, is_by_hand=False)
        new = dict.fromkeys(problem for problem in attempt if problem not in seen)
        unknown = {problem for problem in new if problem.path[-1] == "objects" and len(targets) > 1}
        fields.problems.extend(problem for problem in new if problem not in unknown)
        seen.update(fields.problems)
        if request.objects and not unknown:
            found.append(target.name)
    if not found and "objects" in fields and not fields.problems:
        fields.wrong("objects", "names no object of the file for any cluster, or one with `write: never`")
    return tuple(found)


def _is_scheduled(fields: Fields) -> bool:
    return fields.value.get("detail-type") == "Scheduled Event" and fields.value.get("source") in _SCHEDULED_SOURCES


def _check_scheduled(fields: Fields) -> None:
    if fields.value.get("detail") not in (None, {}, "", "{}"):
        # Whoever put something there asks for it, a dry run perhaps, and would get all of it written.
        fields.wrong("detail", "is not empty; expected {}: a schedule that asks for something sends it as its input")
    unknown = [name for name in fields.value if name not in _EVENT]
    for name in unknown[:_MOST_UNKNOWN]:
        fields.wrong(None, f"unknown field {shown(name)} in a scheduled event; send it without detail-type")
    if len(unknown) > _MOST_UNKNOWN:
        fields.wrong(None, f"{len(unknown) - _MOST_UNKNOWN} more unknown fields in a scheduled event")


def _gaps(fields: Fields) -> tuple[Gap, ...]:
    try:
        return audit_events.gaps(fields.value["awslogs"])
    except audit_events.NotABatch as wrong:
        fields.wrong("awslogs", f"is not what CloudWatch Logs delivers; {wrong}")
        return ()
