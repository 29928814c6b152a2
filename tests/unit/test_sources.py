"""Sources: their fields in the file, and what they give: each is read once, and one that fails costs no other."""

from collections.abc import Iterator
from threading import Barrier
from typing import Any

import pytest

from compiler.files import NOWHERE
from tests.support import ecr_standin
from tests.support.aws import aws_apis, without_retries
from tests.support.ecr_standin import EcrStandin
from tests.support.objects import ARN, HOST
from tests.support.parameters_standin import Parameter, ParametersStandin
from tests.support.readings import ref_to, text, why
from tests.support.secrets_standin import SecretsStandin
from tests.support.standin import Reply, Request, Standin
from upsert import sources
from upsert.aws import Aws
from upsert.core.fields import Fields, Problem
from upsert.core.objects import Material, Part, Ref
from upsert.core.sensitive import Sensitive

PASSWORD = "hunter2-hunter2-hunter2"
ROLE = "arn:aws:iam::210987654321:role/pull"
VERSION = "EXAMPLE1-90ab-cdef-fedc-ba987SECRET1"
PARAMETER_ARN = "arn:aws:ssm:eu-west-1:210987654321:parameter/apps/api"
UNNAMED = "the secret that the file of objects names here"
WORDS = "expected one of ecr, ecr_public"


def part(entry: dict[str, Any], *, login: bool) -> tuple[Part, list[str]]:
    problems: list[Problem] = []
    found = sources.Reader(NOWHERE).part("place", Fields(entry, ("entry",), problems), login=login)
    return found, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("entry", "login", "ref"),
    [
        ({"ecr": {}}, True, Ref("ecr")),
        (
            {"ecr": {"region": "eu-west-1", "account": "111111111111"}},
            True,
            Ref("ecr", (("account", "111111111111"), ("region", "eu-west-1"))),
        ),
        ({"ecr": {"role_arn": ROLE}}, True, Ref("ecr", (("role_arn", ROLE),))),
        ({"ecr": {"host": "registry.example:5000"}}, True, Ref("ecr", (("host", "registry.example:5000"),))),
        ({"ecr_public": {}}, True, Ref("ecr_public")),
        ({"ecr_public": {"role_arn": ROLE}}, True, Ref("ecr_public", (("role_arn", ROLE),))),
        ({"secret": "apps/api"}, False, Ref("secret", (("secret", "apps/api"),))),
        (
            {"secret": ARN, "member": "db.pass word"},
            False,
            Ref("secret", (("member", "db.pass word"), ("secret", ARN))),
        ),
        (
            {"secret": ARN, "member": "key", "decode": "base64", "stage": "AWSPREVIOUS", "role_arn": ROLE},
            False,
            Ref(
                "secret",
                (
                    ("decode", "base64"),
                    ("member", "key"),
                    ("role_arn", ROLE),
                    ("secret", ARN),
                    ("stage", "AWSPREVIOUS"),
                ),
            ),
        ),
        ({"secret": "a", "version": VERSION}, False, Ref("secret", (("secret", "a"), ("version", VERSION)))),
        ({"parameter": "/apps/api"}, False, Ref("parameter", (("parameter", "/apps/api"),))),
        ({"parameter": "api"}, False, Ref("parameter", (("parameter", "api"),))),
        (
            {"parameter": PARAMETER_ARN, "version": "12", "member": "a", "decode": "base64", "role_arn": ROLE},
            False,
            Ref(
                "parameter",
                (
                    ("decode", "base64"),
                    ("member", "a"),
                    ("parameter", PARAMETER_ARN),
                    ("role_arn", ROLE),
                    ("version", "12"),
                ),
            ),
        ),
        (
            {"parameter": "/apps/api", "label": "live"},
            False,
            Ref("parameter", (("label", "live"), ("parameter", "/apps/api"))),
        ),
    ],
)
def test_a_good_entry_is_a_part(entry: dict[str, Any], login: bool, ref: Ref) -> None:
    assert part(entry, login=login) == (Part("place", ref), [])


@pytest.mark.parametrize(
    ("entry", "login", "problem"),
    [
        ({}, True, f"entry: names no source; {WORDS}"),
        ({"quay": {}}, True, f"entry: names no source; {WORDS}"),
        ({"ecr": {}, "ecr_public": {}}, True, f"entry: names ecr and ecr_public; {WORDS}"),
        ({"secret": "apps/api"}, True, f"entry: names no source; {WORDS}"),
        ({"ecr": {}}, False, "entry: names no source; expected one of secret, parameter"),
        ({"ssm": "/a"}, False, "entry: names no source; expected one of secret, parameter"),
        (
            {"param": "/a"},
            False,
            "entry: unknown field 'param', did you mean parameter; expected one of secret, parameter",
        ),
        ({"param": None}, False, "entry: names no source; expected one of secret, parameter"),
        ({"sec=hunter2": "a"}, False, "entry: names no source; expected one of secret, parameter"),
        (
            {"secret": "a", "members": ["b"]},
            False,
            "entry.members: is for many keys at once; expected member, or this entry in data_from",
        ),
        ({"ecr": None}, True, "entry.ecr: null is wrong; expected an object of account, region, role_arn, host, or {}"),
        ({"ecr": []}, True, "entry.ecr: a list of 0 is wrong; expected an object of account, region, role_arn, host"),
        ({"ecr": {}, "x": 1}, True, "entry: unknown field 'x'; expected ecr"),
        ({"ecr": {"role": "x"}}, True, "entry.ecr: unknown field 'role'; expected account or region or role_arn or"),
        ({"ecr": {"account": 123456789012}}, True, "entry.ecr.account: 123456789012 is no text; expected a 12-digit"),
        ({"ecr": {"account": "12345678901"}}, True, "entry.ecr.account: '12345678901' is wrong; expected a 12-digit"),
        ({"ecr": {"region": "Frankfurt"}}, True, "entry.ecr.region: 'Frankfurt' is wrong; expected a region such as"),
        ({"ecr": {"region": "aws-global"}}, True, "entry.ecr.region: 'aws-global' is wrong; expected a region such as"),
        ({"ecr": {"role_arn": "pull"}}, True, "entry.ecr.role_arn: 'pull' is wrong; expected a role ARN such as"),
        (
            {"ecr": {"host": "https://a.example/"}},
            True,
            "entry.ecr.host: a text of 18 characters is wrong; expected a bare",
        ),
        ({"ecr": {"host": None}}, True, "entry.ecr.host: null is wrong; expected a bare host without https:// and"),
        ({"ecr_public": {"region": "us-east-1"}}, True, "entry.ecr_public: unknown field 'region'; expected role_arn"),
        ({"ecr_public": {"account": "1" * 12}}, True, "entry.ecr_public: unknown field 'account'; expected role_arn"),
        ({"ecr_public": {"role_arn": "pull"}}, True, "entry.ecr_public.role_arn: 'pull' is wrong; expected a role ARN"),
        ({"secret": ""}, False, "entry.secret: a text of 0 characters is wrong; expected a secret's name in this"),
        (
            {"secret": "a", "member": ""},
            False,
            "entry.member: a text of 0 characters is wrong; expected the name of a member",
        ),
        (
            {"secret": "a", "label": "x"},
            False,
            "entry: unknown field 'label'; expected secret or member or decode or stage or version or role_arn",
        ),
        ({"secret": "a", "stage": "x", "version": VERSION}, False, "entry: names stage and version; expected one of"),
        ({"secret": "a", "stage": "x y"}, False, "entry.stage: a text of 3 characters is wrong; expected a staging"),
        ({"secret": "a", "version": 3}, False, "entry.version: a number is no text; expected the id of a version"),
        ({"secret": "a", "version": "3"}, False, "entry.version: a text of 1 characters is wrong; expected the id of"),
        ({"secret": "a", "decode": "hex"}, False, "entry.decode: a text of 3 characters is wrong; expected base64"),
        ({"secret": "a", "decode": True}, False, "entry.decode: true is no text; expected base64, in quotes"),
        ({"secret": "a", "role_arn": "pull"}, False, "entry.role_arn: 'pull' is wrong; expected a role ARN such as"),
        ({"secret": "a", "parameter": "b"}, False, "entry: names secret and parameter; expected one of secret, param"),
        (
            {"parameter": "/a", "stage": "x"},
            False,
            "entry: unknown field 'stage'; expected parameter or member or decode or version or label or role_arn",
        ),
        ({"parameter": "/a", "version": "1", "label": "x"}, False, "entry: names version and label; expected one of"),
        ({"parameter": "/a", "version": 3}, False, "entry.version: a number is no text; expected the number of a"),
        ({"parameter": "/a", "version": "0"}, False, "entry.version: a text of 1 characters is wrong; expected the"),
        ({"parameter": "/a", "version": "latest"}, False, "entry.version: a text of 6 characters is wrong; expected"),
        ({"parameter": "/a", "label": "1st"}, False, "entry.label: a text of 3 characters is wrong; expected a param"),
        ({"parameter": "/a:3"}, False, "entry.parameter: a text of 4 characters is wrong; expected a parameter's name"),
        ({"parameter": "/a/"}, False, "entry.parameter: a text of 3 characters is wrong; expected a parameter's name"),
        ({"parameter": "a b"}, False, "entry.parameter: a text of 3 characters is wrong; expected a parameter's name"),
        ({"value": "x"}, False, "entry.value: is for ConfigMaps alone; expected a source that keeps it"),
        ({"env_file": "x"}, False, "entry.env_file: is for ConfigMaps alone; expected a source that keeps it"),
    ],
)
def test_a_bad_entry_is_one_problem_with_what_was_expected(entry: dict[str, Any], login: bool, problem: str) -> None:
    (found,) = part(entry, login=login)[1]

    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        (name, {"secret": "a", name: PASSWORD + " \n" * 130})
        for name in ("secret", "member", "stage", "version", "decode")
    ]
    + [
        (name, {"parameter": "a", name: PASSWORD + " \n" * 130})
        for name in ("parameter", "member", "label", "version", "decode")
    ],
)
def test_a_value_pasted_anywhere_in_an_entry_is_not_repeated(name: str, entry: dict[str, Any]) -> None:
    (problem,) = part(entry, login=False)[1]

    assert problem.startswith(f"entry.{name}: a text of ")
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    "pasted", [f'{{"auths":{{"quay.io":{{"password":"{PASSWORD}"}}}}}}', [PASSWORD], f"{PASSWORD} "]
)
def test_a_value_pasted_where_its_name_belongs_is_not_repeated(pasted: object) -> None:
    (problem,) = part({"secret": pasted}, login=False)[1]

    assert problem.startswith("entry.secret: a ")
    assert "hunter2" not in problem


def many(entry: dict[str, Any], *, may_be_plain: bool = False) -> tuple[list[Part], list[str]]:
    problems: list[Problem] = []
    fields = Fields(entry, ("entry",), problems)
    found = sources.Reader(NOWHERE).parts(fields, may_be_plain=may_be_plain)
    return list(found), [str(problem) for problem in problems]


def test_members_are_keys_and_each_is_a_part() -> None:
    assert many({"secret": "a", "members": ["x", "y.z"], "decode": "base64", "stage": "s", "role_arn": ROLE}) == (
        [
            Part(
                name,
                Ref(
                    "secret",
                    (("decode", "base64"), ("member", name), ("role_arn", ROLE), ("secret", "a"), ("stage", "s")),
                ),
            )
            for name in ("x", "y.z")
        ],
        [],
    )
    assert many({"parameter": "/a", "members": ["x"], "label": "b"}) == (
        [Part("x", Ref("parameter", (("label", "b"), ("member", "x"), ("parameter", "/a"))))],
        [],
    )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "entry: names no source; expected one of secret, parameter"),
        ({"ecr": {}}, "entry: names no source; expected one of secret, parameter"),
        ({"value": "x"}, "entry.value: is for ConfigMaps alone; expected a source that keeps it"),
        ({"env_file": "x"}, "entry.env_file: is for ConfigMaps alone; expected a source that keeps it"),
        ({"secret": "a", "parameter": "b", "members": ["x"]}, "entry: names secret and parameter; expected one of"),
        ({"secret": "a"}, "entry.members: is missing; expected a list, each of it the name of a member of the JSON"),
        ({"secret": "a", "members": []}, "entry.members: a list of 0 is wrong; expected a list, each of it the name"),
        ({"secret": "a", "members": "x"}, "entry.members: a text of 1 characters is wrong; expected a list, each of"),
        ({"secret": "a", "members": [1]}, "entry.members[0]: a number is no text; expected the name of a member"),
        ({"secret": "a", "members": [""]}, "entry.members[0]: a text of 0 characters is wrong; expected the name of"),
        ({"secret": "a", "members": ["x", "y", "x"]}, "entry.members: names a member twice; expected each once"),
        ({"secret": "a", "members": ["x"], "member": "y"}, "entry: unknown field 'member'; expected secret or members"),
        ({"secret": "", "members": ["x"]}, "entry.secret: a text of 0 characters is wrong; expected a secret's name"),
    ],
)
def test_a_bad_entry_of_many_is_one_problem_with_what_was_expected(entry: dict[str, Any], problem: str) -> None:
    (found,) = many(entry)[1]

    assert found.startswith(problem)


OWN, PUBLIC = Ref("ecr"), Ref("ecr_public")
SECRET, PARAMETER = ref_to("secret", ARN), ref_to("parameter", "/apps/api")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    without_retries(monkeypatch)
    return aws_apis(monkeypatch)


@pytest.fixture
def ecr(monkeypatch: pytest.MonkeyPatch) -> Iterator[EcrStandin]:
    with EcrStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", standin.url)
        # Public tokens too, which it refuses as what it does not know.
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR_PUBLIC", standin.url)
        yield standin


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretsStandin]:
    with SecretsStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", standin.url)
        yield standin


@pytest.fixture
def parameters(monkeypatch: pytest.MonkeyPatch) -> Iterator[ParametersStandin]:
    with ParametersStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", standin.url)
        yield standin


def test_no_ref_asks_nobody(aws: Aws) -> None:
    assert sources.read((), aws) == {}


def test_different_services_are_asked_at_the_same_time(
    aws: Aws, ecr: EcrStandin, kept: SecretsStandin, parameters: ParametersStandin
) -> None:
    kept.value = PASSWORD
    parameters.kept["/apps/api"] = Parameter(["of the parameter"])
    # Each is answered once all three have been asked.
    everybody = Barrier(3, timeout=20)
    for standin in (ecr, kept, parameters):
        hold(standin, everybody)

    readings = sources.read([SECRET, PARAMETER, OWN], aws)

    assert text(readings[OWN], "server") == HOST
    assert text(readings[OWN], "password") == ecr.passwords[0]
    assert text(readings[SECRET]) == PASSWORD
    assert text(readings[PARAMETER]) == "of the parameter"
    assert [len(one.requests) for one in (ecr, kept, parameters)] == [1, 1, 1]


def hold(standin: Standin, everybody: Barrier) -> None:
    answer = standin._script

    def wait(request: Request) -> Reply:
        everybody.wait()
        return answer(request)

    standin._script = wait


def test_only_what_is_read_has_a_client(aws: Aws, parameters: ParametersStandin) -> None:
    parameters.kept["/apps/api"] = Parameter(["x"])
    assert not aws._clients

    sources.read([PARAMETER, Ref("value", (("text", "x"),))], aws)

    assert {service for service, _, _ in aws._clients} == {"ssm"}


def test_what_stands_in_the_repository_is_given_without_asking_anybody(aws: Aws) -> None:
    literal, file = Ref("value", (("text", "ü\n"),)), Ref("file", (("base64", "/wA="),))

    readings = sources.read([literal, file], aws)

    assert readings == {
        literal: Material({"value": Sensitive("ü\n".encode())}),
        file: Material({"value": Sensitive(b"\xff\0")}),
    }
    assert not aws._clients


def test_a_source_that_fails_costs_no_other(aws: Aws, ecr: EcrStandin, kept: SecretsStandin) -> None:
    kept.kept["apps/api"] = PASSWORD
    good, missing = ref_to("secret", "apps/api"), ref_to("secret", "apps/nowhere")
    with ecr.answering(ecr_standin.denied):
        readings = sources.read([OWN, PUBLIC, missing, good], aws)

    assert why(readings[OWN]).startswith("ECR in eu-central-1 gave the function's role no token: AccessDeniedException")
    assert why(readings[PUBLIC]).startswith("ECR Public gave the function's role no token: UnknownOperationException")
    assert why(readings[missing]).startswith(f"cannot read {UNNAMED}: ResourceNotFoundException; there is none of")
    assert text(readings[good]) == PASSWORD
