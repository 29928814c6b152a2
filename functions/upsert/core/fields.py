"""Reads fields of JSON or YAML from outside, and collects what is wrong with them instead of stopping at the first."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

type Path = tuple[str | int, ...]

_LONGEST_SHOWN = 80
_MOST_SHOWN = 10
_PLAIN_NAME = r"[A-Za-z0-9_-]+"


class Problem(NamedTuple):
    """What is wrong with the field at `path`, and what was expected there. It stands at `place` if not at its path."""

    path: Path
    text: str
    place: Path | None = None

    def __str__(self) -> str:
        return f"{spelled(self.path)}: {self.text}" if self.path else self.text


class Grammar(NamedTuple):
    """What a text has to look like as a whole, as a regular expression, and how to say so.

    The expression is compiled when it is first used: a cold start needs few of them.
    """

    expression: str
    expected: str

    def fits(self, text: str) -> bool:
        """Return whether a text looks so."""
        return re.fullmatch(self.expression, text) is not None


def spelled(path: Path) -> str:
    """Return the path as people write it, such as ``objects[0].registries[1].ecr``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_PLAIN_NAME, step):
            text += f".{shown_name(step)}" if text else shown_name(step)
        else:
            text += f"[{json.dumps(shown_name(step))}]"
    return text


def shown(value: object) -> str:
    """Return a value as an error may quote it: short, and as JSON or YAML writes it."""
    if isinstance(value, (list, dict)):
        return unquoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        more = f"… ({len(value)} characters)" if len(value) > _LONGEST_SHOWN else ""
        return f"{value[:_LONGEST_SHOWN]!r}{more}"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def unquoted(value: object) -> str:
    """Return what a value is without quoting it: somebody may have put a password where it does not belong."""
    match value:
        case list():
            return f"a list of {len(value)}"
        case Mapping():
            return f"an object of {len(value)}"
        case str():
            return f"a text of {len(value)} characters"
        case None | bool():
            return shown(value)
        case _:
            return "a number"


def shown_name(name: object) -> str:
    """Return a key as an error may quote it."""
    text = str(name)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


class Fields:
    """Fields from outside, at their path. Each method notes what is wrong in `problems`, and returns a default then."""

    def __init__(self, value: Mapping[str, Any], path: Path = (), problems: list[Problem] | None = None) -> None:
        self.value = value
        self.path = path
        self.problems = [] if problems is None else problems

    @classmethod
    def of(cls, value: object, path: Path, problems: list[Problem], expected: str = "an object") -> "Fields":
        """Return the fields of `value`, none if it is no object."""
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return cls(value, path, problems)
        problems.append(Problem(path, f"{unquoted(value)} is wrong; expected {expected}"))
        return cls.none(path)

    @classmethod
    def none(cls, path: Path) -> "Fields":
        """Return no fields, in the place of ones that were found wrong: what is missed in them is not noted again."""
        return cls({}, path)

    def __contains__(self, name: str) -> bool:
        return name in self.value

    def wrong(self, name: str | None, text: str) -> None:
        """Note what is wrong with a field, or with the object as a whole."""
        self.problems.append(Problem(self.path if name is None else (*self.path, name), text))

    def closed(self, known: Collection[str]) -> None:
        """Note every field that is not known; of very many, how many more there are."""
        unknown = [name for name in self.value if name not in known]
        expected = " or ".join(known) or "none"
        for name in unknown[:_MOST_SHOWN]:
            # {secret:my-password} is YAML for a field of that name without a value.
            has_value = self.value[name] is not None
            found = shown(name) if has_value else f"of {len(name)} characters and without a value"
            text = f"unknown field {found}; expected {expected}"
            self.problems.append(Problem(self.path, text, place=(*self.path, name)))
        if len(unknown) > _MOST_SHOWN:
            self.wrong(None, f"{len(unknown) - _MOST_SHOWN} more unknown fields; expected {expected}")

    def text(
        self, name: str, form: Grammar, *, default: str | None = None, is_secret: bool = False, required: bool = True
    ) -> str:
        """Return a text of that form; without a default it has to be there."""
        if name not in self.value:
            if default is None and required:
                self.wrong(name, f"is missing; expected {form.expected}")
            return default or ""
        value = self.value[name]
        if isinstance(value, str) and form.fits(value):
            return value
        # Somebody may have put the value itself where the name of its source belongs.
        self.wrong(name, _no_such_text(unquoted(value) if is_secret else shown(value), value, form))
        return default or ""

    def flag(self, name: str) -> bool:
        """Return true or false, which it is if left out."""
        value = self.value.get(name, False)
        if not isinstance(value, bool):
            self.wrong(name, f"{shown(value)} is wrong; expected true or false")
            return False
        return value

    def texts(
        self,
        name: str,
        form: Grammar,
        *,
        may_be_empty: bool = False,
        most: int | None = None,
        is_secret: bool = False,
    ) -> tuple[str, ...]:
        """Return a list of texts of that form, `most` of them at most; none if it is left out."""
        if name not in self.value:
            return ()
        value = self.value[name]
        if isinstance(value, list) and most is not None and len(value) > most:
            self.wrong(name, f"{shown(value)} is wrong; expected {most} at most")
            return ()
        quoted = unquoted if is_secret else shown
        if not isinstance(value, list) or not (value or may_be_empty):
            self.wrong(name, f"{quoted(value)} is wrong; expected a list, each of it {form.expected}")
            return ()
        found = []
        for index, one in enumerate(value):
            if isinstance(one, str) and form.fits(one):
                found.append(one)
            else:
                self.problems.append(Problem((*self.path, name, index), _no_such_text(quoted(one), one, form)))
        return tuple(found)

    def child(self, name: str, expected: str) -> "Fields":
        """Return the object in a field."""
        if name not in self.value:
            self.wrong(name, f"is missing; expected {expected}")
            return Fields.none((*self.path, name))
        return Fields.of(self.value[name], (*self.path, name), self.problems, expected)

    def children(self, name: str, expected: str) -> Iterator["Fields"]:
        """Give the objects of a list, of which there has to be one at least."""
        value = self.value.get(name)
        if not isinstance(value, list) or not value:
            found = f"{unquoted(value)} is wrong" if name in self.value else "is missing"
            self.wrong(name, f"{found}; expected a list of {expected}")
            return
        for index, one in enumerate(value):
            yield Fields.of(one, (*self.path, name, index), self.problems, expected)


def _no_such_text(found: str, value: object, form: Grammar) -> str:
    if isinstance(value, (str, list, dict)) or value is None:
        return f"{found} is wrong; expected {form.expected}"
    # A number or true, as YAML and JSON take it without quotes.
    return f"{found} is no text; expected {form.expected}{'' if 'in quotes' in form.expected else ', in quotes'}"
