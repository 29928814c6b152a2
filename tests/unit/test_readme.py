"""What the README says about parameters and records is what the template and the telemetry have."""

import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.support import template
from tests.support.refresher import EXPIRES_AT, settings
from upsert import telemetry
from upsert.core.outcomes import Applied
from upsert.refresh import Report

README = (Path(__file__).parents[2] / "README.md").read_text()
TEMPLATE = yaml.load(template.FILE.read_text(), template._Loader)


def test_the_table_of_parameters_is_the_templates_own() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", README, re.MULTILINE)
    assert listed == [
        (name, default_of(rules), " ".join(rules["Description"].split()))
        for group in TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        for name in group["Parameters"]
        if (rules := TEMPLATE["Parameters"][name])
    ]


def test_every_link_to_a_file_leads_somewhere() -> None:
    root = Path(__file__).parents[2]
    links = re.findall(r"\]\((?!https?://)([^)#]+)", README)
    assert links
    assert [link for link in links if not (root / link).exists()] == []


def test_the_records_shown_have_the_fields_that_the_telemetry_writes(capsys: pytest.CaptureFixture[str]) -> None:
    logging.Logger.manager.loggerDict.pop(telemetry.SERVICE, None)
    with telemetry.Telemetry(Invocation()) as running:
        running.configure(settings())
        running.outcome(Applied("team-blue", "u-1", "213", "updated", ("old-cron-job",), 200, 13))
        running.completed(REPORT)
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    shown = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", README, re.DOTALL)]
    assert [list(record) for record in shown] == [list(record) for record in written if "_aws" not in record]


@dataclass
class Invocation:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


REPORT = Report(
    applied=1,
    created=0,
    took_over=1,
    skipped=0,
    failures=(),
    token_expires_at=EXPIRES_AT,
    api_requests=3,
    duration_ms=20,
    every_namespace=True,
    dry_run=False,
)


def default_of(rules: dict[str, object]) -> str:
    if "Default" not in rules:
        return "(required)"
    return f"`{rules['Default']}`" if str(rules["Default"]) else "empty"
