"""Names from outside have the form that AWS and Kubernetes give them, and nothing else passes."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import grammars
from upsert.core.fields import Grammar

ARN = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:pull/registries-AbCdEf"
GLOBS = ["a", "*", "?", "team-*", "*-prod", "a?c", "0", "a-b-c", "*a*b*", "a" * 63, "te??-*", "**"]
NO_GLOBS = ["", " ", "-a", "a-", "a_b", "A", "a.b", "a/b", "[a-z]*", "!a", "a b", "a\n", "ä", "a,b", "a" * 64, "*\n"]


def is_(form: Grammar, text: str) -> bool:
    return form.fits(text)


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        (grammars.REGION, ["eu-central-1", "cn-north-1", "us-gov-west-1", "eusc-de-east-1", "us-isob-east-1"]),
        (grammars.ACCOUNT, ["123456789012", "000000000000"]),
        (grammars.ROLE_ARN, ["arn:aws:iam::210987654321:role/pull", "arn:aws-cn:iam::123456789012:role/a/b"]),
        (grammars.HOST, ["quay.io", "registry.example:5000", "123456789012.dkr-ecr.eu-central-1.on.aws"]),
        (grammars.CLUSTER, ["a", "9_Prod-" + "x" * 93]),
        (grammars.CLUSTER_GLOB, ["production-*", "*", "?rod", "team_blue"]),
        (grammars.OBJECT, ["a", "pull.secret-1", "a" * 253]),
        (grammars.OBJECT_GLOB, ["a", "pull.secret-1", "aws-*", "*", "a" * 253]),
        (grammars.NAMESPACE_GLOB, GLOBS),
        (grammars.NAMESPACE, ["a", "team-a", "0", "a" * 63]),
        (grammars.SERVICE_ACCOUNT, ["default", "my.app", "a" * 253]),
        (grammars.SELECTOR, ["a=b", "env in (prod,stage),!legacy,a.b/c==d", "a"]),
        (grammars.SECRET_ID, ["apps/api", "registries", ARN, ARN.replace("arn:aws:", "arn:aws-cn:")]),
        (grammars.MEMBER, ["db_password", "a.b", "a b", "ü", "x\ny"]),
        (grammars.DATA_KEY, ["tls.crt", ".dockerconfigjson", "A_b-9", ".a..b"]),
    ],
)
def test_a_good_name_passes(form: Grammar, texts: list[str]) -> None:
    assert [text for text in texts if not is_(form, text)] == []


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        (grammars.REGION, ["", "Frankfurt", "aws-global", "eu-central-1 ", "eu-central-1\n", "eu-central"]),
        (grammars.ACCOUNT, ["", "12345678901", "1234567890123", "٤" * 12, "123456789012\n"]),
        (grammars.ROLE_ARN, ["", "pull", "arn:aws:iam::123456789012:role/ä", "arn:aws:iam::123456789012:user/pull"]),
        (grammars.HOST, ["", "https://a.example/", "a.example/team", "localhost", "A.example", "a.example:x", "a..b"]),
        (grammars.CLUSTER, ["", "-prod", "a/b", "prod\n", "x" * 101, "prod*"]),
        (grammars.CLUSTER_GLOB, ["", "-prod", "a/b", "prod*\n"]),
        (grammars.OBJECT, ["", "Token", "a..b", "a.", "a/../b", "a?dryRun=All", "a\n", "a" * 254, "a*"]),
        (grammars.OBJECT_GLOB, ["", "Token", "-a", "a/../b", "a\n", "a" * 254]),
        (grammars.NAMESPACE_GLOB, NO_GLOBS),
        (grammars.NAMESPACE, [*NO_GLOBS, "team-*", "te?m"]),
        (grammars.SERVICE_ACCOUNT, ["", ",", "default,", "*", "Default", "a b", "-a", "a/b", "a" * 254]),
        (grammars.SELECTOR, ["", " ", "a=b&limit=1", "a=ä", "a\n", "a" * 1025]),
        (grammars.SECRET_ID, ["", f"{ARN}ä", '{"auths":{}}', "a b", "a\n", "arn:aws:iam::123456789012:role/pull"]),
        (grammars.MEMBER, ["", "x" * 257]),
        (grammars.DATA_KEY, ["", ".", "..", "...", "..a", "a/b", "a b", "ä", "a\n", "a" * 254]),
    ],
)
def test_what_can_be_no_name_does_not_pass(form: Grammar, texts: list[str]) -> None:
    assert [text for text in texts if is_(form, text)] == []


@given(st.text(string.printable, max_size=70))
def test_a_glob_holds_nothing_that_a_matcher_takes_for_syntax(text: str) -> None:
    if is_(grammars.NAMESPACE_GLOB, text):
        assert set(text) <= set(string.ascii_lowercase + string.digits + "*?-")
    if is_(grammars.OBJECT_GLOB, text):
        assert set(text) <= set(string.ascii_lowercase + string.digits + "*?-.")
    if is_(grammars.CLUSTER_GLOB, text):
        assert set(text) <= set(string.ascii_letters + string.digits + "*?-_")


@given(st.text(st.sampled_from("a.-*?"), max_size=40))
def test_no_name_takes_long_to_be_refused(text: str) -> None:
    """Nested repetitions are what makes a pattern take for ever."""
    for form in (grammars.OBJECT, grammars.HOST, grammars.OBJECT_GLOB, grammars.NAMESPACE_GLOB):
        is_(form, text * 40 + "!")
