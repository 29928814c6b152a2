"""Importing an application's Secret, from event to answer: its values go to where the file has them kept, unseen."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.adopt.conftest import Migration
from tests.adopt.conftest import Team as MakeTeam
from tests.support import keyed
from tests.support.canary import Canary
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.invocation import Seen
from tests.support.keyed import KEPT, body, entry, owners_of, values_of
from tests.support.objects import roles
from tests.support.parameters_standin import Parameter
from upsert.core.identity import FIELD_MANAGER
from upsert.errors import ImportRefused, SourceFailed

NAME, TEAM = "api-config", "team-api"
LIVE = {
    "DB_PASSWORD": b"correct-horse-battery-staple-9",
    "keystore.p12": b"\x00\xff\xfe a keystore of thirty bytes",
    "WEB_HOOK": "https://hooks.internal/ü?token=a-long-token-in-a-url\n".encode(),
}
IMPORT = {"action": "import", "namespace": TEAM}
FILE: dict[str, Any] = {"objects": [entry(NAME, LIVE)]}
AS_MEMBERS = {key: value.decode() for key, value in LIVE.items() if keyed.is_text(value)} | {
    "keystore.p12": "AP/+IGEga2V5c3RvcmUgb2YgdGhpcnR5IGJ5dGVz"
}


@pytest.fixture(autouse=True)
def _granted(plane: ControlPlane) -> Iterator[None]:
    entries = [entry(NAME, LIVE), entry("settings", LIVE, kind="ConfigMap")]
    plane.apply_roles("\n---\n".join([roles(*entries), roles(*entries, is_adopter=True)]))
    yield
    plane.apply_roles("\n---\n".join([roles(), roles(is_adopter=True)]))


@pytest.fixture
def live(aws: Migration, team: MakeTeam) -> str:
    """A namespace with the Secret, and a secret without a value outside of the cluster."""
    aws.secrets.kept[KEPT] = None
    return team(TEAM, body(NAME, LIVE))


def lines(seen: Seen) -> list[str]:
    assert seen.error is None, seen.error
    found: list[str] = seen.result["lines"]
    return found


def refused(seen: Seen) -> str:
    assert isinstance(seen.error, ImportRefused), seen.error or seen.result
    return str(seen.error)


def kept(aws: Migration, name: str = KEPT) -> Any:
    value = aws.secrets.kept[name]
    assert isinstance(value, str)
    return json.loads(value)


def file(data: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"objects": [entry(NAME, {}, data=data, **more)]}


@pytest.mark.usefixtures("live")
def test_from_import_to_rotation_the_pods_never_notice(aws: Migration, plane: ControlPlane) -> None:
    before = plane.get_secret(TEAM, NAME)
    assert lines(aws.adopt(IMPORT, **FILE)) == [
        f"{TEAM}/{NAME}/DB_PASSWORD: imported",
        f"{TEAM}/{NAME}/WEB_HOOK: imported",
        f"{TEAM}/{NAME}/keystore.p12: imported",
    ]
    assert kept(aws) == AS_MEMBERS
    assert lines(aws.adopt({"action": "check"}, **FILE))[-1] == f"{TEAM}/{NAME}: adoptable"
    assert aws.adopt({"action": "adopt"}, **FILE).result["adopted"] == 1
    adopted = plane.get_secret(TEAM, NAME)
    assert values_of(adopted) == values_of(before) == LIVE
    assert owners_of(adopted) == {FIELD_MANAGER}

    aws.secrets.kept[KEPT] = json.dumps(AS_MEMBERS | {"DB_PASSWORD": "the-next-one-of-the-database"})
    assert aws.refresh({"namespaces": [TEAM]}, **FILE).result["applied"] == 1
    rotated = plane.get_secret(TEAM, NAME)
    assert values_of(rotated) == LIVE | {"DB_PASSWORD": b"the-next-one-of-the-database"}
    assert before is not None
    assert rotated is not None
    assert rotated["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.usefixtures("live")
def test_importing_again_writes_nothing(aws: Migration) -> None:
    aws.adopt(IMPORT, **FILE)
    value, calls = aws.secrets.kept[KEPT], len(aws.secrets.calls)
    assert lines(aws.adopt(IMPORT, **FILE)) == [f"{TEAM}/{NAME}/{key}: imported already" for key in sorted(LIVE)]
    assert aws.secrets.kept[KEPT] == value
    assert "PutSecretValue" not in aws.secrets.calls[calls:]


@pytest.mark.usefixtures("live")
def test_what_is_kept_beside_it_stays(aws: Migration) -> None:
    aws.secrets.kept[KEPT] = '{"OF_OTHERS": 1.50,\n "DB_PASSWORD": "correct-horse-battery-staple-9"}'
    assert f"{TEAM}/{NAME}/DB_PASSWORD: imported already" in lines(aws.adopt(IMPORT, **FILE))
    assert kept(aws) == AS_MEMBERS | {"OF_OTHERS": 1.5}
    assert '"OF_OTHERS": 1.50,\n' in str(aws.secrets.kept[KEPT])


@pytest.mark.usefixtures("live")
def test_another_value_is_refused_by_key_and_nothing_is_written(aws: Migration) -> None:
    value = aws.secrets.kept[KEPT] = json.dumps({"DB_PASSWORD": "somebody-believed-it-to-be-this"})
    calls = len(aws.secrets.calls)
    message = refused(aws.adopt(IMPORT, **FILE))
    assert message == (
        f"{TEAM}: secret of DB_PASSWORD: another value is kept for DB_PASSWORD; nothing was imported. Where another "
        "value is kept, find out which is right"
    )
    assert aws.secrets.kept[KEPT] == value
    assert "PutSecretValue" not in aws.secrets.calls[calls:]


@pytest.mark.usefixtures("live")
def test_in_several_places_all_is_refused_before_the_first_is_written(aws: Migration) -> None:
    aws.secrets.kept |= {"apps/db": None, "apps/hook": "another value"}
    data = {"DB_PASSWORD": {"secret": "apps/db"}, "WEB_HOOK": {"secret": "apps/hook"}}
    assert "secret of WEB_HOOK: another value is kept for WEB_HOOK" in refused(aws.adopt(IMPORT, **file(data)))
    assert aws.secrets.kept["apps/db"] is None


@pytest.mark.usefixtures("live")
def test_each_key_goes_to_its_own_place(aws: Migration) -> None:
    aws.secrets.kept |= {"apps/db": None, "apps/store": None}
    data = {
        "DB_PASSWORD": {"secret": "apps/db"},
        "keystore.p12": {"secret": "apps/store", "decode": "base64"},
        "WEB_HOOK": {"parameter": "/apps/hook"},
    }
    found = lines(aws.adopt(IMPORT, **file(data)))
    assert found == [f"{TEAM}/{NAME}/{key}: imported" for key in sorted(LIVE)]
    assert aws.secrets.kept["apps/db"] == LIVE["DB_PASSWORD"].decode()
    assert aws.secrets.kept["apps/store"] == AS_MEMBERS["keystore.p12"]
    assert aws.parameters.kept["/apps/hook"].values == [LIVE["WEB_HOOK"].decode()]
    assert lines(aws.adopt({"action": "check"}, **file(data)))[-1] == f"{TEAM}/{NAME}: adoptable"


@pytest.mark.usefixtures("live")
class TestParameters:
    DATA: Mapping[str, Any] = {"WEB_HOOK": {"parameter": "/apps/hook"}}

    def test_one_that_is_there_is_never_written_over(self, aws: Migration) -> None:
        aws.parameters.kept["/apps/hook"] = Parameter(["another"])
        message = refused(aws.adopt(IMPORT, **file(self.DATA)))
        assert "parameter of WEB_HOOK: another value is kept for WEB_HOOK" in message
        assert aws.parameters.kept["/apps/hook"].values == ["another"]

    def test_one_with_the_same_value_is_imported_already(self, aws: Migration) -> None:
        aws.parameters.kept["/apps/hook"] = Parameter([LIVE["WEB_HOOK"].decode()])
        assert f"{TEAM}/{NAME}/WEB_HOOK: imported already" in lines(aws.adopt(IMPORT, **file(self.DATA)))

    def test_one_that_somebody_creates_meanwhile_is_theirs(self, aws: Migration) -> None:
        def create() -> None:
            aws.parameters.kept["/apps/hook"] = Parameter(["of somebody else"])

        aws.parameters.before_put = create
        assert "was changed by someone else meanwhile; nothing was imported. Import again" in refused(
            aws.adopt(IMPORT, **file(self.DATA))
        )
        assert aws.parameters.kept["/apps/hook"].values == ["of somebody else"]

    def test_without_leave_it_says_which_action_it_needs(self, aws: Migration) -> None:
        aws.parameters.refused["/apps/hook"] = "AccessDeniedException"
        seen = aws.adopt(IMPORT, **file(self.DATA))
        assert isinstance(seen.error, SourceFailed)
        assert "WEB_HOOK: cannot read the parameter that the file of objects names here: AccessDenied" in str(
            seen.error
        )
        assert "ssm:GetParameters" in str(seen.error)


@pytest.mark.usefixtures("live")
class TestWhatTheFileLacks:
    def test_it_goes_to_the_one_secret_and_the_entry_is_printed(self, aws: Migration, plane: ControlPlane) -> None:
        data = {"DB_PASSWORD": {"secret": KEPT, "member": "db_password"}}
        found = lines(aws.adopt(IMPORT, **file(data)))
        assert found[:3] == [f"{TEAM}/{NAME}/{key}: imported" for key in sorted(LIVE)]
        assert found[3:] == [
            f"# {NAME}: in the file of objects, instead of its data and data_from",
            "data:",
            "  DB_PASSWORD: {secret: apps/api, member: db_password}",
            "  WEB_HOOK: {secret: apps/api, member: WEB_HOOK}",
            "  keystore.p12: {secret: apps/api, decode: base64, member: keystore.p12}",
        ]
        pasted = yaml.safe_load("\n".join(found[3:]))["data"]
        assert lines(aws.adopt({"action": "check"}, **file(pasted)))[-1] == f"{TEAM}/{NAME}: adoptable"
        assert aws.adopt({"action": "adopt"}, **file(pasted)).result["adopted"] == 1
        assert values_of(plane.get_secret(TEAM, NAME)) == LIVE

    def test_without_one_secret_of_members_it_is_left_out(self, aws: Migration) -> None:
        aws.secrets.kept["apps/db"] = None
        found = lines(aws.adopt(IMPORT, **file({"DB_PASSWORD": {"secret": "apps/db"}})))
        why = "the file does not name it, nor one secret of members for all keys; add it to data"
        assert found == [
            f"{TEAM}/{NAME}/DB_PASSWORD: imported",
            f"{TEAM}/{NAME}/WEB_HOOK: left out ({why})",
            f"{TEAM}/{NAME}/keystore.p12: left out ({why})",
        ]

    def test_a_key_that_is_named_like_a_value_is_not_said(self, aws: Migration, team: MakeTeam) -> None:
        value = "a-password-in-the-place-of-a-key"
        team("team-b", body(NAME, {"DB_PASSWORD": value.encode(), value: b"x"}))
        data = {"DB_PASSWORD": {"secret": KEPT, "member": "DB_PASSWORD"}}
        seen = aws.adopt(IMPORT | {"namespace": "team-b"}, **file(data))
        why = "the file does not name it, and its name cannot be printed"
        assert f"team-b/{NAME}/<withheld name 1>: left out ({why})" in lines(seen)
        assert value not in "\n".join(seen.texts)


def test_a_config_map_is_imported_as_well(aws: Migration, plane: ControlPlane, team: MakeTeam) -> None:
    aws.secrets.kept[KEPT] = None
    team(TEAM)
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"LEVEL": "info", "PORT": "8080"},
        "binaryData": {"logo": "iVBOR/8="},
    }
    keyed.apply(plane, TEAM, document)
    data = {
        "LEVEL": {"secret": KEPT, "member": "LEVEL"},
        "logo": {"secret": KEPT, "member": "logo", "decode": "base64"},
        "PORT": {"value": "8080"},
    }
    settings: dict[str, Any] = {"objects": [entry("settings", {}, data=data, kind="ConfigMap")]}
    assert lines(aws.adopt(IMPORT, **settings)) == [
        f"{TEAM}/settings/LEVEL: imported",
        f"{TEAM}/settings/PORT: left out (the file has its value)",
        f"{TEAM}/settings/logo: imported",
    ]
    assert lines(aws.adopt({"action": "check"}, **settings))[-1] == f"{TEAM}/settings: adoptable"


@pytest.mark.parametrize("type_of_secret", ["tls", "ssh-auth", "kubernetes.io/dockerconfigjson", "basic-auth"])
def test_of_any_type_the_check_comes_first_when_nothing_is_kept_yet(
    aws: Migration, team: MakeTeam, type_of_secret: str
) -> None:
    """These are the first steps of the page: a secret without a value, a check, and then the import."""
    pair = make_serving_certificate()
    values = {
        "tls": {"tls.crt": pair.certificate_pem.encode(), "tls.key": pair.key_pem.encode()},
        "ssh-auth": {"ssh-privatekey": b"a key of thirty bytes and more"},
        "kubernetes.io/dockerconfigjson": {".dockerconfigjson": b'{"auths":{}}'},
        "basic-auth": {"username": b"me", "password": b"correct-horse-battery"},
    }[type_of_secret]
    one = entry(NAME, values, type=type_of_secret, namespaces={"include": [TEAM]})
    called = type_of_secret if "/" in type_of_secret else f"kubernetes.io/{type_of_secret}"
    aws.secrets.kept[KEPT] = None
    team(TEAM, body(NAME, values, type=called))
    before = lines(aws.adopt({"action": "check"}, objects=[one]))
    assert [line for line in before if "note" not in line] == [
        *(f"{TEAM}/{NAME}/{key}: ONLY IN LIVE" for key in sorted(values)),
        f"{TEAM}/{NAME}: not adoptable: only in live: {', '.join(sorted(values))}",
    ]
    assert lines(aws.adopt(IMPORT, objects=[one])) == [f"{TEAM}/{NAME}/{key}: imported" for key in sorted(values)]
    assert lines(aws.adopt({"action": "check"}, objects=[one]))[-1] == f"{TEAM}/{NAME}: adoptable"


def test_of_another_type_what_is_there_is_imported(aws: Migration, team: MakeTeam) -> None:
    aws.secrets.kept[KEPT] = None
    team(TEAM, body(NAME, {"tls.crt": b"half of a pair"}))
    one = entry(NAME, {"tls.crt": b"", "tls.key": b""}, type="tls")
    assert lines(aws.adopt(IMPORT, objects=[one])) == [f"{TEAM}/{NAME}/tls.crt: imported"]


@pytest.mark.usefixtures("live")
class TestRefused:
    @pytest.mark.parametrize("there", ['{"OTHER":"1","OTHER":"2"}', '{"OTHER":NaN}'])
    def test_what_is_kept_in_a_text_of_which_a_refresh_reads_nothing(self, aws: Migration, there: str) -> None:
        aws.secrets.kept[KEPT] = there
        message = refused(aws.adopt(IMPORT, **FILE))
        assert "no member can be put into what is kept there" in message
        assert message.count("nothing was imported") == 1
        assert aws.secrets.kept[KEPT] == there

    def test_bytes_that_are_no_text(self, aws: Migration) -> None:
        data = {"keystore.p12": {"secret": KEPT, "member": "store"}}
        message = refused(aws.adopt(IMPORT, **file(data)))
        assert "keystore.p12: is no UTF-8; say `decode: base64` in its entry" in message
        assert aws.secrets.kept[KEPT] is None

    def test_more_than_a_secret_holds(self, aws: Migration, team: MakeTeam) -> None:
        team("team-b", body(NAME, {"DB_PASSWORD": b"x" * 65_520}))
        data = {"DB_PASSWORD": {"secret": KEPT, "member": "DB_PASSWORD"}}
        message = refused(aws.adopt(IMPORT | {"namespace": "team-b"}, **file(data)))
        assert "DB_PASSWORD: the secret would have 65538 bytes; 65536 are the most that it holds" in message

    def test_a_pair_of_which_a_refresh_could_make_nothing(self, aws: Migration, team: MakeTeam) -> None:
        pair = {"tls.crt": b"no certificate", "tls.key": b"no key"}
        team("team-b", body(NAME, pair, type="kubernetes.io/tls"))
        message = refused(aws.adopt(IMPORT | {"namespace": "team-b"}, objects=[entry(NAME, pair, type="tls")]))
        assert message.startswith("team-b: what is live would be of no use to a refresh: ")
        assert aws.secrets.kept[KEPT] is None

    def test_one_that_is_missing(self, aws: Migration, team: MakeTeam) -> None:
        team("team-b")
        message = refused(aws.adopt(IMPORT | {"namespace": "team-b"}, **FILE))
        assert message == "team-b: the Secret was not read: missing; nothing was imported"

    def test_somebody_elses_write_meanwhile(self, aws: Migration) -> None:
        aws.secrets.kept[KEPT] = "{}"

        def write(operation: str) -> None:
            if operation == "PutSecretValue":
                aws.secrets.kept[KEPT] = '{"DB_PASSWORD":"of somebody else"}'

        aws.secrets.before = write
        assert refused(aws.adopt(IMPORT, **FILE)) == (
            f"{TEAM}: the secret of DB_PASSWORD was changed by someone else meanwhile; nothing was imported. "
            "Import again"
        )
        assert aws.secrets.kept[KEPT] == '{"DB_PASSWORD":"of somebody else"}'

    def test_what_is_not_read_back_is_not_called_imported(self, aws: Migration) -> None:
        puts = []

        def write(operation: str) -> None:
            puts.extend([operation] * (operation == "PutSecretValue"))
            if operation == "BatchGetSecretValue" and puts:
                aws.secrets.kept[KEPT] = json.dumps(AS_MEMBERS | {"WEB_HOOK": "of somebody else"})

        aws.secrets.before = write
        assert refused(aws.adopt(IMPORT, **FILE)) == (
            f"{TEAM}: WEB_HOOK was imported, but is not read back as it is live; somebody may have changed its source "
            "since. Check again"
        )


@pytest.mark.parametrize("before", [None, "{}", '{"DB_PASSWORD":"another-value-of-the-database"}'])
@pytest.mark.usefixtures("live")
def test_no_part_of_a_value_is_said(aws: Migration, before: str | None) -> None:
    canary = Canary()
    for key, value in LIVE.items():
        canary.learn(key, value.decode() if keyed.is_text(value) else AS_MEMBERS[key])
    canary.learn("kept", "another-value-of-the-database")
    aws.secrets.kept[KEPT] = before
    for event in (IMPORT, IMPORT, {"action": "check"}, {"action": "adopt"}):
        assert canary.leaks("\n".join(aws.adopt(event, LOG_LEVEL="DEBUG", **FILE).texts)) == set()
