"""How the demo looks: colours and a spinner on a terminal, plain lines anywhere else."""

import io
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tests.demo.verdict import Ending, Evidence, Namespace, Sight, Verdict, is_rotated, is_stable

_PLAIN_WIDTH = 110
# The proof fits in one line.
_PICTURE_WIDTH = 120
# What draws fonts from somebody else's server.
_FOREIGN_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_NEWS_EVERY_S = 15
# As much as is worth the room; the verdict compares whole ones.
_UID_LENGTH = 6

_COLOURS = {
    Ending.CREATED: "green",
    Ending.UPDATED: "green",
    Ending.SKIPPED: "yellow",
    Ending.FAILED: "red",
    Ending.EXCLUDED: "bright_black",
}


class Detail:
    """The changing part of a step that is under way."""

    def __init__(self, screen: "Screen", progress: Progress | None) -> None:
        """Tell of `progress` on a terminal, else print a line now and then."""
        self._screen = screen
        self._progress = progress
        self._told = time.monotonic()

    def say(self, text: str) -> None:
        """Show where the step is."""
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], detail=text)
        elif time.monotonic() - self._told >= _NEWS_EVERY_S:
            self._told = time.monotonic()
            self._screen.line(f"    {text}")


class Screen:
    """Writes to standard output."""

    def __init__(self) -> None:
        """Find out whether anybody watches."""
        console = Console(highlight=False)
        self._console = console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)
        self._film = Console(
            file=io.StringIO(), record=True, width=_PICTURE_WIDTH, force_terminal=True, color_system="truecolor"
        )

    def _print(self, what: RenderableType, *, soft_wrap: bool = False) -> None:
        self._console.print(what, soft_wrap=soft_wrap)
        # What does not fit is wrapped there: a picture shows nothing beyond its edge.
        self._film.print(what)

    def turn(self) -> None:
        """Begin the last screen, which is all that a picture shows."""
        self._film.export_text(clear=True)

    def picture(self) -> str:
        """Return the last screen so far, as SVG."""
        svg = self._film.export_svg(title="make demo", clear=False, unique_id="demo")
        return "\n".join(line.rstrip() for line in _FOREIGN_FONTS.sub("", svg).splitlines()) + "\n"

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line as it is, however long."""
        self._print(Text(text, style), soft_wrap=True)

    def head(self, text: str) -> None:
        """Print a heading."""
        self.line()
        self.line(text, "bold")

    @contextmanager
    def step(self, text: str) -> Iterator[Detail]:
        """Show that something is under way, and how long it took."""
        started = time.monotonic()
        if self._console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[detail]}"),
            )
            with Progress(*columns, console=self._console, transient=True) as progress:
                progress.add_task(text, total=None, detail="")
                yield Detail(self, progress)
        else:
            self._console.print(Text(f"  - {text} ..."), soft_wrap=True)
            yield Detail(self, None)
        self._print(Text.assemble(("  ✓ ", "green"), text, (f"  {time.monotonic() - started:.1f} s", "bright_black")))

    def table(self, namespaces: Sequence[Namespace]) -> None:
        """Print a row per namespace, and below it from whom Secrets were taken over."""
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        table.add_column("namespace", no_wrap=True)
        # As narrow as their longest word, so that the table fits into 80 columns.
        table.add_column("before", min_width=12)
        table.add_column("change", min_width=11)
        for title in ("uid\nbefore", "uid\nafter"):
            table.add_column(title, no_wrap=True)
        for title in ("version\nbefore", "version\nafter"):
            table.add_column(title, no_wrap=True, justify="right")
        table.add_column("password", no_wrap=True)
        for namespace in namespaces:
            table.add_row(*_cells(namespace))
        self._print(Padding(table, (0, 0, 0, 2), expand=False))
        owners = Counter(owner for namespace in namespaces for owner in _owners(namespace))
        self.line(f"  Taken over from: {', '.join(f'{owner} ({count})' for owner, count in sorted(owners.items()))}")
        before, after = ([sight for sight in sights if sight and sight.old_copy] for sights in _sights(namespaces))
        self.line(
            f"  Copies of an old password in an annotation of kubectl apply: {len(before)} before, {len(after)} after"
        )

    def failures(self, namespaces: Sequence[Namespace]) -> None:
        """Print what the function said must be done about the namespaces that it could not refresh."""
        for namespace in namespaces:
            if namespace.reports and namespace.reports[-1].outcome == "failed":
                last = namespace.reports[-1]
                text = Text.assemble((f"{namespace.name}: {last.reason}. ", "red"), f"Remedy: {last.remedy}")
                self._print(Padding(text, (0, 0, 0, 2), expand=False))

    def requests(self, requests: Mapping[tuple[str, str], int]) -> None:
        """Print the API server's count of what the function sent."""
        for (verb, resource), count in sorted(requests.items()):
            self.line(f"  {count:>6,}  {verb} {resource}")

    def verdict(self, verdict: Verdict, evidence: Evidence) -> None:
        """Print what is wrong, if anything, and the proof line last."""
        self.head("Verdict")
        for problem in verdict.problems:
            self.line(f"  ✗ {problem}", "bold red")
        if not verdict.problems:
            self.line(f"  ✓ Every namespace ended as it should, over {evidence.reads.answered:,} reads.", "green")
        self.line(verdict.proof, "bold")


def _cells(namespace: Namespace) -> list[Text]:
    before, after = namespace.before, namespace.after
    return [
        Text(namespace.name),
        Text(namespace.state),
        Text(_change(namespace), _COLOURS[namespace.ending]),
        Text(before.uid[:_UID_LENGTH] if before else "-"),
        Text(after.uid[:_UID_LENGTH] if after else "-", "" if after is None or is_stable(namespace) else "bold red"),
        Text(before.resource_version if before else "-"),
        Text(after.resource_version if after else "-"),
        Text(("changed" if is_rotated(namespace) else "same") if after else "-"),
    ]


def _change(namespace: Namespace) -> str:
    if not namespace.reports:
        return "none"
    first, last = namespace.reports[0], namespace.reports[-1]
    return first.change if last.outcome == "applied" else f"{last.outcome}: {last.reason}"


def _sights(namespaces: Sequence[Namespace]) -> tuple[list[Sight | None], list[Sight | None]]:
    return [namespace.before for namespace in namespaces], [namespace.after for namespace in namespaces]


def _owners(namespace: Namespace) -> set[str]:
    return {owner for report in namespace.reports for owner in report.took_over_from}
