"""Plays a story on a real API server, and draws the dashboard that the template would show of it.

The picture is drawn by an interpreter that has matplotlib, which the tests do not need: ``python -m tests.dashboard
PYTHON FILE``.
"""

import json
import subprocess
import sys
from pathlib import Path

from tests.dashboard.contents import contents
from tests.support.invocation import CLUSTER
from tests.support.recording import Stage, play, stage
from tests.support.template import Stack


def main(interpreter: str, file: str) -> None:
    """Record, and let the interpreter draw into the file."""
    with stage() as (plane, aws):
        acts = Stage(plane, aws)
        acts.create(*(f"team-{number:02}" for number in range(1, 31)))
        recording = play(acts, quiet_runs=3)
    shown = json.dumps(contents(Stack(ClusterName=CLUSTER), recording))
    draw = Path(__file__).with_name("draw.py")
    subprocess.run([interpreter, "-I", str(draw), file], input=shown, text=True, check=True)
    print(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
