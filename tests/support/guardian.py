"""The process that cleans up after a run whose owner died without a word.

`Workspace` starts it with a pipe as its standard input, and writes `start <process group>` and `stop <process group>`
to it. The kernel closes the pipe when the owner ends, however it ends. Then the groups still running are stopped and
the folder given as the only argument is removed. It imports the standard library alone, so that it starts in no time.
"""

import os
import shutil
import signal
import sys
import time

GRACE_SECONDS = 3.0


def signal_groups(groups: list[int], number: int) -> list[int]:
    """Send a signal to each process group and return the groups that still existed."""
    found = []
    for group in groups:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):  # macOS answers EPERM for a group that holds only zombies
            continue
        found.append(group)
    return found


def main(folder: str) -> None:
    """Read the owner's messages until the owner is gone, then stop the groups that are left and remove the folder."""
    # Whoever ends the owner with one of these may send it to every process of the run; the cleaner must outlive that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: list[int] = []
    for line in sys.stdin:
        word, group = line.split()
        if word == "start":
            groups.append(int(group))
        else:
            groups.remove(int(group))
    left = gone(signal_groups(groups, signal.SIGTERM))
    gone(signal_groups(left, signal.SIGKILL))
    # Only now: a process that still ends could write into a folder that is being removed.
    shutil.rmtree(folder, ignore_errors=True)


def gone(groups: list[int]) -> list[int]:
    """Wait until the process groups are gone, or the grace is over, and return those that are left."""
    deadline = time.monotonic() + GRACE_SECONDS
    while groups and time.monotonic() < deadline:
        time.sleep(0.05)
        groups = signal_groups(groups, 0)
    return groups


if __name__ == "__main__":
    main(sys.argv[1])
