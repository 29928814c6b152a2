"""The built artifact under AWS's own Lambda runtime."""

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support.ports import reserved_port
from tests.support.rie import Artifact, Runtime

EVENTS = Path(__file__).parents[2] / "events"
ENVIRONMENT = {
    "CLUSTER_NAME": "demo",
    "SECRET_NAME": "aws-ecr-token",
    "REGISTRIES": '[{"account": "123456789012", "region": "eu-central-1"}]',
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
COLD_STARTS = 3


def event(name: str) -> Any:
    return json.loads((EVENTS / name).read_text())


def test_wrong_settings_come_back_as_their_own_error_type_with_every_field_named(artifact: Artifact) -> None:
    wrong = {"CLUSTER_NAME": "no cluster", "CONCURRENCY": "many"}
    with Runtime(artifact, environment=ENVIRONMENT | wrong) as runtime:
        answer = runtime.invoke(event("emergency.json")).payload
    assert answer["errorType"] == "SettingsError"
    assert "CLUSTER_NAME" in answer["errorMessage"]
    assert "CONCURRENCY" in answer["errorMessage"]


def test_a_wrong_event_comes_back_as_an_error_and_the_next_invocation_is_served(artifact: Artifact) -> None:
    with Runtime(artifact, environment=ENVIRONMENT) as runtime:
        for key in ("namespace", "dryrun"):
            answer = runtime.invoke({key: True}).payload
            assert answer["errorType"] == "SettingsError"
            assert key in answer["errorMessage"]


@pytest.mark.parametrize("name", [path.name for path in sorted(EVENTS.glob("*.json"))])
def test_every_shipped_event_gets_as_far_as_asking_aws(artifact: Artifact, name: str) -> None:
    with reserved_port() as nobody_listens:
        environment = ENVIRONMENT | {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{nobody_listens}",
            "EXTRA_REGISTRIES_SECRET": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:registries-AbCdEf",
        }
        function = "adopt" if name.startswith("adopt-") else "refresh"
        with Runtime(artifact, environment=environment, handler=f"upsert.handlers.{function}.handler") as runtime:
            answer = runtime.invoke(event(name)).payload
    assert "EndpointConnectionError" in answer["errorMessage"]


def test_the_log_holds_json_records_and_the_error_of_the_runtime(artifact: Artifact) -> None:
    with Runtime(artifact) as runtime:
        runtime.invoke({})
        lines = runtime.log.splitlines()
    (record,) = [json.loads(line) for line in lines if line.startswith("{")]
    assert record["message"] == "refresh.stopped"
    assert record["error"] == "SettingsError"
    assert [line for line in lines if line.startswith("[ERROR] SettingsError: ")]


def test_shipped_bytecode_shortens_the_cold_start(
    artifact: Artifact, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = Artifact(artifact.function, tmp_path / "python")
    shutil.copytree(artifact.layer, bare.layer, ignore=shutil.ignore_patterns("__pycache__"))
    with_bytecode, without = (
        median(cold_start_ms(candidate) for _ in range(COLD_STARTS)) for candidate in (artifact, bare)
    )
    with capsys.disabled():
        print(f"\ncold start (init): {with_bytecode:.0f} ms with the shipped bytecode, {without:.0f} ms without")
    assert with_bytecode < without


def cold_start_ms(artifact: Artifact) -> float:
    with Runtime(artifact) as runtime:
        runtime.invoke({})
        return runtime.init_duration_ms
