"""Any object of any kind: MATCH is said exactly of equal bytes, lengths are right, and no value is in any line."""

import base64
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.canary import Canary
from upsert import kinds
from upsert.core import checks, docker_config, live
from upsert.core.checks import Check
from upsert.core.docker_config import DATA_KEY, Entry
from upsert.core.objects import Desired
from upsert.core.resources import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    RESOURCE_QUOTAS,
    SECRETS,
    Resource,
)
from upsert.core.sensitive import Sensitive
from upsert.kinds import comparison
from upsert.kinds.kind import Kind

NAMESPACE, NAME = "team-a", "any"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
WORDS = ("token", "db.password", "a", "KEY_2", "ca.crt", "tls.crt", "tls.key", "username", "password", "ssh-privatekey")

type Bytes = Mapping[str, bytes]


@dataclass
class Case:
    """A live object, what a refresh would write, and what is to be said of each key."""

    kind: Kind
    document: dict[str, Any]
    new: Desired
    expected: dict[str, str]
    secrets: list[str] = field(default_factory=list)


def token(rng: random.Random, length: int = 24) -> str:
    return "".join(rng.choice(ALPHABET) for _ in range(length))


def value(rng: random.Random, secrets: list[str]) -> bytes:
    """Return a value with a canary in it, in one of the forms that values have."""
    canary = token(rng)
    secrets.append(canary)
    forms: tuple[Callable[[], bytes], ...] = (
        canary.encode,
        f"{canary}\n".encode,
        f"-----BEGIN PRIVATE KEY-----\n{canary}\n-----END PRIVATE KEY-----\n".encode,
        lambda: json.dumps({"password": canary, "n": rng.randrange(9)}, indent=rng.choice((None, 2))).encode(),
        f"é{canary}ü\r\n{rng.random()}".encode,
        lambda: rng.randbytes(rng.randrange(1, 40)) + canary.encode(),
        lambda: base64.b64encode(canary.encode()),
    )
    return rng.choice(forms)()


def changed(rng: random.Random, one: bytes, secrets: list[str]) -> bytes:
    """Return what became of a value in the ways in which values differ; some of them change nothing."""
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: one,
        lambda: one,
        lambda: one + b"\n",
        lambda: one.rstrip(b"\n"),
        lambda: one.replace(b"\n", b"\r\n"),
        lambda: b"\xef\xbb\xbf" + one,
        lambda: b'"' + one + b'"',
        lambda: b" " + one + b" ",
        lambda: base64.b64encode(one),
        lambda: one.replace(b"\n", rb"\n"),
        lambda: one[: rng.randrange(len(one) + 1)],
        lambda: bytes([one[0] ^ 1]) + one[1:],
        lambda: b"",
        lambda: value(rng, secrets),
    )
    return rng.choice(ways)()


def said(before: bytes | None, after: bytes | None) -> str:
    """Return what is to be said of a key, without the differences."""
    if before is None:
        return "ONLY IN NEW"
    if after is None:
        return "ONLY IN LIVE"
    return "MATCH" if before == after else f"MISMATCH ({len(before)} vs {len(after)} bytes"


def pairs(rng: random.Random, keys: list[str], secrets: list[str]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return live and new values: of most keys both, of some only one."""
    new = {key: value(rng, secrets) for key in keys if rng.random() < 0.9}
    old = {key: changed(rng, new[key], secrets) if key in new else value(rng, secrets) for key in keys}
    return {key: one for key, one in old.items() if key not in new or rng.random() < 0.9}, new


def names(rng: random.Random, secrets: list[str]) -> list[str]:
    """Return keys. One may be a value that somebody put in the place of a name."""
    keys = rng.sample(WORDS, rng.randrange(1, 6))
    if rng.random() < 0.2:
        secrets.append(token(rng))
        keys.append(secrets[-1])
    return keys


def encoded(values: Bytes) -> dict[str, str]:
    return {key: base64.b64encode(one).decode() for key, one in values.items()}


def document(rng: random.Random, resource: Resource, **content: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": NAME, "namespace": NAMESPACE, "uid": "5d7e9c1e", "resourceVersion": "7"}
    if rng.random() < 0.3:
        owned: dict[str, Any] = {"f:data": {f"f:{key}": {} for key in content.get("data", {})}}
        metadata["managedFields"] = [{"manager": "kubectl-create", "operation": "Update", "fieldsV1": owned}]
    if rng.random() < 0.2:
        metadata["annotations"] = {"example.com/last-applied": json.dumps(content)}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}


def sensitive(values: Bytes) -> dict[str, Sensitive[bytes]]:
    return {key: Sensitive(one) for key, one in values.items()}


def of_keys(rng: random.Random, kind: Kind) -> Case:
    """A Secret whose keys stand for themselves."""
    secrets: list[str] = []
    keys = names(rng, secrets)
    old, new = pairs(rng, keys, secrets)
    if any(key in secrets for key in keys):
        # What is in the place of a name is a value as well, or nobody could know it for one.
        old[keys[0]] = keys[-1].encode()
    written = document(rng, SECRETS, type=kind.type, data=encoded(old))
    expected = {key: said(old.get(key), new.get(key)) for key in old | new}
    return Case(kind, written, Desired(SECRETS, NAME, kind.type, sensitive(new)), expected, secrets)


def is_text(one: bytes) -> bool:
    try:
        one.decode()
    except UnicodeDecodeError:
        return False
    return True


def of_config_map(rng: random.Random) -> Case:
    secrets: list[str] = []
    old, new = pairs(rng, rng.sample(WORDS, rng.randrange(1, 6)), secrets)
    in_data = {key for key, one in old.items() if is_text(one) and rng.random() < 0.9}
    written = document(
        rng,
        CONFIG_MAPS,
        data={key: old[key].decode() for key in sorted(in_data)},
        binaryData=encoded({key: old[key] for key in sorted(old.keys() - in_data)}),
    )
    expected = {key: said(old.get(key), new.get(key)) for key in old | new}
    binary = frozenset(key for key, one in new.items() if not is_text(one))
    desired = Desired(CONFIG_MAPS, NAME, "", sensitive(new), binary_keys=binary)
    return Case(kinds.TABLE["ConfigMap"], written, desired, expected, secrets)


def of_registries(rng: random.Random) -> Case:
    """A docker config with the entries of registries, of which one may get a new password each time."""
    secrets: list[str] = []
    hosts = rng.sample(("quay.io", "ghcr.io", "a.io:5000", "b.example.com", "c.example.com/team"), rng.randrange(1, 5))
    old: dict[str, dict[str, str]] = {}
    new: dict[str, dict[str, str]] = {}
    for host in hosts:
        password = token(rng)
        secrets.append(password)
        if rng.random() < 0.9:
            new[host] = {"username": "robot", "password": password}
        if rng.random() < 0.9 or host not in new:
            secrets.append(token(rng))
            old[host] = {
                "username": rng.choice(("robot", "robot\n", "another")),
                "password": rng.choice((password, password, f"{password}\n", secrets[-1])),
            }
    for fields in (*old.values(), *new.values()):
        pair = f"{fields['username']}:{fields['password']}"
        fields["auth"] = base64.b64encode(pair.encode()).decode()
    rotating = frozenset(host for host in new if rng.random() < 0.3)
    text = json.dumps({"auths": old}, separators=(",", ":")).encode()
    expected = {
        f"{host}/{name}": of_field(host, name, old.get(host), new.get(host), rotating)
        for host in old | new
        for name in ("username", "password", "auth")
    }
    kept = [
        {
            **fields,
            **({name: old[host][name] for name in ("password", "auth")} if host in rotating & old.keys() else {}),
        }
        for host, fields in new.items()
    ]
    unrotated = written_as(dict(zip(new, kept, strict=True)))
    expected[DATA_KEY] = said(text, unrotated)
    desired = Desired(SECRETS, NAME, PULL.type, {DATA_KEY: Sensitive(written_as(new))}, rotating=rotating)
    return Case(
        PULL, document(rng, SECRETS, type=PULL.type, data=encoded({DATA_KEY: text})), desired, expected, secrets
    )


def written_as(auths: Mapping[str, Mapping[str, str]]) -> bytes:
    entries = (
        Entry(host, tuple((name, Sensitive(one)) for name, one in fields.items())) for host, fields in auths.items()
    )
    return docker_config.write(entries).reveal()


def of_field(
    host: str, name: str, old: Mapping[str, str] | None, new: Mapping[str, str] | None, rotating: frozenset[str]
) -> str:
    found = said(old[name].encode() if old else None, new[name].encode() if new else None)
    rotates = host in rotating and name != "username"
    return found.replace("MISMATCH", "ROTATES") if rotates else found


def of_manifest(rng: random.Random, resource: Resource) -> Case:
    """A manifest, with values that the API server keeps as they are."""
    make = MANIFESTS[resource]
    new, old = make(rng), make(rng)
    if rng.random() < 0.4:
        old = json.loads(json.dumps(new))
    before, after = flat(old), flat(new)
    expected = {key: said(before.get(key), after.get(key)) for key in before | after}
    desired = Desired(resource, NAME, "", {}, rest={"spec": new})
    return Case(kinds.TABLE[resource.kind], document(rng, resource, spec=old), desired, expected)


def quota(rng: random.Random) -> dict[str, Any]:
    # Quantities are told apart by what they come to, so these have one spelling.
    return {
        "hard": {key: str(rng.randrange(1, 4)) for key in rng.sample(("pods", "limits.cpu", "count/jobs.batch"), 2)}
    }


def limits(rng: random.Random) -> dict[str, Any]:
    return {"limits": [{"type": "Pod", "max": {"cpu": str(rng.randrange(1, 4))}}]}


def policy(rng: random.Random) -> dict[str, Any]:
    ports = [{"port": rng.choice((53, 443)), "protocol": rng.choice(("TCP", "UDP"))}]
    return {
        "podSelector": {"matchLabels": {"app": rng.choice("ab")}},
        "policyTypes": ["Egress"],
        "egress": [{"ports": ports}],
    }


def budget(rng: random.Random) -> dict[str, Any]:
    return {
        rng.choice(("minAvailable", "maxUnavailable")): rng.choice((1, 2, "50%")),
        "selector": {"matchLabels": {"app": rng.choice("ab")}},
    }


MANIFESTS = {RESOURCE_QUOTAS: quota, LIMIT_RANGES: limits, NETWORK_POLICIES: policy, DISRUPTION_BUDGETS: budget}
MERGED = ("hard",)


def flat(spec: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the texts of a spec by the paths that an apply merges."""
    found = {}
    for name, one in spec.items():
        inner = one.items() if name in MERGED else ()
        for key, text in inner:
            step = f".{key}" if re.fullmatch(r"[\w-]+", key) else f'["{key}"]'
            found[f"spec.{name}{step}"] = json.dumps(text).encode()
        if name not in MERGED:
            found[f"spec.{name}"] = json.dumps(one, sort_keys=True).encode()
    return found


PULL = kinds.TABLE["docker-registry"]
OF_KEYS = tuple(kinds.TABLE[word] for word in ("generic", "tls", "basic-auth", "ssh-auth"))
ANY_TYPE = kinds.find("Secret", "example.com/token")


def case(seed: int) -> Case:
    """Return the case of that number: each kind in its turn."""
    rng = random.Random(seed)
    assert ANY_TYPE is not None
    makers: tuple[Callable[[], Case], ...] = (
        *(lambda kind=kind: of_keys(rng, kind) for kind in (*OF_KEYS, ANY_TYPE)),
        lambda: of_config_map(rng),
        lambda: of_registries(rng),
        *(lambda one=one: of_manifest(rng, one) for one in MANIFESTS),
    )
    return makers[seed % len(makers)]()


def checked(one: Case) -> Check:
    found = live.parse_of(NAMESPACE, NAME, 200, one.document)
    return checks.check(f"{one.new.resource.kind.lower()}/{NAME}", NAMESPACE, found, one.new, comparison.of(one.kind))


def faults(one: Case) -> tuple[list[str], set[str]]:
    """Return what the check says that is not so, and the secrets that show in what it says."""
    result = checked(one)
    canary = Canary()
    for number, secret in enumerate(one.secrets):
        canary.learn(str(number), secret)
    here = f"{NAMESPACE}/{NAME}/"
    verdicts = [line.removeprefix(here) for line in result.lines if line.startswith(here)]
    told = {key: verdict for key, _, verdict in (line.partition(": ") for line in verdicts)}
    hidden = sorted(verdict for key, verdict in told.items() if key.startswith("<"))
    plain = {key: verdict for key, verdict in told.items() if not key.startswith("<")}
    wrong = [
        f"{key}: {plain[key]}, expected {expected}"
        for key, expected in one.expected.items()
        if key in plain and not is_said(plain[key], expected)
    ]
    unsaid = [expected for key, expected in one.expected.items() if key not in plain]
    if plain.keys() - one.expected.keys() or len(unsaid) != len(hidden):
        wrong.append(f"keys {sorted(plain)} and {len(hidden)} more, expected {sorted(one.expected)}")
    elif not all(map(is_said, hidden, sorted(unsaid))):
        wrong.append(f"{hidden}, expected {unsaid}")
    spoken = "\n".join((*result.lines, repr(result), repr(result.live)))
    return wrong, canary.leaks(spoken)


def is_said(verdict: str, expected: str) -> bool:
    return verdict == expected or ("(" in expected and verdict.startswith((f"{expected})", f"{expected}; ")))


def run(count: int) -> tuple[list[str], set[str]]:
    wrong: list[str] = []
    leaks: set[str] = set()
    for seed in range(count):
        said_wrongly, leaked = faults(case(seed))
        wrong += [f"case {seed}: {one}" for one in said_wrongly]
        leaks |= {f"case {seed}: {one}" for one in leaked}
    print(f"check: cases={count} wrong={len(wrong)} leaks={len(leaks)}")
    return wrong, leaks


def test_a_few_hundred_objects_of_every_kind_are_told_as_they_are() -> None:
    assert run(440) == ([], set())


@pytest.mark.soak
def test_thousands_of_objects_of_every_kind_are_told_as_they_are() -> None:
    assert run(5000) == ([], set())


def test_the_cases_are_of_every_kind_and_every_verdict() -> None:
    cases = [case(seed) for seed in range(440)]
    assert {one.kind.word for one in cases} == {*kinds.TABLE, "example.com/token"}
    words = {verdict.partition(" (")[0] for one in cases for verdict in one.expected.values()}
    assert words == {"MATCH", "MISMATCH", "ROTATES", "ONLY IN LIVE", "ONLY IN NEW"}
    assert any("<withheld name" in line for one in cases for line in checked(one).lines)
    assert any("expected in" in line for one in cases for line in checked(one).lines)
