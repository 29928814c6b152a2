"""What became of one object in one namespace in a run of the adopter, and the lines that say so."""

from dataclasses import dataclass

from upsert.core.checks import Check, place
from upsert.core.outcomes import Failed
from upsert.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Adopted:
    """The Secret is ours and otherwise as before, as a read after the write proved, if one had to be `written`."""

    title: str
    namespace: str
    uid: str
    resource_version: str
    verdicts: tuple[Verdict, ...]
    written: bool
    removed_last_applied: bool

    @property
    def lines(self) -> list[str]:
        """Return the lines to print."""
        removed = ", last-applied-configuration removed" if self.removed_last_applied else ""
        how = "adopted" if self.written else "adopted already"
        here = place(self.title, self.namespace)
        keys = sorted(f"{here}/{verdict}" for verdict in self.verdicts)
        return [*keys, f"{here}: {how} (uid the same, ownerReferences untouched{removed})"]


@dataclass(frozen=True, slots=True)
class Refused:
    """The Secret was not adopted. Nothing was written, unless the reason says so."""

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
class Imported:
    """Where the entries of a live Secret went. Hosts are printable names."""

    title: str
    namespace: str
    added: tuple[str, ...]
    present: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """Return the lines to print."""
        return sorted(
            f"{place(self.title, self.namespace)}/{host}: {what}"
            for hosts, what in (
                (self.added, "imported"),
                (self.present, "imported already"),
                (self.left_out, "left out (ECR gives a new password each time)"),
            )
            for host in hosts
        )


type Result = Check | Adopted | Refused | Failed | Imported


def ending(result: Result) -> str:
    """Return how an object ended in a namespace, in a word."""
    match result:
        case Check() if result.live is None:
            return "missing"
        case Check():
            return "adoptable" if result.adoptable else "not_adoptable"
        case Adopted():
            return "adopted" if result.written else "adopted_already"
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
