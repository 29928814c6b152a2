"""The file of objects that docs/objects.md shows, deployed: its sources, 50 namespaces, and what each is to hold.

It is played in a world that is up and has the stack deployed with `READABLE_ARNS`.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from compiler import compiled, files, rbac
from tests.support import example
from tests.support.certificates import make_serving_certificate
from tests.support.ministack import ACCOUNT, REGION
from tests.support.world import World
from upsert.core.resources import WRITTEN

READABLE_ARNS = ",".join(
    (
        f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:apps/*",
        f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:tls/*",
        f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/apps/*",
    )
)
NAMESPACES = {
    f"team-{number:02}": {
        **({"proxy": "yes"} if number <= 10 else {}),
        **({"ingress": "public"} if 10 < number <= 30 else {}),
    }
    for number in range(1, 51)
}
LOG_TOKEN = "/apps/api/log-token"
READS = ("BatchGetSecretValue", "GetSecretValue", "GetParameters", "GetParameter")
PLURALS = {resource.kind.lower(): resource.plural for resource in WRITTEN}

_POLL_SECONDS = 0.02
_SETTLED_SECONDS = 120.0


@dataclass
class Values:
    """What the sources hold: texts, or bytes, by the names of secrets."""

    secrets: dict[str, str | bytes] = field(default_factory=dict)
    parameter: str = "token-of-the-log-5f0d2c41"

    @classmethod
    def first(cls) -> "Values":
        """Return values that are all different, with what the kinds ask for."""
        pair = make_serving_certificate()
        auth = base64.b64encode(b"ci:registry-password-93ab12").decode()
        key = (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nZGVwbG95LWtleS1vZi10aGUtdGVhbQ==\n-----END OPENSSH PRIVATE KEY-----\n"
        )
        return cls(
            {
                "apps/registries": json.dumps({"auths": {"quay.io": {"auth": auth}}}),
                "apps/api": json.dumps({"db_password": "pässword-1 <&> 7c1e", "db_host": "db.internal"}),
                "apps/keystore": b"\xfe\xed\x00keystore\xff",
                "apps/proxy": json.dumps({"username": "squid-user-17", "password": "squid-password-8be0"}),
                "apps/deploy-key": json.dumps({"private_key": base64.b64encode(key.encode()).decode()}),
                "tls/wildcard": json.dumps({"crt": pair.certificate_pem, "key": pair.key_pem}),
            }
        )

    def member(self, secret: str, name: str) -> str:
        """Return a member of the JSON text of a secret."""
        text = self.secrets[secret]
        return str(json.loads(text)[name])


class Story:
    """The namespaces and sources are there, and the file is deployed with its roles, while `played` lasts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plane = world.control_plane
        self.values = Values.first()
        self.changes = 0
        self._secrets = world.aws.client("secretsmanager")

    @contextmanager
    def played(self) -> Iterator["Story"]:
        """Set everything up, and take it away again."""
        aws = self.world.aws
        for name, labels in NAMESPACES.items():
            self.plane.create_namespace(name, labels)
        for name, value in self.values.secrets.items():
            self._secrets.create_secret(Name=name, **_field(value))
        aws.client("ssm").put_parameter(Name=LOG_TOKEN, Value=self.values.parameter, Type="SecureString")
        source = example.write(self.world.folder / "example")
        self.plane.apply_roles(
            rbac.roles(compiled.load_objects(source.read_bytes(), source.name, files.Beside(source.parent)))
        )
        try:
            with self.world.file(source):
                yield self
        finally:
            aws.client("ssm").delete_parameter(Name=LOG_TOKEN)
            for name in self.values.secrets:
                self._secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
            for name in NAMESPACES:
                self.plane.remove_namespace(name)

    def put(self, secret: str, value: str | bytes) -> None:
        """Give a secret another value, as whoever rotates it does."""
        self.changes += 1
        self.values.secrets[secret] = value
        self._secrets.put_secret_value(SecretId=secret, **_field(value))

    def take_back(self, secret: str) -> None:
        """Make the previous version of a secret the current one again."""
        versions = self._secrets.describe_secret(SecretId=secret)["VersionIdsToStages"]
        by_stage = {stage: version for version, stages in versions.items() for stage in stages}
        self.changes += 1
        self._secrets.update_secret_version_stage(
            SecretId=secret,
            VersionStage="AWSCURRENT",
            MoveToVersionId=by_stage["AWSPREVIOUS"],
            RemoveFromVersionId=by_stage["AWSCURRENT"],
        )

    @contextmanager
    def settled(self) -> Iterator[None]:
        """When the block ends, wait until each change made in it has had the run that it wakes.

        The emulator ends the runs under way when a function is changed, and a test must not see those of another.
        """
        runs, changes, invoked = len(self.world.runs()), self.changes, self.world.invoked
        yield
        wanted = runs + self.changes - changes + self.world.invoked - invoked
        deadline = time.monotonic() + _SETTLED_SECONDS
        while (ended := len(self.world.runs())) < wanted:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{wanted - ended} runs of changed secrets had not ended in {_SETTLED_SECONDS:g} s")
            time.sleep(0.2)

    def everywhere(self, title: str) -> dict[str, dict[str, Any]]:
        """Return the object of that title in each namespace where it is."""
        kind, _, name = title.partition("/")
        path = f"/api/v1/{PLURALS[kind]}?fieldSelector=metadata.name%3D{name}"
        return {item["metadata"]["namespace"]: item for item in self.plane.request("GET", path)["items"]}

    def proofs(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return uid and resourceVersion by title and namespace."""
        return {
            (title, namespace): (found["metadata"]["uid"], found["metadata"]["resourceVersion"])
            for title in example.titles()
            for namespace, found in self.everywhere(title).items()
        }

    def goes_to(self, title: str) -> set[str]:
        """Return the namespaces that the object of that title goes to, by the words of the page."""
        teams = {name for name in self._names() if name.startswith("team-")}
        match title:
            case "secret/aws-ecr-token":
                return {name for name in self._names() if not name.startswith("kube-") and name != "default"}
            case "secret/proxy-login":
                return {name for name, labels in NAMESPACES.items() if labels.get("proxy") == "yes"}
            case "secret/wildcard-tls":
                return {name for name, labels in NAMESPACES.items() if labels.get("ingress") == "public"}
            case "secret/deploy-key":
                return {"team-01", "team-02"}
            case _:
                return teams

    def wait_until(self, title: str, is_so: Callable[[Mapping[str, Any]], bool], *, timeout: float) -> float:
        """Return after how many seconds the object is so in all of its namespaces. Raises `TimeoutError`."""
        started, wanted = time.monotonic(), self.goes_to(title)
        while True:
            now = self.everywhere(title)
            if now.keys() >= wanted and all(is_so(now[name]) for name in wanted):
                return time.monotonic() - started
            if time.monotonic() - started > timeout:
                raise TimeoutError(f"{title} was not as expected in all of {len(wanted)} namespaces in {timeout:g} s")
            time.sleep(_POLL_SECONDS)

    def wait_a_second(self) -> None:
        """Wait until the API server's clock, which stamps changes in whole seconds, has left the present one behind."""
        time.sleep(1.1)

    def _names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.plane.request("GET", "/api/v1/namespaces")["items"]]


def value_of(found: Mapping[str, Any], key: str) -> bytes:
    """Return the value of a key of a Secret."""
    return base64.b64decode(found["data"][key])


def _field(value: str | bytes) -> dict[str, Any]:
    return {"SecretString": value} if isinstance(value, str) else {"SecretBinary": value}
