"""Brings a case through the compiler, the sources and the kinds, to what is applied."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from compiler.compiled import compile_objects
from compiler.files import Beside
from tests.parity.cases import Case
from tests.parity.sides import Refused, Side, made, write
from upsert import config, kinds, sources
from upsert.core import document
from upsert.core.objects import BadMaterial, Material
from upsert.errors import InputError, SourceFailed

_ENVIRONMENT = {"CLUSTER_NAME": "test", "ACCOUNT_ID": "111122223333", "AWS_REGION": "eu-central-1"}


def by_us(case: Case) -> Side:
    """Return what is applied of a case, from the file of objects on."""
    # With each character that is no letter as an escape: a file may hold it so, whatever YAML makes of it by itself.
    text = yaml.safe_dump({"version": 1, "objects": [case.entry]}, default_style='"').replace('!!int "1"', "1").encode()
    with TemporaryDirectory(prefix="parity-") as name:
        folder = Path(name)
        write(case, folder)
        try:
            compiled = compile_objects(text, "objects.yaml", Beside(folder))
        except InputError as wrong:
            return Refused(str(wrong))
    (one,) = config.config(_ENVIRONMENT, json.loads(compiled)).objects
    readings = sources.read(dict.fromkeys(part.ref for part in one.parts), PretendedAws(case.secrets))
    materials: dict[str, Material] = {}
    for part in one.parts:
        reading = readings[part.ref]
        if isinstance(reading, SourceFailed):
            return Refused(str(reading))
        materials[part.place] = reading
    try:
        return made(json.loads(document.desired(kinds.build(one, materials)).reveal()))
    except BadMaterial as wrong:
        return Refused(str(wrong))


@dataclass(frozen=True, slots=True)
class PretendedAws:
    """A Secrets Manager that holds these values: as text if they are one, else as bytes."""

    secrets: Mapping[str, bytes]
    account: str = "111122223333"
    region: str = "eu-central-1"

    def call(self, service: str, operation: str, **parameters: object) -> Mapping[str, Any]:
        assert (service, operation) == ("secretsmanager", "batch_get_secret_value")
        names = parameters["SecretIdList"]
        assert isinstance(names, list)
        return {"SecretValues": [{"Name": name, "ARN": name, **self._value(name)} for name in names]}

    def _value(self, name: str) -> dict[str, str | bytes]:
        value = self.secrets[name]
        try:
            return {"SecretString": value.decode()}
        except UnicodeDecodeError:
            return {"SecretBinary": value}
