"""Play the migration and print it; exit status 0 means that every Secret ended as it should."""

import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.demo.screen import Screen
from tests.demo_adopt.cast import cast
from tests.demo_adopt.story import play
from tests.demo_adopt.verdict import judge
from tests.support.controlplane import KubectlFailed
from tests.support.processes import ChildFailed, Workspace
from tests.support.sam import SamFailed
from tests.support.world import World


def main() -> int:
    """Play the demo and return the exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    screen = Screen()

    def tell(title: str, lines: Sequence[str]) -> None:
        screen.head(title)
        for line in lines:
            screen.line(f"  {line}", _style(line))

    screen.head("Nine applications whose Secrets were made by hand: check, import, adopt, rotate, give back")
    for one in cast():
        screen.line(f"  {one.namespace:<16} {len(one.live)} keys, {one.made}")
    screen.line()
    try:
        with World(step=screen.step) as world, Workspace() as workspace:
            story = play(world, tell, workspace.folder)
    except KeyboardInterrupt:
        screen.line("Stopped. Everything that was started is gone.")
        return 128 + signal.SIGINT
    except (ChildFailed, KubectlFailed, SamFailed, TimeoutError) as error:
        screen.line(f"The demo could not be played to its end. {error}", "bold red")
        return 2
    verdict = judge(story)
    screen.head("Requests of the adopter, as the API server's audit log has them")
    screen.requests(story.requests)
    screen.head("Verdict")
    for problem in verdict.problems:
        screen.line(f"  ✗ {problem}", "bold red")
    if not verdict.problems:
        screen.line(
            "  ✓ Every cause found, adopted byte for byte, rotated at its source, given back, no value said.", "green"
        )
    screen.line(verdict.proof, "bold")
    return 1 if verdict.problems else 0


def _style(line: str) -> str:
    """Return how a line looks: its verdict in colour."""
    for words, style in (
        ("not adoptable", "red"),
        ("refused", "red"),
        ("MISMATCH", "yellow"),
        ("ONLY IN LIVE", "red"),
        (": adoptable", "green"),
        (": adopted", "green"),
    ):
        if words in line:
            return style
    return ""


def _terminate(*_: object) -> NoReturn:
    """Leave as on Ctrl-C, so that everything is cleaned up."""
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
