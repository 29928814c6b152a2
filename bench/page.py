"""The figures of docs/performance.md, made of those of the committed run: `python -m bench.page` writes them."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
RESULTS = REPOSITORY / "bench" / "results.json"
PAGE = REPOSITORY / "docs" / "performance.md"

_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
TARGETS = {
    "requests_2000": "requests for 2,000 namespaces, by the audit log",
    "requests_two_selectors": "requests for five objects with two selectors, in ten of 1,000 namespaces",
    "source_reads": "reads of 45 secrets, 25 parameters, a stage, a version and a login",
    "own_time_vs_bare_urllib3": "own processor time for a `PATCH`, against bare urllib3",
    "faster_than_create_apply_loop": "against `kubectl create --dry-run \\| kubectl apply`, in a loop",
    "many_objects_vs_one": "ten objects in 1,000 namespaces, against the rate of one in 10,000",
    "many_objects_requests": "their requests",
    "many_objects_source_reads": "reads of the source that they share",
    "many_objects_memory_peak": "their peak memory",
    "dead_webhook_healthy_lost": "100 of 500 namespaces behind a dead webhook: healthy ones lost",
    "dead_webhook_last_healthy": "the last healthy one is done after",
    "slow_source_costs": "a slow source costs a run",
    "throttled_16_workers_vs_without": "a server that throttles, against a run with as many workers as it has seats",
    "throttled_16_workers_refusals": "refused by it with 16 workers",
    "throttled_16_workers_lost": "lost to throttling",
    "cold_start_vs_boto3_alone": "cold start, against a handler that imports boto3 alone",
    "memory_peak_10000": "peak memory at 10,000 namespaces",
    "growth_10000_vs_1000": "time for 10,000 against 1,000 namespaces",
    "check_400_hosts": "check of a docker config with 400 hosts",
    "check_3200_vs_400_hosts": "time for 3,200 hosts against 400",
    "check_memory_peak": "peak memory of a check of 10,000 namespaces times 5 objects",
    "check_10_times": "its time against that for a tenth of the namespaces",
    "event_of_names_8_times": "an event of 10,000 names and globs, against an eighth of it",
    "event_of_audit_log_8_times": "the longest batch of the audit log, against an eighth of it",
    "file_of_objects_8_times": "a file of 1,000 objects, against an eighth of it",
    "file_of_one_name_8_times": "the same, if all have one name",
    "env_file_8_times": "a mebibyte of `KEY=value` lines, against an eighth of it",
}
TOLD = {
    "throughput_vs_wrk": "rate at 16 workers, against `wrk` sending the same",
    "faster_than_delete_create_loop": "against `kubectl delete; kubectl create`, in a loop",
    "faster_than_read_then_replace": "against read, then create or replace, one by one",
    "faster_than_typed_patch": "against the official client's typed patch, one by one",
    "bytes_per_namespace": "sent and received for each namespace",
    "bytes_read_then_replace": "the same of read, then replace",
    "own_time": "own processor time",
    "own_time_bare_urllib3": "that of bare urllib3",
    "cold_start": "cold start",
    "cold_start_boto3_alone": "that of boto3 alone",
    "cold_start_gain_of_bytecode": "what bytecode in the artifact gains",
    "cold_run_vs_two_calls_by_boto3": "a whole cold run, against two calls by boto3",
    "dead_webhook_last_healthy_without": "the last healthy one without a dead webhook",
    "throttled_16_workers_seats": "a server that throttles takes at once",
    "throttled_64_workers_vs_without": "64 workers there, against as many as it has seats",
    "throughput_1_workers": "one worker",
    "throughput_4_workers": "4 workers",
    "throughput_8_workers": "8 workers",
    "throughput_16_workers": "16 workers",
    "throughput_32_workers": "32 workers",
    "throughput_64_workers": "64 workers",
    "wall_100": "a run over 100 namespaces",
    "wall_1000": "over 1,000",
    "wall_10000": "over 10,000",
}


def write() -> None:
    """Bring the page up to the committed run."""
    PAGE.write_text(rendered(PAGE.read_text(), json.loads(RESULTS.read_text())))


def rendered(page: str, results: Mapping[str, Any]) -> str:
    """Return a page with the figures of these results between its marks."""
    return _BLOCK.sub(lambda found: f"{found[1]}{_BLOCKS[found[2]](results)}\n{found[3]}", page)


def _run(results: Mapping[str, Any]) -> str:
    machine, verdicts = results["machine"], [figure["verdict"] for figure in results["figures"]]
    met, missed = verdicts.count("met"), verdicts.count("missed")
    return (
        "The figures on this page are those of the run that is committed, `bench/results.json`:\n"
        f"{met} targets met, {missed} missed. It took {results['minutes']:.0f} minutes on {machine['cores']} cores "
        f"({machine['processor']}),\n"
        f"with Python {machine['python']} and {machine['api_server']}. The load before it was "
        f"{machine['load_before']:.1f}."
    )


def _targets(results: Mapping[str, Any]) -> str:
    figures = _by_name(results)
    lines = ["| | measured | target |", "|---|---|---|"]
    for name, title in TARGETS.items():
        figure = figures.get(name, {})
        target = (figure.get("target") or "").replace("<=", "≤ ").replace(">=", "≥ ").replace("==", "exactly ")
        missed = ", **missed**" if figure.get("verdict") == "missed" else ""
        lines.append(f"| {title} | {_value(figure)} | {target}{missed} |")
    return "\n".join(lines)


def _told(results: Mapping[str, Any]) -> str:
    figures = _by_name(results)
    lines = ["| told beside them | measured |", "|---|---|"]
    return "\n".join([*lines, *(f"| {title} | {_value(figures.get(name, {}))} |" for name, title in TOLD.items())])


_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "run": _run,
    "targets": _targets,
    "told": _told,
}


def _by_name(results: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {figure["name"]: figure for figure in results["figures"]}


def _value(figure: Mapping[str, Any]) -> str:
    """Return a figure with its unit, as a reader wants it."""
    value = figure.get("value")
    if value is None:
        return "not measured"
    number = f"{value:,.0f}" if value == int(value) or value >= 10 else f"{value:.2f}"
    return number if figure["unit"] == "ratio" else f"{number} {figure['unit']}"


if __name__ == "__main__":
    write()
