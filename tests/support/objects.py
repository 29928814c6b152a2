"""Objects as tests need them: as values, as entries of the file, and compiled beside a function."""

import json
from collections.abc import Mapping, Sequence
from copy import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from compiler import rbac
from compiler.compiled import compile_objects, load_objects
from compiler.files import Beside
from upsert.config import COMPILED, Config
from upsert.core.objects import Object, OnConflict, Part, Ref, Scope, Target

SECRET = "aws-ecr-token"
ACCOUNT = "123456789012"
REGION = "eu-central-1"
HOST = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com"
# Where entries for other registries are kept.
ARN = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:registries-AbCdEf"

# What entries name as files lies there.
FOLDER = Beside(Path(__file__).parents[1] / "data" / "objects")
_NAME = "objects.yaml"


def pull_object(
    *,
    name: str = SECRET,
    include: Sequence[str] = ("*",),
    exclude: Sequence[str] = (),
    selector: str = "",
    kept: bool = False,
    **changes: Any,
) -> Object:
    """Return the shipped object as the function knows it, with changes; `kept` ones come from `ARN`."""
    others = (Part("registries[1].auths", Ref("secret", (("secret", ARN),))),) if kept else ()
    one = Object(
        name,
        "docker-registry",
        (Part("registries[0]", Ref("ecr")), *others),
        Scope(tuple(include), tuple(exclude), selector),
        on_conflict=OnConflict.TAKE_OVER,
    )
    return replace(one, **changes)


def config(*objects: Object, **changes: Any) -> Config:
    """Return the configuration of a deployment for one cluster, with changes."""
    known = Config(
        own=Target("test"),
        targets=(Target("test"),),
        objects=objects or (pull_object(),),
        account=ACCOUNT,
        region=REGION,
        schedule=timedelta(hours=3),
        log_level="INFO",
    )
    return replace(known, **changes)


def entry(*, name: str = SECRET, kept: bool = False, **changes: Any) -> dict[str, Any]:
    """Return the shipped entry of the file of objects, with fields changed or added.

    `include`, `exclude` and `selector` are its namespaces'; with `kept`, other registries come from `ARN`.
    """
    scope = {key: changes.pop(key) for key in ("include", "exclude", "selector") if key in changes}
    others = [{"auths": {"secret": ARN}}] if kept else []
    return {
        "name": name,
        "type": "docker-registry",
        "registries": [{"ecr": {}}, *others],
        "namespaces": {"include": ["*"], **scope},
        "on_conflict": "take-over",
        **changes,
    }


def manifest(name: str, *include: str, **changes: Any) -> dict[str, Any]:
    """Return the entry of a manifest of the folder `baseline`, which goes everywhere unless namespaces are named."""
    file = f"baseline/{name}.yaml"
    return {"manifest": {"file": file}, "namespaces": {"include": list(include) or ["*"]}, **changes}


def written(*entries: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = ()) -> bytes:
    """Return the file of these entries, or of the shipped one, as a person writes it."""
    return _file(entries, clusters)


def compiled(*entries: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = ()) -> str:
    """Return the compiled file of these entries, or of the shipped one."""
    return compile_objects(_file(entries, clusters), _NAME, FOLDER)


def roles(*entries: Mapping[str, Any], is_adopter: bool = False) -> str:
    """Return what `make rbac` prints for a file of these entries, or for the shipped one."""
    return rbac.roles(load_objects(_file(entries, ()), _NAME, FOLDER), is_adopter=is_adopter)


def _file(entries: Sequence[Mapping[str, Any]], clusters: Sequence[Mapping[str, str]]) -> bytes:
    document = {"version": 1, "objects": [dict(one) for one in entries] or [entry()]}
    if clusters:
        document["clusters"] = [dict(cluster) for cluster in clusters]
    return yaml.safe_dump(document).encode()


def install(folder: Path, *entries: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = ()) -> dict[str, str]:
    """Write the compiled file into `folder` and return the environment of a function that finds it there."""
    text = compiled(*entries, clusters=clusters)
    (folder / COMPILED).write_text(text)
    first = (json.loads(text)["clusters"] or [{"name": "test"}])[0]["name"]
    return {
        "LAMBDA_TASK_ROOT": str(folder),
        "CLUSTER_NAME": first,
        "FLEET": "true" if clusters else "false",
        "ACCOUNT_ID": ACCOUNT,
        "AWS_REGION": REGION,
    }
