"""kubernetes.io/tls, from the file to the API server. What is no pair is in tests/parity, beside kubectl."""

import base64
import json
import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat

from tests.support.controlplane import ControlPlane
from tests.support.objects import compiled
from tests.support.pairs import DAY, NOW, Pair, pair
from tests.support.refresher import run, writer
from upsert import kinds
from upsert.core.objects import BadMaterial, Desired, Material, Object, Part, Ref
from upsert.core.outcomes import Applied
from upsert.core.sensitive import Sensitive
from upsert.errors import InputError
from upsert.kinds import tls

NAME = "wildcard"
CRT, KEY = "tls.crt", "tls.key"
REFS = {key: Ref("secret", (("member", key), ("secret", "tls/wildcard"))) for key in (CRT, KEY)}
TLS = Object(NAME, "tls", tuple(Part(key, ref) for key, ref in REFS.items()))


def materials(crt: bytes, key: bytes) -> dict[str, Material]:
    return {CRT: Material({"value": Sensitive(crt)}), KEY: Material({"value": Sensitive(key)})}


def made(one: Pair) -> Desired:
    return kinds.build(TLS, materials(one.crt, one.key))


def entry(**changes: Any) -> dict[str, Any]:
    source = {"secret": "tls/wildcard"}
    data = {CRT: {**source, "member": "crt"}, KEY: {**source, "member": "key"}}
    return {"name": NAME, "type": "tls", "data": data, "namespaces": {"include": ["web"]}, **changes}


def open_files() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("word", ["tls", "kubernetes.io/tls"])
def test_the_file_has_a_word_for_it_and_takes_its_full_type(word: str) -> None:
    (one,) = json.loads(compiled(entry(type=word)))["objects"]

    assert (one["type"], [part["place"] for part in one["parts"]]) == ("tls", [CRT, KEY])


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({CRT: {"secret": "x"}}, "objects[0].data: lacks tls.key; expected tls.crt and tls.key"),
        ({"cert": {"secret": "x"}}, "objects[0].data: lacks tls.crt and tls.key; expected tls.crt and tls.key"),
        ({}, "objects[0].data: lacks tls.crt and tls.key; expected tls.crt and tls.key"),
        ({CRT: {"file": "x"}, KEY: {"secret": "x"}}, 'data["tls.crt"].file: is for ConfigMaps alone'),
    ],
)
def test_both_keys_have_to_be_there(data: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError) as stopped:
        compiled(entry(data=data))

    assert fault in str(stopped.value)


@pytest.mark.parametrize(
    "ends_at",
    [
        NOW - 400 * DAY,
        NOW + DAY,
        datetime.fromisoformat("2049-12-31T23:59:59Z"),
        datetime.fromisoformat("2050-01-01T00:00:00Z"),
        datetime.fromisoformat("9999-12-31T23:59:59Z"),
    ],
    ids=["long ago", "tomorrow", "the last UTCTime", "the first GeneralizedTime", "never"],
)
@pytest.mark.parametrize("sort", ["P-256", "Ed25519", "RSA-2048"])
def test_it_expires_when_its_first_certificate_does(sort: str, ends_at: datetime) -> None:
    root = pair(number=9, starts_at=NOW - 800 * DAY, ends_at=NOW + 2 * DAY)
    leaf = pair(sort, starts_at=NOW - 800 * DAY, ends_at=ends_at, signer=root)

    assert kinds.build(TLS, materials(leaf.crt + root.crt, leaf.key)).expires_at == ends_at


def test_it_is_kept_byte_for_byte() -> None:
    crt, key = b"# ours\r\n" + pair().crt.replace(b"\n", b" \r\n"), pair().key + b"\n\n"

    found = kinds.build(TLS, materials(crt, key))

    assert {name: value.reveal() for name, value in found.data.items()} == {CRT: crt, KEY: key}


def test_other_keys_stand_beside_the_two() -> None:
    found = kinds.build(TLS, materials(pair().crt, pair().key) | {"ca.crt": Material({"value": Sensitive(b"any")})})

    assert found.data["ca.crt"].reveal() == b"any"


def test_a_certificate_of_another_key_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(BadMaterial) as refused:
        kinds.build(TLS, materials(pair().crt, pair(number=1).key))

    assert str(refused.value) == "tls.crt: its certificate is of another key than tls.key; expected a pair"


def test_nobody_is_asked_for_a_password(capfd: pytest.CaptureFixture[str]) -> None:
    """Should an encrypted key ever come to OpenSSL, it must not wait at a terminal."""
    der = pair().certificate.public_bytes(Encoding.DER)

    with pytest.raises(BadMaterial, match=r"tls\.key: cannot be read"):
        tls._is_pair(der, pair().as_key(PrivateFormat.PKCS8, b"hunter2"))

    assert "pass phrase" not in capfd.readouterr().err


@pytest.mark.parametrize("has_memory_files", [True, False])
def test_no_file_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_memory_files: bool) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if not has_memory_files:
        monkeypatch.delattr(os, "memfd_create")
    before = open_files()

    assert made(pair()).expires_at
    with pytest.raises(BadMaterial):
        kinds.build(TLS, materials(pair().crt, pair(number=1).key))

    assert open_files() == before
    assert not list(tmp_path.iterdir())


def test_a_check_takes_milliseconds() -> None:
    root = pair("RSA-2048", number=9)
    leaf = pair("RSA-2048", signer=root)
    both = materials(leaf.crt + root.crt, leaf.key)
    seconds = []
    for _ in range(9):
        started = time.process_time()
        kinds.build(TLS, both)
        seconds.append(time.process_time() - started)

    assert min(seconds) < 0.05


def test_an_expired_one_is_applied_and_says_so(control_plane: ControlPlane, namespace: str) -> None:
    one = pair(starts_at=NOW - 9 * DAY, ends_at=NOW - DAY)
    given = materials(one.crt, one.key)
    admin = writer(control_plane, user="admin")

    result = run(admin, {ref: given[key] for key, ref in REFS.items()}, TLS, namespaces=[namespace])

    assert isinstance(result.outcomes[namespace], Applied)
    assert result.report.expires_at == NOW - DAY
    live = control_plane.get_secret(namespace, NAME)
    assert live is not None
    assert live["type"] == "kubernetes.io/tls"
    assert {key: base64.b64decode(value) for key, value in live["data"].items()} == {CRT: one.crt, KEY: one.key}
    assert live["metadata"]["annotations"] == {"eks-upsert/expires-at": (NOW - DAY).strftime("%Y-%m-%dT%H:%M:%SZ")}


def test_a_pair_that_is_none_changes_nothing(control_plane: ControlPlane, namespace: str) -> None:
    admin = writer(control_plane, user="admin")
    good, bad = materials(pair().crt, pair().key), materials(pair(number=1).crt, pair().key)
    run(admin, {ref: good[key] for key, ref in REFS.items()}, TLS, namespaces=[namespace])
    before = control_plane.get_secret(namespace, NAME)

    with pytest.raises(Exception, match=r"secret/wildcard: tls\.crt: its certificate is of another key"):
        run(admin, {ref: bad[key] for key, ref in REFS.items()}, TLS, namespaces=[namespace])

    assert before is not None
    assert control_plane.get_secret(namespace, NAME) == before
