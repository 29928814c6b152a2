"""Draws the results: python bench/plot.py results.json results.svg."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl  # type: ignore[import-not-found] # installed in a folder of its own

mpl.use("svg")
import matplotlib.pyplot as plt  # type: ignore[import-not-found]

_OURS, _OTHERS, _BEST = "#1f6f8b", "#b8c4c9", "#d98e04"
_SIZES = (100, 1000, 10_000)
_WORKERS = (1, 4, 8, 16, 32, 64)


def draw(results: dict[str, Any], path: Path) -> None:
    """Write the plot of the results as SVG; equal results give equal bytes."""
    values = {figure["name"]: figure["value"] for figure in results["figures"]}
    mpl.rcParams.update({"svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False})
    mpl.rcParams["axes.spines.right"] = False
    figure, axes = plt.subplots(4, 2, figsize=(10, 12), layout="constrained")
    _rates(axes[0][0], values)
    _workers(axes[0][1], values)
    _growth(axes[1][0], values)
    _cold_starts(axes[1][1], values)
    _own_time(axes[2][0], values)
    _trouble(axes[2][1], values)
    _side_by_side(axes[3][0], values)
    _eight_times(axes[3][1], values)
    machine = results["machine"]
    figure.supxlabel(
        f"{machine['cores']} cores of {machine['processor']}, shared by the API server ({machine['api_server']}), "
        "etcd and the client",
        fontsize=8,
        parse_math=False,
    )
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def _rates(axes: Any, values: dict[str, float]) -> None:
    bars = {
        "kubectl delete; create": values["rate_delete_create_loop"],
        "kubectl create | apply": values["rate_create_apply_loop"],
        "read, then replace": values["rate_read_then_replace"],
        "typed patch, one by one": values["rate_typed_patch"],
        "this function, 16 workers": values["throughput"],
        "wrk, 16 connections": values["throughput_wrk"],
    }
    colors = [*[_OTHERS] * 4, _OURS, _BEST]
    _bars(axes, bars, colors, "{:.0f}")
    axes.set_xscale("log")
    axes.set_title("Namespaces per second, 2,000 namespaces (log scale)")


def _workers(axes: Any, values: dict[str, float]) -> None:
    rates = [values[f"throughput_{workers}_workers"] for workers in _WORKERS]
    axes.plot(_WORKERS, rates, marker="o", color=_OURS)
    axes.axhline(values["throughput_wrk"], color=_BEST, linestyle="--")
    axes.annotate("wrk", (_WORKERS[0], values["throughput_wrk"]), color=_BEST, va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks(_WORKERS, [str(workers) for workers in _WORKERS])
    axes.set_ylim(bottom=0)
    axes.set_title("Namespaces per second by workers")


def _growth(axes: Any, values: dict[str, float]) -> None:
    axes.plot(_SIZES, [values[f"wall_{size}"] for size in _SIZES], marker="o", color=_OURS, label="wall clock, s")
    axes.plot(_SIZES, [values[f"cpu_{size}"] for size in _SIZES], marker="o", color=_OTHERS, label="own processor, s")
    for size in _SIZES:
        axes.annotate(
            f"{values[f'memory_peak_{size}']:.0f} MB", (size, values[f"wall_{size}"]), (0, 7),
            textcoords="offset points", ha="center",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(_SIZES, [f"{size:,}" for size in _SIZES])
    axes.margins(0.12, 0.18)
    axes.legend(frameon=False, loc="upper left")
    axes.set_title("Seconds and peak memory by namespaces")


def _cold_starts(axes: Any, values: dict[str, float]) -> None:
    bars = {
        "without bytecode": values["cold_start_without_bytecode"],
        "as shipped": values["cold_start"],
        "import boto3 alone": values["cold_start_boto3_alone"],
    }
    _bars(axes, bars, [_OTHERS, _OURS, _BEST], "{:.0f} ms")
    axes.set_title("Cold start to the first log line")


def _own_time(axes: Any, values: dict[str, float]) -> None:
    bars = {"this function": values["own_time"], "bare urllib3": values["own_time_bare_urllib3"]}
    _bars(axes, bars, [_OURS, _BEST], "{:.2f} ms")
    axes.set_title("Own processor time for a PATCH")


def _trouble(axes: Any, values: dict[str, float]) -> None:
    bars = {
        "last healthy namespace, no webhook": values["dead_webhook_last_healthy_without"],
        "the same, 100 of 500 behind a dead webhook": values["dead_webhook_last_healthy"],
        "whole run, with what hangs": values["dead_webhook_run"] / 10,
    }
    _bars(axes, bars, [_BEST, _OURS, _OTHERS], "{:.2f}")
    axes.set_title("A dead webhook, in its timeouts of 10 s")


def _side_by_side(axes: Any, values: dict[str, float]) -> None:
    seats = values["throttled_16_workers_seats"]
    bars = {
        "one object, 10,000 namespaces": values["many_objects_throughput_of_one"],
        "ten objects, 1,000 namespaces": values["many_objects_throughput"],
        f"{seats:.0f} workers, not throttled": values["throttled_16_workers_without"],
        f"16 workers, throttled to {seats:.0f} seats": values["throttled_16_workers"],
    }
    _bars(axes, bars, [_BEST, _OURS] * 2, "{:.0f}")
    axes.set_title("PATCHes per second, each pair in one run")


def _eight_times(axes: Any, values: dict[str, float]) -> None:
    bars = {
        "check of 3,200 hosts against 400": values["check_3200_vs_400_hosts"],
        "event of 10,000 names": values["event_of_names_8_times"],
        "batch of the audit log": values["event_of_audit_log_8_times"],
        "file of 1,000 objects": values["file_of_objects_8_times"],
        "the same, of one name": values["file_of_one_name_8_times"],
        "mebibyte of KEY=value": values["env_file_8_times"],
    }
    _bars(axes, bars, [_OURS] * len(bars), "{:.1f}")
    axes.axvline(8, color=_BEST, linestyle="--")
    axes.set_title("Times as long for 8 times as much")


def _bars(axes: Any, bars: dict[str, float], colors: list[str], form: str) -> None:
    drawn = axes.barh(list(bars), list(bars.values()), color=colors)
    axes.bar_label(drawn, labels=[form.format(value) for value in bars.values()], padding=3)
    axes.margins(x=0.15)
    axes.invert_yaxis()


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
