"""The parts of the benchmark: what each measures, in a cluster of which size, and the targets that are its own."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from bench import checks, cold_start, contenders, largest, many, own_time, sources, trouble, wrk
from bench.bed import SECRET, Bed
from bench.contenders import Contender
from bench.figures import Figures, Target
from bench.relay import Relay
from bench.served import Window
from tests.support.rie import Artifact

_EXACTLY_ONCE = Target("==", 1)
_NONE = Target("==", 0)


@dataclass(frozen=True)
class Sizes:
    """How much is measured: namespaces, rounds, seconds."""

    clusters: tuple[int, int, int] = (100, 1000, 10_000)
    rounds: tuple[int, int, int] = (3, 3, 2)
    troubled: int = 500
    shared: int = 2000
    cold_rounds: int = 9
    own_rounds: int = 5
    wrk_rounds: int = 5
    wrk_seconds: int = 4
    trouble_rounds: int = 3
    throttle_rounds: int = 2
    many_rounds: int = 2
    workers: tuple[int, ...] = (1, 4, 8, 16, 32, 64)
    sample: float = 1.0  # of what contenders are timed on


# Enough to see each part work; its figures mean nothing.
TRIAL = Sizes((10, 100, 1000), (1, 1, 1), 50, 200, 1, 1, 1, 1, 1, 1, 1, (1, 16), 0.1)


@dataclass
class Bench:
    """What the parts share."""

    bed: Bed
    figures: Figures
    load_generator: wrk.Wrk
    artifact: Artifact
    folder: Path
    sizes: Sizes
    progress: Callable[[str], None]

    def say(self, name: str, value: float, unit: str) -> None:
        """Add a figure."""
        self.figures.say(name, value, unit)

    def grow(self, size: int) -> None:
        """Let the cluster have so many namespaces, all of them with the pull Secret."""
        if len(self.bed.namespaces) > size:
            raise RuntimeError(f"the cluster has {len(self.bed.namespaces)} namespaces, more than {size}")
        if len(self.bed.namespaces) < size or not self.bed.is_filled:
            self.progress(f"a cluster of {size} namespaces")
            self.bed.grow(size)


@dataclass(frozen=True)
class Part:
    """One part: `run` adds its figures. It runs in a cluster of `size` namespaces, 0 if it asks none."""

    name: str
    title: str
    size: int
    run: Callable[[Bench], None]
    targets: Mapping[str, Target]
    needs: tuple[str, ...] = ()


def parts(sizes: Sizes) -> tuple[Part, ...]:
    """Return all parts in their order, which is that of their clusters: these only grow."""
    _, second, last = sizes.clusters
    return (
        Part("cold", "cold starts under the Runtime Interface Emulator", 0, _cold, {
            "cold_start_vs_boto3_alone": Target("<=", 1.4),
        }),
        Part("largest", "events and files of the largest size, and of an eighth of it", 0, _largest, {
            f"{name}_8_times": Target("<=", 16) for name in largest.WORKS
        }),
        Part("hosts", "the check of a docker config", 0, _hosts, {
            "check_400_hosts": Target("<=", 100),
            "check_3200_vs_400_hosts": Target("<=", 16),
        }),
        Part("check", f"the check of {last} namespaces times {checks.OBJECTS} objects", 0, _check, {
            "check_memory_peak": Target("<=", 200),
            "check_10_times": Target("<=", 13),
        }),
        _size(0, sizes),
        Part("slow_source", "a slow source, and the same without it", sizes.troubled, _slow_source, {
            # The run has to wait for it, so what costs nothing was not slow.
            "slow_source_costs": Target("<=", 1.25, above=0.5),
        }),
        Part("dead_webhook", "a dead webhook before a fifth of the namespaces, and the same without it",
             sizes.troubled, _dead_webhook, {
            "dead_webhook_healthy_lost": _NONE,
            "dead_webhook_behind_failed": Target("==", sizes.troubled // trouble.DEAD),
            "dead_webhook_last_healthy": Target("<=", 3),
        }),
        _size(1, sizes),
        Part("sources", "sources that objects share, and selectors", second, _sources, {
            "source_reads": Target("==", sources.READS_DUE),
            "requests_two_selectors": Target("==", sources.requests_due(second)),
        }),
        Part("own_time", "own processor time, the refresh and bare urllib3 taking turns", sizes.shared, _own_time, {
            f"requests_{sizes.shared}": _requests_due(sizes.shared),
            "own_time_vs_bare_urllib3": Target("<=", 1.2),
        }),
        Part("wrk", "the refresh and wrk, taking turns", sizes.shared, _throughput, {}),
        Part("contenders", "what people run today", sizes.shared, _contenders, {
            "faster_than_create_apply_loop": Target(">=", 80),
        }),
        Part("workers", f"1 to {max(sizes.workers)} workers", sizes.shared, _workers, {}),
        Part("throttled", "an API server that lets few requests in at once, and the same without that",
             sizes.shared, _throttled, {
            name: target for workers in _OF_THROTTLED for name, target in (
                (f"throttled_{workers}_workers_lost", _NONE),
                # It did refuse some: else nothing would have been measured.
                (f"throttled_{workers}_workers_refusals", Target(">=", 0.01)),
            )
        } | {
            # The function has 16.
            "throttled_16_workers_vs_without": Target(">=", 0.4),
        }),
        _size(2, sizes),
        Part("many_objects", "ten objects in a tenth of the namespaces each, and one in all of them", last, _many, {
            "many_objects_vs_one": Target(">=", 0.95),
            "many_objects_requests": Target("==", many.requests_due(last)),
            "many_objects_source_reads": _EXACTLY_ONCE,
            "many_objects_memory_peak": Target("<=", 100),
        }),
        Part("cluster_check", "the adopter's check of a real cluster", last, _cluster_check, {
            "check_of_cluster_memory_peak": Target("<=", 200),
            "check_of_cluster_10_times": Target("<=", 13),
        }),
    )  # fmt: skip


_OF_THROTTLED = (16, 64)


def _requests_due(size: int) -> Target:
    return Target("==", ceil(size / 500) + size)


def _size(nth: int, sizes: Sizes) -> Part:
    """Return the part that refreshes a cluster of one of the sizes."""
    size, rounds = sizes.clusters[nth], sizes.rounds[nth]
    targets = {f"requests_{size}": _requests_due(size)}
    needs: tuple[str, ...] = ()
    before = sizes.clusters[nth - 1]
    if size == max(sizes.clusters):
        targets |= {f"memory_peak_{size}": Target("<=", 100), f"growth_{size}_vs_{before}": Target("<=", 11)}
        needs = (f"size_{before}",)

    def run(bench: Bench) -> None:
        runs = [bench.bed.refresh() for _ in range(rounds)]
        bench.say(f"requests_{size}", max(run.served.requests for run in runs), "requests")
        bench.say(f"memory_peak_{size}", max(run.invocation.peak_mb for run in runs), "MB")
        bench.say(f"wall_{size}", statistics.median(run.invocation.seconds for run in runs), "s")
        cpu = statistics.median(run.invocation.cpu_seconds for run in runs)
        bench.say(f"cpu_{size}", cpu, "s")
        bench.say(f"cpu_per_namespace_{size}", cpu / size * 1000, "ms")
        if needs:
            growth = bench.figures.value(f"wall_{size}") / bench.figures.value(f"wall_{before}")
            bench.say(f"growth_{size}_vs_{before}", growth, "ratio")

    return Part(f"size_{size}", f"refreshes of {size} namespaces", size, run, targets, needs)


def _cold(bench: Bench) -> None:
    folder = bench.folder / "cold"
    measured = cold_start.measure(bench.artifact, folder, bench.sizes.cold_rounds)
    bench.say("cold_start_vs_boto3_alone", measured.ratio, "ratio")
    bench.say("cold_start", measured.artifact * 1000, "ms")
    bench.say("cold_start_boto3_alone", measured.boto3_alone * 1000, "ms")
    bench.say("cold_start_without_bytecode", measured.without_bytecode * 1000, "ms")
    bench.say("cold_start_gain_of_bytecode", measured.without_bytecode / measured.artifact, "times")
    runs = cold_start.whole_runs(bench.artifact, folder, bench.bed.environment(), bench.sizes.cold_rounds)
    bench.say("cold_run_vs_two_calls_by_boto3", runs.ratio, "ratio")
    bench.say("cold_run", runs.refresh * 1000, "ms")
    bench.say("cold_run_two_calls_by_boto3", runs.boto3_calls * 1000, "ms")


def _largest(bench: Bench) -> None:
    for name in largest.WORKS:
        measured = largest.measure(name)
        bench.say(f"{name}_8_times", measured.growth, "ratio")
        bench.say(name, measured.seconds * 1000, "ms")


def _hosts(bench: Bench) -> None:
    seconds = checks.docker_config(400)
    bench.say("check_400_hosts", seconds * 1000, "ms")
    bench.say("check_3200_vs_400_hosts", checks.docker_config(3200) / seconds, "ratio")


def _check(bench: Bench) -> None:
    found = checks.without_server(max(bench.sizes.clusters))
    bench.say("check_memory_peak", found.peak_mb, "MB")
    bench.say("check_10_times", found.growth, "ratio")
    bench.say("check_objects", found.checked, "objects")
    bench.say("check_cpu", found.seconds, "s")


def _slow_source(bench: Bench) -> None:
    slow = trouble.slow_source(bench.bed, bench.sizes.trouble_rounds)
    bench.say("slow_source_costs", slow.costs, "of its delay")
    bench.say("slow_source_run", slow.seconds, "s")
    bench.say("slow_source_run_without", slow.without, "s")


def _dead_webhook(bench: Bench) -> None:
    dead = trouble.dead_webhook(bench.bed)
    bench.say("dead_webhook_healthy_lost", dead.healthy_lost, "namespaces")
    bench.say("dead_webhook_behind_failed", dead.behind_failed, "namespaces")
    bench.say("dead_webhook_last_healthy", dead.last_healthy, "of its timeout")
    bench.say("dead_webhook_last_healthy_without", dead.last_without, "of its timeout")
    bench.say("dead_webhook_run", dead.seconds, "s")


def _throttled(bench: Bench) -> None:
    for workers in _OF_THROTTLED:
        bench.progress(f"throttled: {workers} workers")
        found = trouble.throttle(bench.bed, workers, bench.sizes.throttle_rounds)
        name = f"throttled_{workers}_workers"
        bench.say(f"{name}_lost", found.not_applied, "namespaces")
        bench.say(f"{name}_refusals", found.refusals, "per namespace")
        bench.say(f"{name}_vs_without", found.ratio, "ratio")
        bench.say(f"{name}_seats", found.seats, "seats")
        bench.say(name, found.rate, "PATCH/s")
        bench.say(f"{name}_without", found.rate_without, "PATCH/s")


def _sources(bench: Bench) -> None:
    asked = sources.measure(bench.bed)
    bench.say("source_reads", asked.reads, "calls")
    bench.say("requests_two_selectors", asked.requests, "requests")


def _own_time(bench: Bench) -> None:
    bench.say(f"requests_{bench.sizes.shared}", bench.bed.refresh().served.requests, "requests")
    measured = own_time.measure(bench.bed, bench.sizes.own_rounds)
    bench.say("own_time_vs_bare_urllib3", measured.ratio, "ratio")
    bench.say("own_time", measured.function, "ms per PATCH")
    bench.say("own_time_bare_urllib3", measured.urllib3, "ms per PATCH")


def _throughput(bench: Bench) -> None:
    ours, theirs = [], []
    work, control_plane = bench.folder / "work.lua", bench.bed.control_plane
    for _ in range(bench.sizes.wrk_rounds):
        ours.append(bench.bed.refresh().served.patches_per_second)
        wrk.write_work(work, bench.bed.namespaces, secret=SECRET, token=control_plane.token_of("refresher"))
        window = Window(control_plane.audit_log)
        bench.load_generator.send(control_plane.endpoint, work, connections=16, seconds=bench.sizes.wrk_seconds)
        theirs.append(window.served("refresher").patches_per_second)
    bench.say("throughput_vs_wrk", statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), "ratio")
    bench.say("throughput", statistics.median(ours), "PATCH/s")
    bench.say("throughput_wrk", statistics.median(theirs), "PATCH/s")


def _contenders(bench: Bench) -> None:
    rates = []
    for contender in contenders.CONTENDERS:
        bench.progress(f"contenders: {contender.title}")
        rates.append(_contender(bench, contender))
    bench.say("rate_whole_invocation", statistics.median(rates), "namespaces/s")
    with Relay(bench.bed.control_plane.endpoint) as relay:
        bench.bed.invoke(endpoint=relay.endpoint)
        bench.say("bytes_per_namespace", relay.bytes / len(bench.bed.namespaces), "bytes")


def _contender(bench: Bench, contender: Contender) -> float:
    """Measure the contender and, right after it, the function; return the namespaces per second of the latter."""
    bed = bench.bed
    endpoint, size = bed.control_plane.endpoint, len(bed.namespaces)
    namespaces = bed.namespaces[: max(2, round(contender.sample * bench.sizes.sample))]
    contender.run(bed, endpoint, namespaces[:2])
    window, started = Window(bed.control_plane.audit_log), time.monotonic()
    contender.run(bed, endpoint, namespaces)
    seconds = (time.monotonic() - started) / len(namespaces)
    requests = window.served("admin").requests / len(namespaces)
    invocation = bed.refresh().invocation
    rate = size / (invocation.import_seconds + invocation.seconds)
    bench.say(f"faster_than_{contender.name}", rate * seconds, "times")
    bench.say(f"rate_{contender.name}", 1 / seconds, "namespaces/s")
    bench.say(f"requests_{contender.name}", requests, "requests")
    few = namespaces[: contender.wire_sample]
    with Relay(endpoint) as relay:
        # kubectl learns about the API of each endpoint once, which a daily loop has done.
        contender.run(bed, relay.endpoint, few[:1])
        learned = relay.bytes
        contender.run(bed, relay.endpoint, few)
        bench.say(f"bytes_{contender.name}", (relay.bytes - learned) / len(few), "bytes")
    return rate


def _workers(bench: Bench) -> None:
    for workers in bench.sizes.workers:
        rate = bench.bed.refresh(concurrency=workers).served.patches_per_second
        bench.say(f"throughput_{workers}_workers", rate, "PATCH/s")


def _many(bench: Bench) -> None:
    measured = many.measure(bench.bed, bench.sizes.many_rounds)
    bench.say("many_objects_vs_one", measured.ratio, "ratio")
    bench.say("many_objects_throughput", measured.many, "PATCH/s")
    bench.say("many_objects_throughput_of_one", measured.one, "PATCH/s")
    bench.say("many_objects_cpu", measured.cpu_many, "ms per PATCH")
    bench.say("many_objects_cpu_of_one", measured.cpu_one, "ms per PATCH")
    bench.say("many_objects_requests", measured.requests, "requests")
    bench.say("many_objects_source_reads", measured.source_reads, "calls")
    bench.say("many_objects_memory_peak", measured.peak_mb, "MB")


def _cluster_check(bench: Bench) -> None:
    found = checks.cluster(bench.bed)
    bench.say("check_of_cluster_memory_peak", found.peak_mb, "MB")
    bench.say("check_of_cluster_10_times", found.growth, "ratio")
    bench.say("check_of_cluster_objects", found.checked, "objects")
    bench.say("check_of_cluster_cpu", found.seconds, "s")
