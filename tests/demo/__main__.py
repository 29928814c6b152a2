"""`make demo`: deploy the real stack locally, let it refresh 25 namespaces, and prove what happened.

Exit status 0 means that every namespace ended as it should, 1 that one did not, 2 that the demo could not be played.
With KEEP=1 everything is left running until Ctrl-C or SIGTERM. FROM=dist deploys a release (`make release`) in place of
this tree. PICTURE=file.svg draws the last screen, for the README.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tests.demo import cast, objects_act
from tests.demo.evidence import gather, scheduled
from tests.demo.readers import Readers, look
from tests.demo.screen import Detail, Screen
from tests.demo.verdict import MINIMUM_READS, MINIMUM_SCHEDULED, Evidence, Sight, judge
from tests.support import assets, sam
from tests.support.audit import AuditLog
from tests.support.controlplane import KubectlFailed
from tests.support.objects import SECRET, entry
from tests.support.processes import ChildFailed
from tests.support.sam import SamFailed
from tests.support.story import READABLE_ARNS
from tests.support.template import ROOT
from tests.support.world import CLUSTER, STACK, World

EMERGENCY = Path(__file__).parents[2] / "events" / "emergency.json"

# A minute, the emulator's ten seconds between looks at its schedules, and a slow machine's time for the run.
_FIRING_TIMEOUT_S = 180


def main() -> int:
    """Play the demo and return the exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    screen = Screen()
    screen.head("EKS Upsert: the pull Secret, kept fresh by a deployed function on a real Kubernetes API server")
    try:
        release = Path(named).resolve() if (named := os.environ.get("FROM")) else None
        with World(step=screen.step, release=release) as world:
            return play(world, screen, keep=os.environ.get("KEEP") == "1")
    except KeyboardInterrupt:
        screen.line("Stopped. Everything that was started is gone.")
        return 128 + signal.SIGINT
    except (ChildFailed, KubectlFailed, SamFailed, TimeoutError) as error:
        screen.line(f"The demo could not be played to its end. {error}", "bold red")
        return 2


def play(world: World, screen: Screen, *, keep: bool) -> int:
    """Run the story in a world that is up, and return the exit status."""
    parts = cast.cast()
    names = [part.namespace for part in parts]
    with screen.step(f"{len(parts)} namespaces, in every state that a Secret is found in"):
        cast.prepare(world.control_plane, parts)
    world.deploy(entry(exclude=list(cast.EXCLUDE)), Schedule="rate(1 minute)", ReadableArns=READABLE_ARNS)

    screen.head("Refreshing, while readers GET every Secret all the time")
    before = _look_at(world, names)
    audit = AuditLog(world.control_plane.audit_log)
    with Readers(world.control_plane, SECRET, names) as readers:
        with screen.step("the schedule fires (once a minute)") as detail:
            _wait(lambda: scheduled(world.runs(), by_hand=()), detail, readers)
        with screen.step("by hand, with events/emergency.json"):
            by_hand = {world.invoke(json.loads(EMERGENCY.read_text())).run.request_id}
        with screen.step("the schedule fires again, and enough is read") as detail:
            _wait(lambda: _is_enough(world, by_hand, readers), detail, readers)
        after = _look_at(world, names)

    evidence = gather(world, parts, before=before, after=after, readers=readers, audit=audit, by_hand=by_hand)
    verdict = judge(evidence)
    _show(screen, evidence)
    world.set_schedule(enabled=False)
    objects = objects_act.play(world, screen)
    screen.verdict(verdict, evidence)
    for problem in objects.problems():
        screen.line(f"  ✗ {problem}", "bold red")
    screen.line(objects.line, "bold")
    if picture := os.environ.get("PICTURE"):
        Path(picture).write_text(screen.picture())
    if keep:
        world.set_schedule(enabled=True)
        _tell_how_to_play(world, screen)
        _wait_for_interrupt()
    return 1 if verdict.problems or [*objects.problems()] else 0


def _look_at(world: World, names: Sequence[str]) -> dict[str, Sight | None]:
    return {name: look(world.control_plane, name, SECRET) for name in names}


def _is_enough(world: World, by_hand: Collection[str], readers: Readers) -> bool:
    fired = len(scheduled(world.runs(), by_hand=by_hand))
    return fired >= MINIMUM_SCHEDULED and readers.reads.answered >= MINIMUM_READS


def _wait(is_done: Callable[[], object], detail: Detail, readers: Readers) -> None:
    """Wait until `is_done`, and tell how the readers fare; raises TimeoutError."""
    deadline = time.monotonic() + _FIRING_TIMEOUT_S
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the schedule did not fire within {_FIRING_TIMEOUT_S} s")
        reads = readers.reads
        detail.say(f"{reads.answered:,} reads, {reads.absent} found no Secret")
        time.sleep(0.5)


def _show(screen: Screen, evidence: Evidence) -> None:
    screen.turn()
    screen.head("What became of each namespace (uid: its first characters; version: resourceVersion)")
    screen.table(evidence.namespaces)
    screen.head("Failures, as they should be: only the owners can mend these, and the function says how")
    screen.failures(evidence.namespaces)
    screen.head("How the runs ended: a scheduled one is not to be tried again for these, a person is to be told")
    for who, ended in (("scheduled", evidence.scheduled), ("by hand", evidence.by_hand)):
        for error in ended:
            screen.line(f"  {who}: {error or 'returned'}")
    runs = f"{len(evidence.scheduled)} scheduled runs and {len(evidence.by_hand)} by hand"
    screen.head(f"Requests of the function in {runs}, as the API server's audit log has them")
    screen.requests(evidence.requests)


def _tell_how_to_play(world: World, screen: Screen) -> None:
    # Not `make`, whose shell passes no signal on.
    end = f"Ctrl-C ends and removes it, or, where it runs in the background: kill {os.getpid()}"
    screen.head(f"All of it stays up, the schedule too (KEEP=1). {end}")
    programs = (sam.BIN, ROOT / ".venv" / "cli" / "bin", assets.locate())
    variables = {
        "KUBECONFIG": str(world.control_plane.kubeconfig(world.control_plane.token_of("admin"))),
        "PATH": ":".join((*map(str, programs), "$PATH")),
        "SAM_CLI_TELEMETRY": "0",
        **world.aws.client_environment,
    }
    screen.line("For the README's steps under Deploy, in another shell and in this folder:")
    for name, value in variables.items():
        screen.line(f'  export {name}="{value}"')
    for line in (
        f"The cluster's name is {CLUSTER}: ClusterName={CLUSTER}. Its API server is {world.control_plane.endpoint}.",
        f"A stack {STACK} is there already, with a schedule each minute. The steps update it, and the second one",
        "switches the schedule off, until the fourth. It keeps CreateAccessEntry=false and Monitoring=false, since the",
        "emulator knows no access entries and no saved queries in a stack: so update it, and do not delete it.",
    ):
        screen.line(f"  # {line}")
    screen.line(f"  kubectl get secrets -A --field-selector metadata.name={SECRET} --show-managed-fields -o yaml")


def _wait_for_interrupt() -> None:
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def _terminate(*_: object) -> NoReturn:
    """Leave as on Ctrl-C, so that everything is cleaned up."""
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
