"""What the migration proves, decided from what was seen and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.demo_adopt.cast import Application, public
from tests.demo_adopt.story import GIVEN_BACK, NEW_VALUE, ROTATED, ROTATED_KEY, THEIRS, Story, data_of
from tests.support.canary import Canary
from tests.support.refresher import FIELD_MANAGER, LAST_APPLIED

ALLOWED_REQUESTS = frozenset(
    {("list", "namespaces"), ("get", "secrets"), ("patch", "secrets"), ("list", "externalsecrets")}
)


@dataclass(frozen=True)
class Verdict:
    """The proof line, and whatever is not as it should be."""

    proof: str
    problems: tuple[str, ...]


def judge(story: Story) -> Verdict:
    """Return the proof line with the numbers as measured, and one line per thing that went wrong."""
    names = [one.name for one in story.applications]
    planted = [(one, key, cause) for one in story.applications for key, cause in one.planted.items()]
    found = [(one, key) for one, key, cause in planted if is_told(one, key, cause, story.first_lines)]
    adopted = [one.name for one in story.applications if _claimed(story.adopted, one.name) >= one.live.keys()]
    identical = [one.name for one in story.applications if _values(story.adopted, one) == one.live]
    stable = [name for name in names if _uids(story, name) == {_uid(story.before[name])}]
    rotated = _changed_keys(story) == {(ROTATED, ROTATED_KEY)} and (
        data_of(story.rotated[ROTATED])[ROTATED_KEY] == NEW_VALUE.encode()
    )
    is_released = not _claimed(story.released, GIVEN_BACK) and bool(story.other_writer)
    told = leaks(story)
    problems = [
        *(
            f"{one.namespace}: {key} was not found to have: {cause}"
            for one, key, cause in planted
            if (one, key) not in found
        ),
        *(f"not adopted: {name}" for name in names if name not in adopted),
        *(f"not byte for byte the same when adopted: {name}" for name in names if name not in identical),
        *(f"another uid: {name}" for name in names if name not in stable),
        *_overall(story, told, is_rotated=rotated, is_released=is_released),
    ]
    proof = (
        f"proof: applications={len(names)} keys={sum(len(one.live) for one in story.applications)} "
        f"causes_found={len(found)}/{len(planted)} adopted={len(adopted)} identical={len(identical)}/{len(names)} "
        f"uid_stable={len(stable)}/{len(names)} rotated={int(rotated)} given_back={int(is_released)} "
        f"absent={story.absent} values_said={len(told)}"
    )
    return Verdict(proof, tuple(problems))


def is_told(one: Application, key: str, cause: str, lines: Sequence[str]) -> bool:
    """Return whether one of the lines is the mismatch of that key, with that cause."""
    start = f"{one.namespace}/{one.written['name']}/{key}: MISMATCH ("
    return any(line.startswith(start) and cause in line for line in lines)


def leaks(story: Story) -> set[str]:
    """Return the names of values of which any part was said."""
    canary = Canary()
    for one in story.applications:
        for key, value in [*one.live.items(), *(one.believed or {}).items()]:
            if not public(value):
                canary.learn(f"{one.name}/{key}", value.decode(errors="replace"))
    for new in (NEW_VALUE, THEIRS):
        canary.learn(new, new)
    return {name for text in story.said for name in canary.leaks(text)}


def _overall(story: Story, told: set[str], *, is_rotated: bool, is_released: bool) -> Iterator[str]:
    if story.checked != story.before:
        yield "a check or an import changed an object"
    if [name for name, found in story.adopted.items() if LAST_APPLIED in str(found["metadata"])]:
        yield "kubectl's copy of an old value is still there"
    if not is_rotated:
        yield f"the change at the source changed {sorted(_changed_keys(story))}, expected {ROTATED}/{ROTATED_KEY}"
    if data_of(story.released[GIVEN_BACK]) != data_of(story.adopted[GIVEN_BACK]):
        yield "giving back changed a value"
    if not is_released:
        yield "what was given back could not be written by another without force"
    if story.absent or not story.reads:
        yield f"{story.absent} of {story.reads} reads found no object"
    if told:
        yield f"parts of {len(told)} values were said: {', '.join(sorted(told))}"
    if more := set(story.requests) - ALLOWED_REQUESTS:
        yield f"the adopter did more than it may need: {sorted(more)}"


def _changed_keys(story: Story) -> set[tuple[str, str]]:
    return {
        (name, key)
        for name, found in story.rotated.items()
        for key, value in data_of(found).items()
        if data_of(story.adopted[name]).get(key) != value
    }


def _values(objects: Mapping[str, dict[str, object]], one: Application) -> dict[str, bytes] | None:
    found = objects.get(one.name)
    return None if found is None else data_of(found)


def _claimed(objects: Mapping[str, dict[str, Any]], name: str) -> set[str]:
    """Return the keys that our apply claims."""
    fields = objects[name]["metadata"]["managedFields"] if name in objects else []
    return {
        key.removeprefix("f:")
        for field in fields
        if (field["manager"], field["operation"]) == (FIELD_MANAGER, "Apply")
        for key in field["fieldsV1"].get("f:data", {})
        if key.startswith("f:")
    }


def _uids(story: Story, name: str) -> set[str]:
    return story.uids[name] | {_uid(story.released[name])}


def _uid(found: Mapping[str, object]) -> str:
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["uid"])
