"""What an event asks the adopter for, checked whole against the file of objects."""

from dataclasses import dataclass
from enum import StrEnum

from upsert.config import Config
from upsert.core.fields import Fields, Grammar, Problem, shown
from upsert.core.grammars import NAMESPACE, NAMESPACE_GLOB
from upsert.core.objects import Object, Target
from upsert.request import MOST_NAMES, checked, named_objects, named_target


class Action(StrEnum):
    """What the adopter is asked to do."""

    CHECK = "check"
    ADOPT = "adopt"
    IMPORT = "import"
    RELEASE = "release"


_FIELDS = {
    Action.CHECK: ("namespaces", "report"),
    Action.ADOPT: ("namespaces", "all_or_nothing", "report"),
    Action.IMPORT: ("namespace",),
    Action.RELEASE: ("namespaces",),
}


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """What the adopter is asked for. `namespaces` are names or globs, empty for all; one name for an import.

    `all_or_nothing` adopts the objects of a namespace if all of them are clean. `as_markdown` is whether the answer
    holds its verdicts as a page, too.
    """

    action: Action
    target: Target
    objects: tuple[Object, ...]
    namespaces: tuple[str, ...] = ()
    all_or_nothing: bool = False
    as_markdown: bool = False


_REPORT = Grammar("markdown", "markdown")


def adopt_request(event: object, config: Config) -> AdoptRequest:
    """Return what the event asks for. Raises `InputError` that names every bad field at once."""
    return checked(lambda problems: _request(event, config, problems))


def _request(event: object, config: Config, problems: list[Problem]) -> AdoptRequest:
    fields = Fields.of(event, ("event",), problems, 'a JSON object, such as {"action": "check"}')
    target = named_target(fields, config)
    if target is None and not problems:
        fields.wrong("cluster", "is missing; expected the name of a cluster of the file")
    target = target or config.own
    given = fields.value.get("action")
    if given not in tuple(Action):
        fields.wrong("action", f"{shown(given)} is wrong; expected one of {', '.join(Action)}")
        return AdoptRequest(Action.CHECK, target, ())
    action = Action(given)
    fields.closed(("action", "objects", "cluster", *_FIELDS[action]))
    objects = named_objects(fields, tuple(one for one in config.objects if one.is_for(target.name)))
    if action is Action.IMPORT:
        if len(objects) > 1:
            fields.wrong("objects", f"are {len(objects)} of the file; expected the name of one")
        return AdoptRequest(action, target, objects, (fields.text("namespace", NAMESPACE),))
    if action is Action.RELEASE:
        _check_given_up(fields, objects)
    asked = fields.texts("namespaces", NAMESPACE_GLOB, most=MOST_NAMES)
    return AdoptRequest(
        action,
        target,
        objects,
        asked,
        all_or_nothing=fields.flag("all_or_nothing"),
        as_markdown=bool(fields.text("report", _REPORT, required=False)),
    )


def _check_given_up(fields: Fields, objects: tuple[Object, ...]) -> None:
    """Note what a refresh would claim again: an object of the file that is written."""
    if "objects" not in fields:
        fields.wrong("objects", "is missing; expected the names of the objects to give back")
    elif written := [one.name for one in objects if one.is_written]:
        fields.wrong(
            "objects",
            f"{shown(', '.join(written))} would be claimed again by the next refresh; expected objects with "
            "`write: never` in the file, and that file deployed",
        )
