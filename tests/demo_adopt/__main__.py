"""Play the migration and print it; exit status 0 means that every Secret ended as it should."""

import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.demo.screen import Screen
from tests.demo_adopt.cast import CAST
from tests.demo_adopt.story import judge, play
from tests.support.controlplane import KubectlFailed
from tests.support.processes import ChildFailed
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

    screen.head("Taking over Secrets that something else wrote: check, then adopt, on a real API server")
    for part in CAST:
        screen.line(f"  {part.namespace:<20} {part.state}")
    screen.line()
    try:
        with World(step=screen.step) as world:
            story = play(world, tell)
    except KeyboardInterrupt:
        screen.line("Stopped. Everything that was started is gone.")
        return 128 + signal.SIGINT
    except (ChildFailed, KubectlFailed, SamFailed) as error:
        screen.line(f"The demo could not be played to its end. {error}", "bold red")
        return 2
    problems, proof = judge(story)
    screen.head("Requests of the adopter, as the API server's audit log has them")
    screen.requests(story.requests)
    screen.head("Verdict")
    for problem in problems:
        screen.line(f"  ✗ {problem}", "bold red")
    if not problems:
        screen.line(
            "  ✓ Adopted byte for byte, refused untouched, rotated by the next refresh, no value said.", "green"
        )
    screen.line(proof, "bold")
    return 1 if problems else 0


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
