"""The file of objects, whole: from its text to what the functions read."""

import json
from collections.abc import Iterator

from compiler import checks, loading, overlaps
from compiler.checks import ObjectsFile
from compiler.files import NOWHERE
from compiler.loading import Fault, Loaded, Unreadable
from upsert.core.fields import Problem
from upsert.core.objects import Object, Target
from upsert.errors import InputError
from upsert.sources.source import Folder

MOST_FAULTS = 50


def compile_objects(text: bytes, name: str, folder: Folder = NOWHERE) -> str:
    """Return the compiled form of a file of objects: one line of JSON, equal for equal contents.

    What it names as files lies in the folder.

    Raises `InputError` that names every fault as ``NAME:LINE: FIELD: what was found; what was expected``.
    """
    return as_json(load_objects(text, name, folder))


def load_objects(text: bytes, name: str, folder: Folder = NOWHERE) -> ObjectsFile:
    """Return what the text of a file of objects says. Raises `InputError` like `compile_objects`."""
    try:
        loaded = loading.load(text)
    except Unreadable as error:
        raise _input_error([error.fault], name) from None
    problems: list[Problem] = []
    found = checks.check(loaded.value, problems, folder)
    problems.extend(_of_overlaps(found))
    if faults := [*loaded.faults, *_faults(problems, loaded)]:
        raise _input_error(faults, name)
    return found


def as_json(found: ObjectsFile) -> str:
    """Return clusters and objects as one line of JSON."""
    document = {
        "version": checks.VERSION,
        "clusters": [_cluster(cluster) for cluster in found.clusters],
        "objects": [_object(one) for one in found.objects],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"


def _cluster(cluster: Target) -> dict[str, str]:
    return {name: value for name, value in cluster._asdict().items() if value}


def _object(one: Object) -> dict[str, object]:
    return {
        "kind": one.kind,
        "type": one.type,
        "name": one.name,
        "parts": [{"place": part.place, "source": part.ref.source, "ref": dict(part.ref.fields)} for part in one.parts],
        "namespaces": one.scope._asdict(),
        "service_accounts": one.service_accounts,
        "on_conflict": one.on_conflict,
        "clusters": one.clusters,
        "is_written": one.is_written,
    }


def _of_overlaps(found: ObjectsFile) -> Iterator[Problem]:
    for overlap in overlaps.overlaps(found.objects, found.clusters):
        title = found.objects[overlap.second].title
        yield Problem(
            ("objects", overlap.second, "namespaces"),
            f"is for {overlap.pattern}, and so is objects[{overlap.first}], which is {title} too; "
            "expected namespaces or clusters that differ",
        )


def _faults(problems: list[Problem], loaded: Loaded) -> Iterator[Fault]:
    for problem in problems:
        place = problem.place or problem.path
        if not loaded.is_spoilt(place):
            yield Fault(loaded.line(place), str(problem))


def _input_error(faults: list[Fault], name: str) -> InputError:
    lines = [f"{name}:{fault.line}: {fault.text}" for fault in sorted(faults, key=lambda fault: fault.line)]
    more = len(lines) - MOST_FAULTS
    return InputError([*lines[:MOST_FAULTS], f"and {more} more"] if more > 0 else lines)
