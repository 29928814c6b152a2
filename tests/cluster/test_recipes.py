"""The recipes of docs/objects.md: what the command creates and what the entry beside it writes are the same object."""

import base64
import json
import os
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from compiler import compiled, rbac
from compiler.files import Beside
from tests.support import assets
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.example import PAGE
from tests.support.refresher import run, writer
from tests.support.sam import ROOT
from upsert import kinds, sources
from upsert.core.objects import Material, Object, Ref
from upsert.errors import SourceFailed

_SECTION = re.search(r"^## Recipes\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
_RECIPE = re.compile(r"```sh\n(kubectl create .*?)```\n\n```yaml\n(.*?)```", re.DOTALL)
RECIPES = _RECIPE.findall(_SECTION[1] if _SECTION else "")

PAIR = make_serving_certificate()
SSH_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nZGVwbG95\n-----END OPENSSH PRIVATE KEY-----\n"
FILES = {
    "config/ca.crt": PAIR.ca_pem.encode(),
    "config/mailer.env": b"SMTP_USER=mailer\nSMTP_PASSWORD=mailer-password\n",
    "config/key.bin": b"\x00\x01\xfe\xff",
    "config/tls.crt": PAIR.certificate_pem.encode(),
    "config/tls.key": PAIR.key_pem.encode(),
    "config/id_ed25519": SSH_KEY.encode(),
    "config/logo.png": b"\x89PNG\r\n\x1a\n\x00",
    "config/defaults.env": b'# defaults\nREGION=eu-central-1\r\nGREETING="hello"\n',
}
SECRETS = {
    "apps/api": json.dumps({"db_user": "api"}),
    "apps/ca": PAIR.ca_pem,
    "apps/mailer": json.dumps({"SMTP_USER": "mailer", "SMTP_PASSWORD": "mailer-password"}),
    "apps/partner": "registry-password",
    "tls/wildcard": json.dumps({"crt": PAIR.certificate_pem, "key": PAIR.key_pem}),
    "apps/proxy": json.dumps({"username": "squid", "password": "proxy-password"}),
    "apps/deploy-key": SSH_KEY,
}
PARAMETERS = {"/apps/signing-key": base64.b64encode(FILES["config/key.bin"]).decode()}


@dataclass(frozen=True)
class Kept:
    """AWS, as far as these sources ask it; the contract tests hold its answers to the emulator's."""

    account: str = "123456789012"
    region: str = "eu-central-1"

    def call(self, service: str, operation: str, **parameters: Any) -> Mapping[str, Any]:
        now = datetime.now(UTC)
        match service, operation:
            case "secretsmanager", "batch_get_secret_value":
                return {
                    "SecretValues": [
                        {"Name": name, "ARN": f"arn:{name}-AbCdEf", "SecretString": SECRETS[name], "CreatedDate": now}
                        for name in parameters["SecretIdList"]
                    ]
                }
            case "ssm", "get_parameters":
                return {
                    "Parameters": [
                        {"Name": name, "Value": PARAMETERS[name], "LastModifiedDate": now}
                        for name in parameters["Names"]
                    ]
                }
        raise AssertionError(f"{service} {operation} is not what a recipe needs")


def read(refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
    return sources.read(refs, Kept())


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    names = ("by-kubectl", "apps")
    for name in names:
        control_plane.create_namespace(name)
    yield control_plane
    control_plane.apply_roles((ROOT / "rbac" / "refresher.yaml").read_text())
    for name in names:
        control_plane.remove_namespace(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    (tmp_path / "baseline").mkdir()
    return tmp_path


def shell(plane: ControlPlane, folder: Path, command: str) -> None:
    """Run a command of the page in the folder, against the control plane, in the namespace for what kubectl makes."""
    config = yaml.safe_load(plane.kubeconfig(plane.token_of("admin")).read_text())
    config["contexts"][0]["context"]["namespace"] = "by-kubectl"
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    environment = {
        **os.environ,
        "PATH": f"{assets.locate()}:{os.environ['PATH']}",
        "KUBECONFIG": str(folder / "kubeconfig"),
        "HOME": str(folder),
    }
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, check=True, timeout=60)


def object_of(plane: ControlPlane, folder: Path, entry: str) -> Object:
    """Return the object that the build makes of the entry, once its roles are applied."""
    text = yaml.safe_dump({"version": 1, "objects": yaml.safe_load(entry)})
    found = compiled.load_objects(text.encode(), "objects.yaml", Beside(folder))
    plane.apply_roles(rbac.roles(found))
    (one,) = found.objects
    return one


def content(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is in an object, without its name and its history."""
    return {key: value for key, value in found.items() if key not in ("metadata", "status", "kind", "apiVersion")}


def test_the_page_has_a_recipe_for_every_kind() -> None:
    assert len(RECIPES) >= 10
    commands = " ".join(command for command, _ in RECIPES)
    for kind in ("generic", "docker-registry", "tls", "configmap", "quota", "poddisruptionbudget"):
        assert f"kubectl create {kind}" in commands or f"kubectl create secret {kind}" in commands


@pytest.mark.parametrize(("command", "entry"), RECIPES, ids=[command.split("\n")[0][15:55] for command, _ in RECIPES])
def test_the_entry_writes_what_the_command_creates(plane: ControlPlane, folder: Path, command: str, entry: str) -> None:
    shell(plane, folder, command)
    if "> baseline/" in command:
        shell(plane, folder, f"kubectl apply -f {command.rpartition('> ')[2].strip()}")
    one = object_of(plane, folder, entry)
    done = run(writer(plane), read({part.ref for part in one.parts}), one)
    assert not done.report.failures, done.report.failures
    resource = kinds.of(one).resource
    mine, theirs = (plane.request("GET", resource.path(space, one.name)) for space in ("apps", "by-kubectl"))
    assert content(mine) == content(theirs)
    assert content(mine)
