"""Measures the performance targets side by side and states them, one line per figure.

Writes bench/results.json and bench/results.svg. Ends with 1 if something is missing or does not work, but not for a
missed target: other machines, other figures.
"""

import json
import math
import signal
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from types import FrameType
from typing import NoReturn

from bench import checks, cold_start, machine, many, own_time, trouble, wrk
from bench.bed import REPOSITORY, SECRET, Bed, Invocation
from bench.contenders import CONTENDERS, Contender
from bench.figures import Figure, Target, closing_line
from bench.relay import Relay
from bench.served import Served, Window
from bench.standins import USER
from bench.throttle import throttled
from tests.support import sam
from tests.support.assets import AssetsMissing
from tests.support.processes import Workspace
from tests.support.rie import Artifact

RESULTS = REPOSITORY / "bench" / "results.json"
PLOT = REPOSITORY / "bench" / "results.svg"
_PLOT_PYTHON = REPOSITORY / ".venv" / "bench" / "bin" / "python"

_WORKERS = 16
_MANY = 2000
_PAIRS = 5
_WRK_SECONDS = 4
_CURVE = (1, 4, 8, 16, 32, 64)
_CURVE_ROUNDS = 2
_SIZES = {100: 5, 1000: 3, 10_000: 2}  # namespaces: rounds
_TROUBLED = 500
_WIRE_SAMPLE = {"delete_create_loop": 20, "create_apply_loop": 20}  # others: as many as are timed


class Bench:
    """The measurements in their order, and the figures that they gave so far."""

    def __init__(self, bed: Bed, load_generator: wrk.Wrk, artifact: Artifact) -> None:
        self._bed = bed
        self._wrk = load_generator
        self._artifact = artifact
        self.figures: list[Figure] = []

    def run(self) -> None:
        """Measure everything. The cluster only grows, so that each part finds as many namespaces as it names."""
        self._cold_start()
        self._size(100)
        self._trouble()
        self._size(1000)
        self._size_of_many()
        self._own_time()
        self._throughput()
        self._contenders()
        self._curve()
        self._throttled()
        self._size(10_000)
        self._growth()
        self._many_objects()
        self._checks()

    def _say(self, name: str, value: float, unit: str, target: Target | None = None) -> None:
        figure = Figure(name, value, unit, target)
        self.figures.append(figure)
        print(figure.line(), flush=True)

    def _value(self, name: str) -> float:
        return next(figure.value for figure in self.figures if figure.name == name)

    def _cold_start(self) -> None:
        _progress("cold starts under the Runtime Interface Emulator")
        folder = self._bed.folder / "cold"
        measured = cold_start.measure(self._artifact, folder)
        self._say("cold_start_vs_boto3_alone", measured.ratio, "ratio", Target("<=", 1.4))
        self._say("cold_start", measured.artifact * 1000, "ms")
        self._say("cold_start_boto3_alone", measured.boto3_alone * 1000, "ms")
        self._say("cold_start_without_bytecode", measured.without_bytecode * 1000, "ms")
        self._say("cold_start_gain_of_bytecode", measured.without_bytecode / measured.artifact, "times")
        runs = cold_start.whole_runs(self._artifact, folder, self._bed.environment())
        self._say("cold_run_vs_two_calls_by_boto3", runs.ratio, "ratio")
        self._say(f"cold_run_{len(self._bed.namespaces)}_namespaces", runs.refresh * 1000, "ms")
        self._say("cold_run_two_calls_by_boto3", runs.boto3_calls * 1000, "ms")

    def _trouble(self) -> None:
        self._bed.grow(_TROUBLED)
        self._bed.invoke()
        _progress(f"a slow source, {_TROUBLED} namespaces, and the same without it")
        slow = trouble.slow_source(self._bed)
        self._say("slow_source_costs", slow.costs, "of its delay", Target("<=", 1.25))
        _progress(f"a dead webhook before a fifth of {_TROUBLED} namespaces, and the same without it")
        dead = trouble.dead_webhook(self._bed)
        self._say("dead_webhook_healthy_lost", dead.healthy_lost, "namespaces", Target("==", 0))
        self._say("dead_webhook_last_healthy", dead.last_healthy, "of its timeout", Target("<=", 3))
        self._say("dead_webhook_last_healthy_without", dead.last_without, "of its timeout")
        self._say("dead_webhook_run", dead.seconds, "s")

    def _own_time(self) -> None:
        _progress("own processor time, the refresh and bare urllib3 taking turns")
        measured = own_time.measure(self._bed)
        self._say("own_time_vs_bare_urllib3", measured.ratio, "ratio", Target("<=", 1.2))
        self._say("own_time", measured.function, "ms per PATCH")
        self._say("own_time_bare_urllib3", measured.urllib3, "ms per PATCH")

    def _many_objects(self) -> None:
        _progress(f"{many.OBJECTS} objects in a tenth of the namespaces each, and one in all of them")
        measured = many.measure(self._bed)
        self._say("many_objects_vs_one", measured.ratio, "ratio", Target(">=", 0.95))
        self._say("throughput_many_objects", measured.many, "PATCH/s")
        self._say("throughput_one_object", measured.one, "PATCH/s")
        self._say("requests_many_objects", measured.requests, "requests", Target("==", measured.requests_due))
        self._say("source_reads_many_objects", measured.source_reads, "calls", Target("==", 1))
        self._say("memory_peak_many_objects", measured.peak_mb, "MB", Target("<=", 100))

    def _checks(self) -> None:
        _progress("the adopter's check")
        self._say("check_400_hosts", checks.docker_config(400) * 1000, "ms", Target("<=", 100))
        growth = checks.docker_config(3200) / checks.docker_config(400)
        self._say("check_3200_vs_400_hosts", growth, "ratio", Target("<=", 16))
        found = checks.cluster(self._bed)
        self._say("check_memory_peak", found.peak_mb, "MB", Target("<=", 200))
        self._say("check_cpu_growth_10_times", found.growth, "ratio", Target("<=", 11))
        self._say("check_pairs", found.pairs, "objects")

    def _size(self, size: int) -> None:
        _progress(f"a cluster of {size} namespaces")
        self._bed.grow(size)
        self._bed.invoke()
        runs = []
        for _ in range(_SIZES[size]):
            invocation, served = self._refresh()
            runs.append(invocation)
        self._requests(size, served)
        limit = Target("<=", 100) if size == max(_SIZES) else None
        self._say(f"memory_peak_{size}", max(run.peak_mb for run in runs), "MB", limit)
        self._say(f"wall_{size}", statistics.median(run.seconds for run in runs), "s")
        cpu = statistics.median(run.cpu_seconds for run in runs)
        self._say(f"cpu_{size}", cpu, "s")
        self._say(f"cpu_per_namespace_{size}", cpu / size * 1000, "ms")

    def _size_of_many(self) -> None:
        _progress(f"a cluster of {_MANY} namespaces")
        self._bed.grow(_MANY)
        self._bed.invoke()
        _, served = self._refresh()
        self._requests(_MANY, served)

    def _requests(self, size: int, served: Served) -> None:
        self._say(f"requests_{size}", served.requests, "requests", Target("==", math.ceil(size / 500) + size))

    def _throughput(self) -> None:
        _progress(f"the refresh and wrk, taking turns, {_WORKERS} connections each")
        ours, theirs = [], []
        work = self._bed.folder / "work.lua"
        for _ in range(_PAIRS):
            _, served = self._refresh()
            ours.append(served.patches_per_second)
            token = self._bed.control_plane.token_of("refresher")
            wrk.write_work(work, self._bed.namespaces, secret=SECRET, token=token)
            window = Window(self._bed.control_plane.audit_log)
            self._wrk.send(self._bed.control_plane.endpoint, work, connections=_WORKERS, seconds=_WRK_SECONDS)
            theirs.append(window.served("refresher").patches_per_second)
        ratio = statistics.median(mine / its for mine, its in zip(ours, theirs, strict=True))
        self._say("throughput_vs_wrk", ratio, "ratio")
        self._say("throughput", statistics.median(ours), "PATCH/s")
        self._say("throughput_wrk", statistics.median(theirs), "PATCH/s")

    def _contenders(self) -> None:
        rates = []
        for contender in CONTENDERS:
            _progress(f"{contender.title}: on {contender.sample} namespaces, scaled to {_MANY}")
            rates.append(self._contender(contender))
        self._say("rate_whole_invocation", statistics.median(rates), "namespaces/s")
        with Relay(self._bed.control_plane.endpoint) as relay:
            self._bed.invoke(endpoint=relay.endpoint)
            self._say("bytes_per_namespace", relay.bytes / _MANY, "bytes")
        self._say("requests_per_namespace", self._value(f"requests_{_MANY}") / _MANY, "requests")

    def _contender(self, contender: Contender) -> float:
        """Measure the contender and, right after it, the function; return the namespaces per second of the latter."""
        endpoint, namespaces = self._bed.control_plane.endpoint, self._bed.namespaces[: contender.sample]
        contender.run(self._bed, endpoint, namespaces[:2])
        window, started = Window(self._bed.control_plane.audit_log), time.monotonic()
        contender.run(self._bed, endpoint, namespaces)
        seconds = (time.monotonic() - started) / len(namespaces)
        requests = window.served("admin").requests / len(namespaces)
        invocation, _ = self._refresh()
        rate = _MANY / (invocation.import_seconds + invocation.seconds)
        target = Target(">=", 80) if contender.name == "create_apply_loop" else None
        self._say(f"faster_than_{contender.name}", rate * seconds, "times", target)
        self._say(f"rate_{contender.name}", 1 / seconds, "namespaces/s")
        self._say(f"requests_{contender.name}", requests, "requests")
        sample = namespaces[: _WIRE_SAMPLE.get(contender.name)]
        with Relay(endpoint) as relay:
            contender.run(self._bed, relay.endpoint, sample)
            self._say(f"bytes_{contender.name}", relay.bytes / len(sample), "bytes")
        return rate

    def _curve(self) -> None:
        _progress(f"1 to {max(_CURVE)} workers on {_MANY} namespaces")
        rates: dict[int, list[float]] = {workers: [] for workers in _CURVE}
        for _ in range(_CURVE_ROUNDS):
            for workers in _CURVE:
                _, served = self._refresh(workers)
                rates[workers].append(served.patches_per_second)
        for workers in _CURVE:
            self._say(f"throughput_{workers}_workers", statistics.median(rates[workers]), "PATCH/s")

    def _throttled(self) -> None:
        for workers in (_WORKERS, 64):
            _progress(f"{workers} workers at an API server that lets few requests of the function in at once")
            with throttled(self._bed.control_plane) as seats:
                invocation, served = self._refresh(workers)
            self._say(f"throttled_to_{seats}_seats_{workers}_workers", served.patches_per_second, "PATCH/s")
            self._say(f"throttled_refusals_{workers}_workers", served.refused / _MANY, "per namespace")
            self._say(
                f"throttled_not_applied_{workers}_workers",
                _MANY - invocation.answer["applied"],
                "namespaces",
                Target("==", 0),
            )

    def _growth(self) -> None:
        growth = self._value("wall_10000") / self._value("wall_1000")
        self._say("growth_10000_vs_1000", growth, "ratio", Target("<=", 11))

    def _refresh(self, workers: int = _WORKERS) -> tuple[Invocation, Served]:
        window = Window(self._bed.control_plane.audit_log)
        invocation = self._bed.invoke(concurrency=workers)
        return invocation, window.served(USER)


def _progress(text: str) -> None:
    print(f"# {text}", file=sys.stderr, flush=True)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def main() -> int:
    """Run the benchmark; return the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    started = time.monotonic()
    try:
        load_generator = wrk.locate()
        described = machine.description(load_generator.version)
    except (wrk.WrkMissing, AssetsMissing) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if described["load_before"] > described["cores"] / 4:
        _progress(f"this machine is busy (load {described['load_before']}), so the figures will be off")
    with ExitStack() as stack:
        folder = stack.enter_context(Workspace(prefix="bench-build-")).folder
        _progress("sam build")
        built = sam.build(folder, architecture="x86_64")
        artifact, adopter = Artifact.beside(built), Artifact.beside(built, "AdoptFunction")
        bed = stack.enter_context(Bed([artifact.function, artifact.layer], [adopter.function, adopter.layer]))
        bench = Bench(bed, load_generator, artifact)
        bench.run()
    minutes = (time.monotonic() - started) / 60
    results = {
        "machine": described,
        "minutes": round(minutes, 1),
        "figures": [figure.to_json() for figure in bench.figures],
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    subprocess.run([_PLOT_PYTHON, REPOSITORY / "bench" / "plot.py", RESULTS, PLOT], check=True)
    _progress(f"took {minutes:.1f} minutes; written: {RESULTS.name}, {PLOT.name}")
    print(closing_line(bench.figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
