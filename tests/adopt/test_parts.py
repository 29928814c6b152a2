"""The pure parts of the adopter: how values differ, which names are printed, and what a Secret says of itself."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.adopter import ECR, config, entry, secret
from tests.support.refresher import HOST
from upsert.core import differences, docker_config, extra_registries, live, redaction
from upsert.core.docker_config import Entry, Login, NotADockerConfig
from upsert.core.manifest import DATA_KEY, LAST_APPLIED
from upsert.core.names import Names
from upsert.core.registries import is_ecr
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Intention, Kind, check, compare


def entries(auths: dict[str, dict[str, str]]) -> tuple[Entry, ...]:
    return docker_config.read(config(auths)).entries


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """Return a Secret as the API server would return it."""
    metadata = {"uid": "5d7e9c1e", "resourceVersion": "7"} | body["metadata"]
    return body | {"metadata": metadata}


@pytest.mark.parametrize(
    ("one", "other", "notes"),
    [
        (b"a", b"a", ()),
        (b"a\n", b"a", ("trailing newline",)),
        (b"a", b"a\n\n", ("trailing newline",)),
        (b"a\r\n", b"a", ("CRLF", "trailing newline")),
        (b"a\r\nb", b"a\nb", ("CRLF",)),
        (b"a ", b"a", ("trailing white space",)),
        (b"\ta", b"a", ("leading white space",)),
        (b" a ", b"a", ("leading and trailing white space",)),
        (b"a\n", b"b", ()),
        (b"", b"\n", ("trailing newline",)),
    ],
)
def test_two_values_differ_by(one: bytes, other: bytes, notes: tuple[str, ...]) -> None:
    assert differences.of_values(one, other) == notes


@given(st.binary(), st.binary())
def test_a_difference_is_named_only_if_stripping_and_line_ends_explain_it(one: bytes, other: bytes) -> None:
    notes = differences.of_values(one, other)
    explained = one.replace(b"\r\n", b"\n").strip() == other.replace(b"\r\n", b"\n").strip()
    assert bool(notes) <= explained
    assert differences.of_values(one, one) == ()


@pytest.mark.parametrize(
    ("one", "other", "notes"),
    [
        ("https://a.io", "a.io", ("https:// on the host",)),
        ("a.io", "http://a.io/", ("http:// on the host", "trailing slash")),
        ("A.io", "a.io", ("case of the host",)),
        ("HTTPS://A.IO/", "a.io", ("https:// on the host", "trailing slash", "case of the host")),
    ],
)
def test_two_spellings_of_a_host_differ_by(one: str, other: str, notes: tuple[str, ...]) -> None:
    assert docker_config.bare(one) == docker_config.bare(other)
    assert differences.of_hosts(one, other) == notes


@pytest.mark.parametrize(
    ("one", "notes"),
    [
        (b'{"a":{"b":"c/","d":1}}\n', ("trailing newline",)),
        (b'{"a": {"b":"c/","d":1}}', ("JSON spacing",)),
        (b'{"a":{"d":1,"b":"c/"}}', ("JSON key order",)),
        (b'{"a":{"b":"c\\/","d":1}}', ("JSON escapes",)),
        (b'{\r\n"a":{"d":1,"b":"c/"}}\r\n', ("JSON key order", "JSON spacing", "CRLF", "trailing newline")),
        (b'{"a":{"b":" c/","d":1}}', ()),
        (b'{"a":{"b":"c/","d":2}}', ()),
        (b"{", ()),
    ],
)
def test_a_json_text_differs_by(one: bytes, notes: tuple[str, ...]) -> None:
    assert differences.of_texts(one, b'{"a":{"b":"c/","d":1}}') == notes


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "no JSON"),
        (b"[]", "no JSON object"),
        (b"\xff", "no UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"auths": NaN}', "no JSON"),
        (b'{"auths": []}', "auths is no object"),
        (b'{"auths": {"a": []}}', "an entry of auths is no object"),
        (b'{"auths": {"a": {"auth": null}}}', "a field of an entry is no text"),
        (b'{"auths": {"a": {}, "a": {}}}', "repeated key"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_a_kubelet_could_not_read_whole_is_no_docker_config(text: bytes, why: str) -> None:
    with pytest.raises(NotADockerConfig) as found:
        docker_config.read(text)
    assert str(found.value) == why


HOSTS = st.sampled_from(["a.io", "https://a.io", "A.io/", "b.io:5000", HOST, f"https://{HOST}/"])
FIELDS = st.dictionaries(st.sampled_from(["username", "password", "auth", "email"]), st.text(max_size=8), min_size=1)
AUTHS = st.dictionaries(HOSTS, FIELDS, max_size=4)


@given(AUTHS)
def test_entries_are_kept_field_by_field_and_in_their_order(auths: dict[str, dict[str, str]]) -> None:
    written = docker_config.write(entries(auths)).reveal()
    assert docker_config.read(written).entries == entries(auths)
    assert [list(fields) for fields in json.loads(written)["auths"].values()] == [list(f) for f in auths.values()]


@given(AUTHS)
def test_a_login_wins_over_every_spelling_of_its_host(auths: dict[str, dict[str, str]]) -> None:
    login = Login(HOST, "AWS", Sensitive("new"))
    merged = docker_config.merge([login], entries(auths))
    assert [one.host for one in merged] == sorted({one.host for one in merged})
    ours = [one for one in merged if docker_config.bare(one.host) == HOST]
    assert ours == [docker_config.entry(login)]
    kept = {one.host: one for one in entries(auths) if docker_config.bare(one.host) != HOST}
    assert {one.host: one for one in merged if one.host != HOST} == kept


@given(AUTHS, AUTHS)
def test_a_clean_check_means_that_nothing_of_the_live_docker_config_is_lost(
    live_auths: dict[str, dict[str, str]], kept: dict[str, dict[str, str]]
) -> None:
    login = Login(HOST, "AWS", Sensitive("new"))
    new = Intention("aws-ecr-token", docker_config.merge([login], entries(kept)), frozenset({HOST}))
    found = check("team-a", live.read(stored(secret(live_auths))), new)
    written = {one.host: dict(one.fields) for one in new.entries}
    for one in entries(live_auths):
        for name, value in one.fields:
            rotates = one.host == HOST and name in ("password", "auth")
            if found.adoptable and not rotates:
                assert written[one.host][name] == value
    lines = found.lines
    assert lines[-1].startswith(("team-a: adoptable", "team-a: not adoptable: "))
    assert len(lines) == len(set(lines))


@given(AUTHS)
def test_what_is_written_unchanged_matches_in_every_line(auths: dict[str, dict[str, str]]) -> None:
    value = docker_config.write(entries(auths))
    verdicts = compare({DATA_KEY: value}, Intention("", entries(auths)))
    assert {verdict.kind for verdict in verdicts} == {Kind.MATCH}


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("quay.io", "quay.io"),
        ("https://index.docker.io/v1/", "https://index.docker.io/v1/"),
        ("localhost:5000", "localhost:5000"),
        ("registry:5000/team/app", "registry:5000/team/app"),
        ("a-password-in-the-wrong-place", "<unprintable host 1>"),
        ("cGFzc3dvcmQ=", "<unprintable host 1>"),
        ("x" * 64 + ".io", "<unprintable host 1>"),
        ("a.io/" + "x" * 64, "<unprintable host 1>"),
        ("a.io\nb", "<unprintable host 1>"),
        ("", "<unprintable host 1>"),
    ],
)
def test_a_host_is_printed_only_if_it_has_the_form_of_one(name: str, printed: str) -> None:
    assert Names().of_host(name) == printed


def test_unprintable_names_are_numbered_by_kind_and_keep_their_number() -> None:
    names = Names()
    assert [names.of_host("a"), names.of_host("b"), names.of_host("a"), names.of_field("a")] == [
        "<unprintable host 1>",
        "<unprintable host 2>",
        "<unprintable host 1>",
        "<unprintable field 1>",
    ]


def test_a_short_text_is_searched_for_parts_of_a_secret() -> None:
    password = Sensitive("0123456789abcdefghij")
    assert redaction.reveals("before 3456789abcde after", [password])
    assert redaction.reveals(base64.b64encode(b"x0123456789abcdefghij").decode(), [password])
    assert not redaction.reveals("before 3456789abcd after", [password])


@pytest.mark.parametrize("host", [HOST, "public.ecr.aws", "123456789012.dkr-ecr.eu-central-1.on.aws"])
def test_an_ecr_registry_is_known_by_its_host(host: str) -> None:
    assert is_ecr(host)
    assert not is_ecr(host + ".example.com:5000")


def test_an_import_adds_what_is_missing_and_contradicts_what_differs() -> None:
    plan = extra_registries.plan_import(
        entries(ECR | {"a.io": entry("x", "1"), "b.io": entry("x", "2"), "c.io": entry("x", "3")}),
        entries({"b.io": entry("x", "2"), "c.io": entry("x", "4"), "d.io": entry("x", "5")}),
        [HOST],
    )
    assert (plan.added, plan.present, plan.contradicted, plan.left_to_ecr) == (("a.io",), ("b.io",), ("c.io",), (HOST,))
    assert [one.host for one in plan.merged] == ["b.io", "c.io", "d.io", "a.io"]


@pytest.mark.parametrize(
    ("metadata", "helm", "argo_cd"),
    [
        ({}, "", ""),
        ({"annotations": {"meta.helm.sh/release-name": "a"}}, "a", ""),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "of unknown name", ""),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "a:/Secret:b/c"}}, "", "tracked"),
        ({"labels": {"app.kubernetes.io/instance": "a"}}, "", "perhaps tracked"),
        (
            {"labels": {"app.kubernetes.io/instance": "a", "app.kubernetes.io/managed-by": "Helm"}},
            "of unknown name",
            "",
        ),
    ],
)
def test_marks_of_other_tools_are_known(metadata: dict[str, Any], helm: str, argo_cd: str) -> None:
    found = live.read(stored(secret(metadata=metadata)))
    assert (found.helm_release, found.argo_cd) == (helm, argo_cd)


@pytest.mark.parametrize(
    ("copy", "verdict"),
    [
        (json.dumps(secret()), "current"),
        (json.dumps({"stringData": {DATA_KEY: config(ECR).decode()}}), "current"),
        (json.dumps(secret({HOST: entry("AWS", "older")})), "stale"),
        ("{}", "stale"),
        ("{", "unreadable"),
        ('{"data": [1]}', "unreadable"),
        ('{"data": {"a": 1}}', "unreadable"),
    ],
)
def test_kubectl_s_copy_is_current_stale_or_unreadable(copy: str, verdict: str) -> None:
    assert live.read(stored(secret(metadata={"annotations": {LAST_APPLIED: copy}}))).last_applied == verdict


def test_a_live_secret_shows_no_value() -> None:
    found = live.read(stored(secret()))
    text = base64.b64decode(secret()["data"][DATA_KEY]).decode()
    shown = repr(found) + str(found) + repr(check("team-a", found, Intention("aws-ecr-token", entries(ECR))))
    assert not redaction.reveals(shown.replace(HOST, ""), [Sensitive(text.replace(HOST, ""))])


@pytest.mark.parametrize("document", [{}, {"metadata": None}, {"metadata": {}}, stored(secret()) | {"data": {"a": 1}}])
def test_what_is_no_secret_is_a_value_error(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a Secret"):
        live.read(document)


def test_an_auth_that_base64_broke_into_lines_is_read_as_a_kubelet_does() -> None:
    mine = entry("AWS", "old")
    auths = {HOST: {**mine, "auth": mine["auth"] + "\n"}}
    new = Intention("aws-ecr-token", docker_config.merge([Login(HOST, "AWS", Sensitive("new"))], ()), frozenset({HOST}))

    found = check("team-a", live.read(stored(secret(auths))), new)

    before, after = len(auths[HOST]["auth"]), len(entry("AWS", "new")["auth"])
    assert f"team-a/{HOST}/auth: ROTATES ({before} vs {after} bytes; trailing newline)" in found.lines
    assert found.lines[-1] == "team-a: adoptable"


def test_what_an_entry_is_for_is_no_credential() -> None:
    (found,) = entries({"quay.io": {"auth": "eDp5", "serveraddress": "quay.io", "email": "a@b.c", "username": "x"}})
    assert found.credentials == (Sensitive("eDp5"),)
