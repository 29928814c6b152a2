"""The built artifact under AWS's own Lambda runtime."""

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support import sam
from tests.support.objects import ACCOUNT, entry, written
from tests.support.ports import reserved_port
from tests.support.rie import Artifact, Runtime
from upsert.config import COMPILED

EVENTS = Path(__file__).parents[2] / "events"
ENVIRONMENT = {
    "CLUSTER_NAME": "demo",
    "FLEET": "false",
    "ACCOUNT_ID": ACCOUNT,
    "SCHEDULE": "rate(3 hours)",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
# What the cluster in the shipped events is in.
FLEET = [{"name": "demo"}, {"name": "team-blue"}]
OF_A_FLEET = ("clusters-for.json", "one-cluster.json", "one-of-fleet.json", "summary-of.json")
ANSWERED_AT_ONCE = {"clusters-for.json": ["demo", "team-blue"]}
# What the answer counts of those for which nothing is asked: sources that are in no object, and runs that are over.
COUNTED_AT_ONCE = {
    "secret-changed.json": {"applied": 0, "api_requests": 0},
    "parameter-changed.json": {"applied": 0, "api_requests": 0},
    "summary-of.json": {"clusters": 3},
}
COLD_STARTS = 3


def event(name: str) -> Any:
    return json.loads((EVENTS / name).read_text())


def test_wrong_settings_come_back_as_their_own_error_type_with_every_field_named(artifact: Artifact) -> None:
    wrong = {"CLUSTER_NAME": "no cluster", "SCHEDULE": "often"}
    with Runtime(artifact, environment=ENVIRONMENT | wrong) as runtime:
        answer = runtime.invoke(event("emergency.json")).payload
    assert answer["errorType"] == "InputError"
    assert "CLUSTER_NAME" in answer["errorMessage"]
    assert "SCHEDULE" in answer["errorMessage"]


def test_a_function_without_its_file_of_objects_says_so(artifact: Artifact, tmp_path: Path) -> None:
    bare = Artifact(tmp_path / "function", artifact.layer)
    shutil.copytree(artifact.function, bare.function, ignore=shutil.ignore_patterns(COMPILED))
    with Runtime(bare, environment=ENVIRONMENT) as runtime:
        answer = runtime.invoke(event("emergency.json")).payload
    assert answer["errorType"] == "InputError"
    assert answer["errorMessage"] == "objects.json: is not beside the function; build it with `sam build`"


def test_a_wrong_event_comes_back_as_an_error_and_the_next_invocation_is_served(artifact: Artifact) -> None:
    with Runtime(artifact, environment=ENVIRONMENT) as runtime:
        for key in ("namespace", "dryrun"):
            answer = runtime.invoke({key: True}).payload
            assert answer["errorType"] == "InputError"
            assert key in answer["errorMessage"]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """The built template with a file of objects that the shipped events fit, for one cluster and for a fleet."""
    folder = tmp_path_factory.mktemp("with-objects")
    kept = entry(kept=True)
    return {
        False: sam.with_objects(written(kept), folder / "one"),
        True: sam.with_objects(written(kept, clusters=FLEET), folder / "fleet"),
    }


@pytest.mark.parametrize("name", [path.name for path in sorted(EVENTS.glob("*.json"))])
def test_every_shipped_event_gets_as_far_as_asking_aws(templates: dict[bool, Path], name: str) -> None:
    is_fleet = name in OF_A_FLEET
    function, handler = ("AdoptFunction", "adopt") if name.startswith("adopt-") else ("RefreshFunction", "refresh")
    artifact = Artifact.beside(templates[is_fleet], function)
    with reserved_port() as nobody_listens:
        environment = ENVIRONMENT | {
            "FLEET": str(is_fleet).lower(),
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{nobody_listens}",
        }
        with Runtime(artifact, environment=environment, handler=f"upsert.handlers.{handler}.handler") as runtime:
            answer = runtime.invoke(event(name)).payload
    if name in ANSWERED_AT_ONCE:
        assert answer == ANSWERED_AT_ONCE[name]
    elif name in COUNTED_AT_ONCE:
        assert {key: answer[key] for key in COUNTED_AT_ONCE[name]} == COUNTED_AT_ONCE[name]
    else:
        assert "EndpointConnectionError" in answer["errorMessage"]


def test_the_log_holds_json_records_and_the_error_of_the_runtime(artifact: Artifact) -> None:
    with Runtime(artifact) as runtime:
        runtime.invoke({})
        lines = runtime.log.splitlines()
    (record,) = [json.loads(line) for line in lines if line.startswith("{")]
    assert record["message"] == "refresh.stopped"
    assert record["error"] == "InputError"
    assert [line for line in lines if line.startswith("[ERROR] InputError: ")]


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
