"""A registry that is there twice in another spelling, as far as a file can tell."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from compiler.compiled import compile_objects
from tests.compiler.cases import of_registries
from upsert import sources
from upsert.core.objects import Material, Ref
from upsert.errors import InputError

ROLE = "arn:aws:iam::111122223333:role/pull"
HOST = "111122223333.dkr.ecr.eu-west-1.amazonaws.com"
WHOLE = '{account: "111122223333", region: eu-west-1}'


def problems(*registries: str) -> tuple[str, ...]:
    with pytest.raises(InputError) as refused:
        compile_objects(of_registries(f"[{', '.join(registries)}]").encode(), "objects.yaml")
    return refused.value.problems


def login(server: str) -> str:
    named = f"server: '{server}', " if server else ""
    return f"{{{named}username: ci, password: {{secret: apps/registry}}}}"


@pytest.mark.parametrize(
    ("first", "second", "host"),
    [
        (f"{{ecr: {WHOLE}}}", f"{{ecr: {{host: {HOST}}}}}", HOST),
        (f"{{ecr: {WHOLE}}}", f"{{ecr: {{host: '{HOST}:443'}}}}", HOST),
        (f"{{ecr: {WHOLE}}}", f'{{ecr: {{role_arn: "{ROLE}", region: eu-west-1}}}}', HOST),
        ("{ecr: {host: a.example.com}}", "{ecr: {host: 'a.example.com:443'}}", "a.example.com"),
        ("{ecr: {host: a.example.com}}", "{ecr: {host: a.example.com, region: eu-west-1}}", "a.example.com"),
        ("{ecr_public: {}}", "{ecr: {host: public.ecr.aws}}", "public.ecr.aws"),
        ("{ecr_public: {}}", f'{{ecr_public: {{role_arn: "{ROLE}"}}}}', "public.ecr.aws"),
        ("{ecr: {host: a.example.com}}", login("https://A.example.com/v2/"), "A.example.com"),
        (login("a.example.com"), "{ecr: {host: 'a.example.com:443'}}", "a.example.com"),
        (login("a.example.com/team"), login("a.example.com:443/team/"), "a.example.com/team"),
        (login(""), login("index.docker.io"), "index.docker.io"),
    ],
)
def test_a_registry_in_two_spellings_is_a_fault(first: str, second: str, host: str) -> None:
    assert problems(first, "{ecr: {region: eu-north-1}}", second) == (
        f"objects.yaml:3: objects[0].registries[2]: is {host}, and so is registries[0]; expected each registry once",
    )


def test_the_functions_own_registry_in_another_role_is_a_fault() -> None:
    (told,) = problems(f'{{ecr: {{role_arn: "{ROLE}"}}}}', '{ecr: {role_arn: "arn:aws:iam::111122223333:role/other"}}')
    assert "is 111122223333.dkr.ecr.THIS-REGION.amazonaws.com, and so is registries[0]" in told


class PretendedAws:
    """Answers with a token, for an account and region with the names that the compiler has for them."""

    account = "THIS-ACCOUNT"
    region = "THIS-REGION"

    def call(self, *_: str, **__: object) -> Mapping[str, Any]:
        granted = {"authorizationToken": "QVdTOng=", "expiresAt": datetime.now(UTC) + timedelta(hours=12)}
        return {"authorizationData": [granted]}


@pytest.mark.parametrize(
    "ref",
    [
        Ref("ecr"),
        Ref("ecr", (("region", "cn-north-1"),)),
        Ref("ecr", (("account", "444455556666"), ("role_arn", ROLE))),
        Ref("ecr", (("role_arn", ROLE),)),
        Ref("ecr", (("host", "a.example.com:8443"), ("region", "eu-west-1"))),
        Ref("ecr_public"),
        Ref("ecr_public", (("role_arn", ROLE),)),
    ],
)
def test_the_host_is_the_one_that_the_source_gives(ref: Ref) -> None:
    source = sources.TABLE[ref.source]
    material = source.read([ref], PretendedAws())[ref]
    assert isinstance(material, Material)
    assert material.data["server"].reveal().decode() == source.host(ref)
