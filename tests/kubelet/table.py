"""The table of docker configs with a kubelet's verdicts, tests/kubelet/verdicts.json."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.kubelet.configs import Case
from tests.support.kubelet import Groups, Login, Question, Verdict, ask

PATH = Path(__file__).with_name("verdicts.json")

type Row = tuple[Case, Verdict]


def make(cases: list[Case]) -> list[Row]:
    """Return the cases with the verdicts of the program."""
    return list(zip(cases, ask(Question(case.config, case.images) for case in cases), strict=True))


def read() -> list[Row]:
    """Return the table as it is checked in."""
    return [_row(row) for row in json.loads(PATH.read_text())]


def write(rows: list[Row]) -> None:
    """Write the table, one line for each case."""
    lines = [json.dumps(_written(*row), separators=(",", ":")) for row in rows]
    PATH.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _written(case: Case, verdict: Verdict) -> dict[str, Any]:
    try:
        config = {"config": case.config.decode()}
    except UnicodeDecodeError:
        config = {"base64": base64.b64encode(case.config).decode()}
    row = {"name": case.name, **config, "images": case.images}
    if verdict.error is not None:
        return {**row, "unreadable": verdict.error}
    pulls = [
        groups and [[(login.host, login.username, login.password) for login in group] for group in groups]
        for groups in verdict.pulls
    ]
    return {**row, "hosts": verdict.hosts, "pulls": pulls}


def _row(row: dict[str, Any]) -> Row:
    config = row["config"].encode() if "config" in row else base64.b64decode(row["base64"])
    pulls = (None if groups is None else _groups(groups) for groups in row.get("pulls", ()))
    verdict = Verdict(row.get("unreadable"), tuple(row.get("hosts", ())), tuple(pulls))
    return Case(row["name"], config, tuple(row["images"])), verdict


def _groups(groups: list[list[list[str]]]) -> Groups:
    return tuple(tuple(Login(*login) for login in group) for group in groups)
