"""What the README says is so: it is short, its steps end well, and what it shows is what the functions write."""

import json
import re
from datetime import timedelta

from tests.operations import parameters
from tests.support.context import Context
from tests.support.objects import pull_object
from tests.support.refresher import EXPIRES_AT
from tests.support.template import ROOT, Stack, load
from tests.support.written import Written
from upsert.core.outcomes import Applied
from upsert.core.reports import RefreshReport
from upsert.records import Records
from upsert.telemetry import Telemetry

README = (ROOT / "README.md").read_text()
TEMPLATE = load()


def test_it_is_read_in_minutes() -> None:
    assert len(README.splitlines()) <= 130


def test_it_has_the_headings_that_people_search_for() -> None:
    headings = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert {"Why trust it", "See it", "Deploy", "Logs and metrics", "Uninstall and roll back"} <= set(headings)


def test_the_page_of_parameters_is_the_templates_own() -> None:
    assert parameters.PAGE.read_text() == parameters.page(), "make parameters"


def test_the_page_of_parameters_leaves_none_out() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", parameters.PAGE.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted([*TEMPLATE["Parameters"], *TEMPLATE["Outputs"]])


def test_its_steps_end_with_the_schedule_on_and_somebody_told() -> None:
    deployed = dict(
        override.split("=", 1)
        for command in re.findall(r"sam deploy --parameter-overrides (.*)", README)
        for override in command.split()
    )
    assert deployed.pop("ScheduleState") == "ENABLED"
    stack = Stack(**deployed)
    assert stack.of_type("AWS::Scheduler::Schedule")["RefreshSchedule"]["State"] == "ENABLED"
    assert stack.of_type("AWS::SNS::Subscription")["AlarmMail"]["Endpoint"] == deployed["AlarmEmail"]


def test_the_role_is_there_before_the_function_and_nothing_is_written_before_the_schedule_is_on() -> None:
    steps = [
        README.index("make rbac | kubectl apply -f -"),
        README.index("ScheduleState=DISABLED"),
        README.index('{"dry_run": true}'),
        README.index("events/emergency.json"),
        README.index("ScheduleState=ENABLED"),
    ]
    assert steps == sorted(steps)


def test_the_functions_that_it_invokes_are_the_templates() -> None:
    named = re.findall(r"sam remote invoke (\w+)", README)
    assert named
    assert set(named) <= set(TEMPLATE["Resources"])


def test_the_record_shown_has_the_fields_that_are_written(written: Written) -> None:
    with Telemetry(Context()) as telemetry:
        telemetry.configure(level="INFO", cluster="prod")
        records = Records(telemetry)
        records.outcome(
            Applied("secret/aws-ecr-token", "team-blue", "u-1", "213", "updated", ("old-cron-job",), 200, 13)
        )
        report = RefreshReport(is_whole=True, dry_run=False, applied=1, objects=1, expires_at=EXPIRES_AT)
        records.completed(report, timedelta(hours=3), [pull_object()])
    by_name = {record["message"]: record for record in written.records()}
    shown = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", README, re.DOTALL)]
    assert [record["message"] for record in shown] == ["object.applied"]
    assert [list(record) for record in shown] == [list(by_name[record["message"]]) for record in shown]
