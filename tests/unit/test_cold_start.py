"""What a cold start loads: every module, class and expression of it is paid for each time the function starts anew."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compiler.compiled import compile_objects
from tests.support.objects import ACCOUNT, REGION

FUNCTIONS = Path(__file__).parents[2] / "functions"

# What a refresh of the shipped file of objects needs. Whatever else is needed sometimes is imported by who needs it.
MODULES = {
    *("audit_events", "aws", "border", "callers", "change_events", "config", "errors", "handlers", "handlers.refresh"),
    *("lifetimes", "records", "refresh", "request", "rounds", "tables", "telemetry", "variables", "watched"),
    *("wiring", "writing"),
    *("core", "core.answers", "core.aws_errors", "core.docker_auth", "core.docker_config", "core.document"),
    *("core.fields", "core.grammars", "core.identity", "core.names", "core.namespaces", "core.objects"),
    *("core.outcomes", "core.parsing", "core.planning", "core.redaction", "core.registries", "core.remedies"),
    *("core.reports", "core.resources", "core.rows", "core.sensitive", "core.urls"),
    *("kinds", "kinds.docker_registry", "kinds.kind"),
    *("kube", "kube.access", "kube.api", "kube.bearer", "kube.calls", "kube.namespaces", "kube.pace"),
    *("kube.transport", "kube.writer"),
    *("sources", "sources.ecr", "sources.source"),
}
PACKAGES = {
    *("aws_lambda_powertools", "boto3", "botocore", "dateutil", "jmespath", "pycurl", "s3transfer", "six"),
    *("typing_extensions", "urllib3"),
}

CODE = """
import json, re, sys
from dataclasses import is_dataclass
functions, environment, compiled = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
outside = set(sys.modules)
sys.path.insert(0, functions)
import upsert.handlers.refresh
from upsert import config, kinds, sources
from upsert.core.objects import Material
from upsert.core.sensitive import Sensitive

(one,) = config.config(environment, compiled).objects
login = Material({name: Sensitive(b"x") for name in ("server", "username", "password")})
kinds.build(one, {part.place: login for part in one.parts})
assert all(sources.TABLE[part.ref.source] for part in one.parts)

loaded = {name: module for name, module in sys.modules.items() if name.startswith("upsert.")}
names = {(name, called): value for name, module in loaded.items() for called, value in vars(module).items()}
print(json.dumps({
    "modules": [name.partition(".")[2] for name in loaded],
    "packages": [name for name in sys.modules if "." not in name and name not in outside],
    "dataclasses": [called for (name, called), value in names.items()
                    if isinstance(value, type) and is_dataclass(value) and value.__module__ == name],
    "expressions": [f"{name}.{called}" for (name, called), value in names.items() if isinstance(value, re.Pattern)],
}))
"""


@pytest.fixture(scope="module")
def started() -> Mapping[str, Any]:
    environment = {"CLUSTER_NAME": "test", "ACCOUNT_ID": ACCOUNT, "AWS_REGION": REGION}
    compiled = compile_objects((FUNCTIONS / "objects.yaml").read_bytes(), "objects.yaml")
    command = [sys.executable, "-I", "-B", "-c", CODE, str(FUNCTIONS), json.dumps(environment), compiled]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def test_a_refresh_of_the_shipped_file_loads_these_modules_and_no_other(started: Mapping[str, Any]) -> None:
    assert set(started["modules"]) == MODULES


def test_it_loads_what_talks_to_aws_and_to_the_cluster_and_no_other_package(started: Mapping[str, Any]) -> None:
    # botocore takes certifi where it is installed, which it is not in the layer.
    known = {*PACKAGES, *sys.stdlib_module_names, "upsert", "certifi", "__mp_main__"}
    assert set(started["packages"]) - known == set()
    assert set(started["packages"]) >= PACKAGES


def test_it_makes_no_dataclass(started: Mapping[str, Any]) -> None:
    assert started["dataclasses"] == []


def test_it_compiles_no_expression_before_it_is_used(started: Mapping[str, Any]) -> None:
    assert started["expressions"] == []
