"""Measures the performance targets side by side and states them, one line per figure.

    python -m bench [--trial] [PART...]

Without parts it measures everything, and writes bench/results.json, bench/results.svg and the figures of
docs/performance.md. With --trial each part measures little: enough to see that it works. What was measured so far is at
any time in .out/bench.json. Ends with 1 if something is missing or does not work, but not for a missed target: other
machines, other figures.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType
from typing import Any, NoReturn

from bench import machine, page, wrk
from bench.bed import REPOSITORY, Bed
from bench.figures import Figures, closing_line
from bench.parts import TRIAL, Bench, Part, Sizes, parts
from tests.support import sam
from tests.support.assets import AssetsMissing
from tests.support.processes import Workspace
from tests.support.rie import Artifact

PLOT = REPOSITORY / "bench" / "results.svg"
SO_FAR = REPOSITORY / ".out" / "bench.json"
_PLOT_PYTHON = REPOSITORY / ".venv" / "bench" / "bin" / "python"
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def _progress(text: str) -> None:
    print(f"# {text}", file=sys.stderr, flush=True)


def _tell(line: str) -> None:
    print(line, flush=True)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    _progress(f"stopped; what was measured so far is in {SO_FAR.relative_to(REPOSITORY)}")
    sys.exit(128 + number)


def _chosen(names: Sequence[str], known: Sequence[Part]) -> list[Part]:
    """Return the parts of these names and those that they need, all if none is named."""
    wanted = set(names) or {part.name for part in known}
    wanted |= {name for part in known if part.name in wanted for name in part.needs}
    return [part for part in known if part.name in wanted]


def _measure(bench: Bench, chosen: Sequence[Part], described: dict[str, Any], started: float) -> list[str]:
    """Run the parts and keep what they say after each; return the names of those that did not get to their end."""
    broken: list[str] = []
    for number, part in enumerate(chosen, start=1):
        began = time.monotonic()
        _progress(f"{number}/{len(chosen)} {part.name}: {part.title} ({(began - started) / 60:.1f} min so far)")
        try:
            if part.size:
                bench.grow(part.size)
            part.run(bench)
        except Exception:  # noqa: BLE001 - what the other parts measure is not lost by it, and its targets are missed
            traceback.print_exc()
            broken.append(part.name)
        _progress(f"{part.name} took {time.monotonic() - began:.0f} s")
        _keep(bench.figures, described, started)
    return broken


def _keep(figures: Figures, described: dict[str, Any], started: float) -> None:
    results = {
        "machine": described,
        "minutes": round((time.monotonic() - started) / 60, 1),
        "figures": [figure.to_json() for figure in figures.all()],
    }
    SO_FAR.parent.mkdir(exist_ok=True)
    SO_FAR.write_text(json.dumps(results, indent=2) + "\n")


def main() -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--trial", action="store_true", help="measure little: enough to see each part work")
    parser.add_argument("part", nargs="*", help="measure these parts alone")
    given = parser.parse_args()
    sizes = TRIAL if given.trial else Sizes()
    known = parts(sizes)
    if unknown := set(given.part) - {part.name for part in known}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; expected some of {' '.join(p.name for p in known)}")
    chosen = _chosen(given.part, known)
    for number in _SIGNALS:
        signal.signal(number, _stop)
    started = time.monotonic()
    try:
        load_generator = wrk.locate()
        described = machine.description(load_generator.version)
    except (wrk.WrkMissing, AssetsMissing) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if described["load_before"] > described["cores"] / 4:
        _progress(f"this machine is busy (load {described['load_before']}), so the figures will be off")
    figures = Figures({name: target for part in chosen for name, target in part.targets.items()}, _tell)
    with ExitStack() as stack:
        folder = stack.enter_context(Workspace(prefix="bench-build-")).folder
        _progress("sam build")
        built = sam.build(folder, architecture="x86_64")
        artifact, adopter = Artifact.beside(built), Artifact.beside(built, "AdoptFunction")
        bed = stack.enter_context(Bed([artifact.function, artifact.layer], [adopter.function, adopter.layer]))
        bench = Bench(bed, figures, load_generator, artifact, folder, sizes, _progress)
        broken = _measure(bench, chosen, described, started)
    minutes = (time.monotonic() - started) / 60
    if broken:
        _progress(f"did not get to their end: {', '.join(broken)}; nothing but {SO_FAR.name} was written")
    elif chosen == list(known) and not given.trial:
        page.RESULTS.write_text(SO_FAR.read_text())
        subprocess.run([_PLOT_PYTHON, REPOSITORY / "bench" / "plot.py", page.RESULTS, PLOT], check=True)
        page.write()
        _progress(f"written: {page.RESULTS.name}, {PLOT.name} and the figures of {page.PAGE.name}")
    _progress(f"took {minutes:.1f} minutes")
    print(closing_line(figures.all()))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
