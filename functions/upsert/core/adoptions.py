"""What became of one object in one namespace in a run of the adopter, and the lines that say so."""

from collections.abc import Mapping
from dataclasses import dataclass

from upsert.core.checks import Check, place
from upsert.core.outcomes import Failed
from upsert.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Adopted:
    """The object is ours and otherwise as before, as a read after the write proved, if one had to be `written`.

    `took_over_from` are the field managers whose claims on it were dropped.
    """

    title: str
    namespace: str
    uid: str
    resource_version: str
    verdicts: tuple[Verdict, ...]
    written: bool
    removed_last_applied: bool
    took_over_from: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Return the lines to print."""
        removed = ", last-applied-configuration removed" if self.removed_last_applied else ""
        removed += f", claim of {', '.join(self.took_over_from)} dropped" if self.took_over_from else ""
        how = "adopted" if self.written else "adopted already"
        here = place(self.title, self.namespace)
        keys = sorted(f"{here}/{verdict}" for verdict in self.verdicts)
        return [*keys, f"{here}: {how} (uid the same, ownerReferences untouched{removed})"]


@dataclass(frozen=True, slots=True)
class Refused:
    """The object was not adopted, or not released. No value was changed."""

    title: str
    namespace: str
    reason: str
    check: Check | None = None

    @property
    def lines(self) -> list[str]:
        """Return the lines to print."""
        before = self.check.lines[:-1] if self.check else []
        return [*before, f"{place(self.title, self.namespace)}: refused: {self.reason}"]


@dataclass(frozen=True, slots=True)
class Released:
    """Nothing of the object is claimed by us any more, as a read after the write proved, if one had to be `written`.

    `others` are the field managers that claim any of it still. `is_there` is whether there is such an object at all;
    `is_same` whether it is otherwise as before, or was written by somebody since.
    """

    title: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    others: tuple[str, ...] = ()
    written: bool = False
    is_there: bool = True
    is_same: bool = True

    @property
    def lines(self) -> list[str]:
        """Return the lines to print."""
        here = place(self.title, self.namespace)
        if not self.is_there:
            return [f"{here}: missing, so there is nothing to release"]
        if not self.written:
            return [f"{here}: released already"]
        stay = f", claimed by {', '.join(self.others)}" if self.others else ""
        kept = "uid and bytes the same" if self.is_same else "uid the same; somebody wrote it since"
        return [f"{here}: released ({kept}{stay})"]


@dataclass(frozen=True, slots=True)
class Imported:
    """Where the values of a live object went, by key, or by registry host. All are printable names.

    `left_out` has with each why. `entry` is what the file of objects has to say of what it lacks, as YAML.
    """

    title: str
    namespace: str
    added: tuple[str, ...]
    present: tuple[str, ...]
    left_out: Mapping[str, str]
    entry: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Return the lines to print."""
        said = {
            **dict.fromkeys(self.added, "imported"),
            **dict.fromkeys(self.present, "imported already"),
            **{name: f"left out ({why})" for name, why in self.left_out.items()},
        }
        here = place(self.title, self.namespace)
        return [*sorted(f"{here}/{name}: {what}" for name, what in said.items()), *self.entry]


type Result = Check | Adopted | Released | Refused | Failed | Imported


def ending(  # noqa: PLR0911 - one case per kind of result
    result: Result,
) -> str:
    """Return how an object ended in a namespace, in a word."""
    match result:
        case Check() if result.is_missing:
            return "missing"
        case Check():
            return "adoptable" if result.adoptable else "not_adoptable"
        case Adopted():
            return "adopted" if result.written else "adopted_already"
        case Released() if not result.is_there:
            return "missing"
        case Released():
            return "released" if result.written else "released_already"
        case Refused():
            return "refused"
        case Imported():
            return "imported"
        case Failed():
            return "failed"


def lines_of(result: Result) -> list[str]:
    """Return the lines to print for an object in a namespace."""
    if isinstance(result, Failed):
        here = place(result.title, result.namespace)
        return [f"{here}: not adoptable: {result.reason} (status {result.status}); {result.remedy}"]
    return result.lines
