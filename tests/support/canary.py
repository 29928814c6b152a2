"""Secrets that are known to a test, and a search for any part of them.

A part is 12 or more characters on end, of the secret itself, of its base64 at any alignment, or of the base64 of that.
"""

import base64
import json
import pickle
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

LENGTH = 12


def encodings(value: str) -> list[str]:
    """Return the base64 of `value` at its three alignments, only the characters that no neighbour changes."""
    found = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + value.encode()).decode().rstrip("=")
        found.append(encoded[(0, 2, 3)[shift] : len(encoded) - ((shift + len(value.encode())) % 3 > 0)])
    return found


def parts(value: str) -> set[str]:
    """Return every run of 12 characters of `value` and of its encodings."""
    once = encodings(value)
    urlsafe = [text.replace("+", "-").replace("/", "_") for text in once]
    return _runs(value, *once, *urlsafe, *(twice for text in once for twice in encodings(text)))


def _runs(*texts: str) -> set[str]:
    return {text[start : start + LENGTH] for text in texts for start in range(len(text) - LENGTH + 1)}


class Canary:
    """Knows secrets by name and finds their parts in texts. `parts_known` and `searched` count parts and texts."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.searched = 0

    @property
    def parts_known(self) -> int:
        """How many different strings are searched for."""
        return len(self._names)

    def learn(self, name: str, secret: str, *, like: str = "") -> None:
        """Know a secret. What it has in common with `like`, another one of the same build, is no secret."""
        for part in parts(secret) - parts(like):
            self._names.setdefault(part, name)

    def leaks(self, text: str) -> set[str]:
        """Return the names of the secrets of which `text` holds a part."""
        self.searched += 1
        return {self._names[run] for run in _runs(text) if run in self._names}


def told_by(error: BaseException | None) -> list[str]:
    """Return everything that an exception can be made to tell: its traceback, and each error it leads to, by itself."""
    texts: list[str] = []
    todo, seen = [error], set[int]()
    while todo:
        current = todo.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        texts.extend(traceback.TracebackException.from_exception(current, capture_locals=False).format(chain=True))
        texts += [str(current), repr(current), repr(current.args), repr(vars(current))]
        # Everything that hangs on the error is walked too: a context that a printed traceback would leave out.
        todo += [current.__cause__, current.__context__]
        todo += [arg for arg in current.args if isinstance(arg, BaseException)]
    return texts


def told_by_object(thing: object) -> list[str]:
    """Return every text that an object can be turned into, and its pickle if it allows that."""
    texts = [repr(thing), str(thing), f"{thing}", f"{thing!a}", "%s" % (thing,), json.dumps(thing, default=str)]  # noqa: UP031
    texts += [repr(value) for value in _attributes(thing)]
    try:
        texts.append(pickle.dumps(thing).decode("latin-1"))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        texts += told_by(error)
    return texts


def _attributes(thing: object) -> Iterable[Any]:
    held: Mapping[str, Any] = getattr(thing, "__dict__", {})
    yield from held.values()
    for kind in type(thing).__mro__:
        for name in getattr(kind, "__slots__", ()):
            yield getattr(thing, name, None)
