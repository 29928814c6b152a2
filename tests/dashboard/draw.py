"""Draws the widgets that come as JSON on standard input into the file that is named."""

import json
import sys
from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl  # type: ignore[import-not-found] # installed in a folder of its own

mpl.use("Agg")

from matplotlib import dates
from matplotlib import pyplot as plt

_COLUMNS, _INCHES_WIDE, _INCHES_PER_ROW = 24, 14.0, 0.42
_TEXT, _QUIET, _LINE = "#16191f", "#687078", "#d5dbdb"
_STATES = {"OK": "#1d8102", "ALARM": "#d13212", "INSUFFICIENT_DATA": "#879596"}
_DEFAULT_COLORS = ("#1f77b4", "#ff7f0e")
_WIDEST_CELL = 46
_CAPTION = (
    "Drawn from the log records and metrics of a local run on a real API server; "
    "the times between the runs are spread to the schedule of three hours."
)


def main(file: str) -> None:
    """Draw everything."""
    widgets = json.load(sys.stdin)
    rows = max(widget["y"] + widget["height"] for widget in widgets) + 1
    plt.rcParams.update({"font.size": 8, "text.color": _TEXT, "axes.edgecolor": _LINE, "font.family": "DejaVu Sans"})
    figure = plt.figure(figsize=(_INCHES_WIDE, rows * _INCHES_PER_ROW), facecolor="#f2f3f3")
    for widget in widgets:
        _panel(figure, widget, rows)
    figure.text(0.008, 0.35 / rows, _CAPTION, color=_QUIET, fontsize=8, va="center")
    figure.savefig(file, dpi=86)


def _panel(figure: Any, widget: dict[str, Any], rows: int) -> None:
    gap = 0.12
    left, bottom = (widget["x"] + gap) / _COLUMNS, 1 - (widget["y"] + widget["height"] - gap) / rows
    width, height = (widget["width"] - 2 * gap) / _COLUMNS, (widget["height"] - 2 * gap) / rows
    box = figure.add_axes((left, bottom, width, height), facecolor="white")
    box.set(xticks=[], yticks=[], xlim=(0, 1), ylim=(0, 1))
    head = 0.62 / (widget["height"] - 2 * gap)
    box.text(0.008 * 24 / widget["width"], 1 - head / 2, widget["title"], weight="bold", va="center")
    match widget["type"]:
        case "alarm":
            _alarms(box, widget["states"], 1 - head)
        case "log":
            _table(box, widget, 1 - head)
        case _:
            inner = (left + 0.036, bottom + height * 0.16, width - 0.046, height * (0.80 - head))
            _plot(figure.add_axes(inner), widget["series"])


def _alarms(box: Any, states: list[tuple[str, str]], top: float) -> None:
    for index, (name, state) in enumerate(states):
        x = 0.008 + index * 0.985 / len(states)
        box.scatter([x + 0.008], [top * 0.55], s=42, color=_STATES[state], marker="s")
        box.text(x + 0.015, top * 0.55, name.removeprefix("eks-upsert-"), va="center", fontsize=7)


def _table(box: Any, widget: dict[str, Any], top: float) -> None:
    if not widget["rows"]:
        box.text(0.02, top / 2, "nothing", color=_QUIET, va="center")
        return
    header = list(widget["rows"][0])
    cells = [header, *([_cell(value) for value in row.values()] for row in widget["rows"])]
    widths = [max(len(line[index]) for line in cells) + 2 for index in range(len(header))]
    step = 0.56 / (widget["height"] - 0.24)
    for number, line in enumerate(cells[: int(top / step)]):
        y = top - (number + 0.4) * step
        x = 0.008 * 24 / widget["width"]
        for text, size in zip(line, widths, strict=True):
            box.text(x, y, text, va="center", fontsize=7, color=_TEXT if number else _QUIET)
            x += 0.984 * size / sum(widths)


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 1]}…"


def _plot(axes: Any, series: list[dict[str, Any]]) -> None:
    for index, one in enumerate(series):
        times = [datetime.fromtimestamp(at, UTC) for at, _ in one["points"]]
        values = [value for _, value in one["points"]]
        color = one["color"] or _DEFAULT_COLORS[index]
        axes.plot(times, values, marker="o", markersize=3, linewidth=1.2, color=color, label=one["label"])
    lowest = min(value for one in series for _, value in one["points"])
    if lowest < 0:
        axes.axhline(0, color=_STATES["ALARM"], linewidth=0.8, linestyle="--")
    else:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(dates.DateFormatter("%d %b %H:%M"))
    axes.xaxis.set_major_locator(dates.HourLocator(byhour=(0, 12)))
    axes.grid(color=_LINE, linewidth=0.5)
    axes.tick_params(labelsize=7, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="upper right", fontsize=7, frameon=False, ncols=5, bbox_to_anchor=(1.0, 1.2), borderaxespad=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
