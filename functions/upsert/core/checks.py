"""All that is said about one live object before a refresh writes over it, or it is adopted."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from upsert.core import notes, redaction
from upsert.core.live import ExternalSecret, LiveObject
from upsert.core.names import Names
from upsert.core.objects import Desired
from upsert.core.secrecy import secrets_in
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Likeness, Verdict


@dataclass(frozen=True, slots=True)
class Check:
    """All that is said about one object in one namespace.

    `notes` say what may go wrong after an adoption; `reasons` say why there can be none, and are empty if it can.
    `withholds` is whether a name in its metadata holds part of a value, so that none of them is to be told.
    """

    title: str
    namespace: str
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    live: LiveObject | None = field(default=None, repr=False)
    withholds: bool = False

    @property
    def adoptable(self) -> bool:
        """Return whether the object can be adopted and then refreshed without losing anything."""
        return not self.reasons

    @property
    def is_missing(self) -> bool:
        """Return whether there is no such object."""
        return any(verdict.likeness is Likeness.MISSING for verdict in self.verdicts)

    def without_values(self) -> "Check":
        """Return the same without the live object: of very many, the values would fill the memory."""
        return replace(self, live=None)

    @property
    def lines(self) -> list[str]:
        """Return the lines to print: the keys, sorted, then the notes, then the conclusion."""
        here = place(self.title, self.namespace)
        # Of an object that is not there, the line is its own.
        keys = sorted(f"{here}/{verdict}" if verdict.key else f"{here}{verdict}" for verdict in self.verdicts)
        said = [f"{here}: note: {note}" for note in self.notes]
        return [*keys, *said, f"{here}: {self.conclusion}"]

    @property
    def conclusion(self) -> str:
        """Return ``adoptable``, or ``not adoptable`` with the reasons."""
        return "adoptable" if self.adoptable else f"not adoptable: {'; '.join(self.reasons)}"


def place(title: str, namespace: str) -> str:
    """Return how lines name an object in a namespace: ``team-a/aws-ecr-token``."""
    return f"{namespace}/{title.partition('/')[2]}"


def check(
    title: str,
    namespace: str,
    live: LiveObject,
    desired: Desired,
    compare: Callable[[Mapping[str, Any], Desired], tuple[Verdict, ...]],
    *,
    external_secrets: Sequence[ExternalSecret] = (),
    refuses_conflicts: bool = False,
) -> Check:
    """Return what a refresh would change in the live object.

    `compare` is its kind's. `refuses_conflicts` is whether the refresher leaves an object alone that another field
    manager writes.
    """
    verdicts = compare(live.contents, desired)
    said = tuple(notes.on(live, desired, external_secrets, refuses_conflicts=refuses_conflicts))
    misplaced = tuple(_misplaced(live, desired))
    # Of what is new, too: somebody may have put the next password in the place of a name.
    new = (value for key, value in desired.data.items() if live.data.get(key) != value)
    revealing = _revealing(verdicts, (*live.data.values(), *new), *said, *misplaced, live.type)
    shown_verdicts = _masked(verdicts, revealing)
    shown = replace(live, type=_WITHHELD) if live.type in revealing else live
    return Check(
        title,
        namespace,
        shown_verdicts,
        notes=tuple(f"a note is {_WITHHELD}" if note in revealing else note for note in said),
        reasons=(
            *_reasons(shown, desired, shown_verdicts),
            *(f"a key is {_WITHHELD}" if reason in revealing else reason for reason in misplaced),
        ),
        live=live,
        withholds=not revealing.isdisjoint((*said, live.type)),
    )


_WITHHELD = "withheld, since a name in it holds part of a value"


def masked(verdicts: tuple[Verdict, ...], data: Mapping[str, Sensitive[bytes]]) -> tuple[Verdict, ...]:
    """Return the verdicts on an object with `data` without the names that hold part of a value."""
    return _masked(verdicts, _revealing(verdicts, data.values()))


def _misplaced(live: LiveObject, desired: Desired) -> Iterator[str]:
    """Give the keys of a ConfigMap that are in another place than a refresh would put them: it would be refused.

    The API server takes no key in both, whoever owns it.
    """
    names = Names()
    for key in live.data:
        name = names.of_key(key)
        if key in desired.data and (key in live.binary_keys) != (key in desired.binary_keys):
            place, other = ("binaryData", "data") if key in live.binary_keys else ("data", "binaryData")
            yield f"{name} is in {place}, expected in {other}"


def _revealing(verdicts: Iterable[Verdict], values: Iterable[Sensitive[bytes]], *more: str) -> frozenset[str]:
    """Return what of the verdicts' names, and of more texts, holds part of one of the values."""
    names = {name for verdict in verdicts for name in (verdict.key, *_parts(verdict.key))}
    # Most of what is live is in what is new, too: it is looked for once.
    secrets = dict.fromkeys(secret for value in values for secret in secrets_in(_text(value)))
    return redaction.revealing({*names, *more}, secrets)


def _masked(verdicts: tuple[Verdict, ...], revealing: Collection[str]) -> tuple[Verdict, ...]:
    """Return the verdicts without the names that hold part of a value: those are numbered instead."""
    masks: dict[str, str] = {}

    def mask(name: str) -> str:
        return masks.setdefault(name, f"<withheld name {len(masks) + 1}>") if name in revealing else name

    def key_of(verdict: Verdict) -> str:
        shown = "/".join(map(mask, _parts(verdict.key)))
        return mask(verdict.key) if shown in revealing else shown

    return tuple(replace(verdict, key=key_of(verdict)) for verdict in verdicts) if revealing else verdicts


def _parts(key: str) -> tuple[str, ...]:
    """Return the host and the field in the key of a verdict, or the whole of another key."""
    host, slash, field_name = key.rpartition("/")
    return (host, field_name) if slash and host and field_name else (key,)


def _text(value: Sensitive[bytes]) -> Sensitive[str]:
    return Sensitive(value.reveal().decode(errors="replace"))


def missing(title: str, namespace: str) -> Check:
    """Return the check of a namespace without the object."""
    verdict = Verdict("", Likeness.MISSING, loses_nothing=False)
    return Check(title, namespace, (verdict,), reasons=("missing (the next refresh creates it)",))


def _reasons(live: LiveObject, desired: Desired, verdicts: Iterable[Verdict]) -> Iterator[str]:
    if live.type != desired.type:
        yield f"type is {live.type}, expected {desired.type}"
    if live.immutable:
        yield "immutable"
    if live.is_being_deleted:
        yield "being-deleted: it is gone once its finalizers are, and the next refresh creates it anew"
    lost = [verdict for verdict in verdicts if not verdict.loses_nothing]
    for likeness, words in ((Likeness.ONLY_IN_LIVE, "only in live"), (Likeness.MISMATCH, "differs")):
        if keys := sorted(verdict.key for verdict in lost if verdict.likeness is likeness):
            more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
            yield f"{words}: {', '.join(keys[:_SHOWN])}{more}"


_SHOWN = 8
