"""Random docker configs, each from its seed: mostly readable, with the faults and spellings that people make."""

import base64
import json
from random import Random

from tests.kubelet.configs import Case

_LABELS = ("reg", "example", "io", "docker", "index", "quay", "public", "ecr", "aws", "dkr", "a", "1", "localhost", "")
_GLOBS = ("*", "r*", "*g", "re*g", "**", "*e*a*", "[r]eg", "r?g", "REG", "r\u00e9g", "%C3%A9", "re%67", "r_g", "1*")
_KNOWN = (
    *("docker.io", "index.docker.io", "https://index.docker.io/v1/", "quay.io", "localhost:5000", "10.0.0.1:5000"),
    *("[::1]:5000", "[::1]", "[2001:DB8::A]", "*", "*:5000", "*.*", "A", "public.ecr.aws/alias", "*.ecr.aws"),
    *("111122223333.dkr.ecr.eu-central-1.amazonaws.com", "*.dkr.ecr.*.amazonaws.com"),
)
_SCHEMES = (
    "",
    "",
    "",
    "https://",
    "http://",
    "HTTPS://",
    "oci://",
    "//",
    "https:",
    "u@",
    "u:p@",
    "\u00fc@",
    " ",
    "https://u@",
)
_PORTS = ("", "", "", ":443", ":5000", ":", ":x", ":1:2", ":*")
_PATHS = (
    *(
        "",
        "",
        "",
        "/",
        "/v1/",
        "/v2/",
        "/v1",
        "/v2/team",
        "/v1/team/app",
        "/v2/v2/",
        "/team",
        "/te",
        "/team/",
        "/team/app",
    ),
    *(
        "/team/app/x",
        "/Team",
        "/%74eam",
        "/%",
        "/%zz",
        "/team%2Fapp",
        "//team",
        "/team?x",
        "?x=%zz",
        "#x",
        "#%zz",
        "/*",
    ),
    *("/team#%41", "?", "#", "/te am", "/\u00e4", "\n", "\x7f", "/%0a", "/%3f", "/%23", "/%25", "/%2574eam"),
)
_REPOSITORIES = (
    "team/app",
    "team/app:1",
    "te/app",
    "team",
    "v2/team/app",
    "a",
    "library/nginx",
    "Team/app",
    "team/a__b:x",
)
_TEXTS = ("", "u", "AWS", "p:w", "j\u00fcrgen", "\U0001f600", "\0", "a b", "x" * 40, "\u2028", "\ud83d", "\ufffd")
_WRONG: tuple[object, ...] = (None, 0, 1.5, True, [], ["dTpw"], {}, {"auth": 1}, [[[]]])
_FIELDS = (
    "username",
    "password",
    "email",
    "auth",
    "Username",
    "PASSWORD",
    "Auth",
    "AUTH",
    "u\u017fername",
    "pa\u00dfword",
    "x",
)
_MEMBERS = ("auths", "auths", "auths", "Auths", "AUTHS", "auth\u017f", "HttpHeaders", "httpheaders", "credHelpers", "x")
_BYTES = b'{}[]:,"\\/ \t\n\r\0\x1f\x7f\xff\xc3\xa9=Aau0-+.eE_*%n\xed\xa0\x80'


class _Pairs(dict[str, object]):
    """An object that may name a member twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__([("", None)] if pairs else [])  # json asks whether there is anything
        self._pairs = pairs

    def items(self) -> list[tuple[str, object]]:  # type: ignore[override]
        """Return the members in their order."""
        return self._pairs


def case(seed: int) -> Case:
    """Return the docker config of a seed, and images that may match its hosts."""
    random = Random(seed)
    hosts = [_host(random) for _ in range(random.choice((0, 1, 1, 2, 3, 5)))]
    for _ in range(random.choice((0, 0, 1, 2))):
        if hosts:  # another spelling of one that is there
            hosts.append(random.choice(_SCHEMES) + random.choice(hosts) + random.choice(_PATHS))
    config = json.dumps(
        _document(random, hosts),
        ensure_ascii=random.random() < 0.5,
        separators=random.choice(((",", ":"), (", ", ": "))),
    ).encode(errors="surrogatepass")
    if random.random() < 0.1:
        config = _damaged(random, config)
    return Case(f"seed {seed}", config, tuple(_image(random, hosts) for _ in range(3)))


def _document(random: Random, hosts: list[str]) -> object:
    if random.random() < 0.02:
        return random.choice((*_WRONG, "auths"))
    members: list[tuple[str, object]] = [("auths", _pairs(random, hosts))]
    for _ in range(random.choice((0, 0, 0, 0, 1, 2))):
        name = random.choice(_MEMBERS)
        value: object = random.choice(_WRONG)
        if name.lower().startswith("auth") and random.random() < 0.8:
            value = _pairs(random, random.choices(hosts, k=1) if hosts else [_host(random)])
        elif random.random() < 0.6:
            value = {"a": random.choice(("b", None))}
        members.insert(random.randint(0, len(members)), (name, value))
    return _Pairs(members)


def _pairs(random: Random, hosts: list[str]) -> _Pairs:
    if hosts and random.random() < 0.1:
        hosts = [*hosts, random.choice(hosts)]
    return _Pairs([(host, _entry(random)) for host in hosts])


def _entry(random: Random) -> object:
    roll = random.random()
    if roll < 0.02:
        return random.choice((*_WRONG, "dTpw"))
    if roll < 0.5:
        return {"auth": _auth(random)}
    if roll < 0.6:
        return {"username": random.choice(_TEXTS), "password": random.choice(_TEXTS), "auth": _auth(random)}
    fields: list[tuple[str, object]] = []
    for _ in range(random.randint(0, 5)):
        name = random.choice(_FIELDS)
        text = _auth(random) if name.lower() == "auth" else random.choice(_TEXTS)
        fields.append((name, random.choice(_WRONG) if random.random() < 0.02 else text))
    return _Pairs(fields)


def _auth(random: Random) -> str:
    login = f"{random.choice(_TEXTS)}:{random.choice(_TEXTS)}".encode(errors="surrogatepass")
    if random.random() < 0.05:
        login = random.randbytes(random.randint(0, 3)) + random.choice((b":", b":", b"")) + random.randbytes(4)
    auth = base64.b64encode(login).decode()
    roll = random.random()
    if roll < 0.2:
        return auth.rstrip("=")
    if roll < 0.3:
        return auth.replace(auth[2:3], auth[2:3] + random.choice(("\n", "\r\n")))
    if roll < 0.33:
        at = random.randint(0, len(auth))
        return (
            auth[:at] + random.choice(("\n", "\r", "\r\n", "\n", " ", "\t", "=", "-", "_", "\u00a0", "A")) + auth[at:]
        )
    if roll < 0.35:
        return random.choice(
            ("u:p", "glpat-abcdEFGH1234", "=", " ", "abcdEFGH", auth[:-1], base64.urlsafe_b64encode(login).decode())
        )
    return auth


def _host(random: Random) -> str:
    if random.random() < 0.3:
        host = random.choice(_KNOWN)
    else:
        pool = _LABELS if random.random() < 0.6 else _LABELS + _GLOBS
        host = ".".join(random.choice(pool) for _ in range(random.randint(1, 3))) + random.choice(_PORTS)
    if random.random() < 0.5:
        host = random.choice(_SCHEMES) + host + random.choice(_PATHS)
    return host


def _image(random: Random, hosts: list[str]) -> str:
    host = random.choice(hosts or list(_KNOWN)) if random.random() < 0.8 else random.choice(_KNOWN)
    host = host.removeprefix("https://").removeprefix("http://")
    if random.random() < 0.9:
        host = host.partition("/")[0].replace("**", "*").replace("*", random.choice(("reg", "a", "io")))
    host = host.replace("[r]", "r").replace("?", "e")
    return random.choice(("", f"{host}/", f"{host}/", f"{host}/")) + random.choice(_REPOSITORIES)


def _damaged(random: Random, config: bytes) -> bytes:
    damaged = bytearray(config)
    for _ in range(random.choice((1, 1, 2))):
        at = random.randint(0, len(damaged))
        piece = bytes(random.choices(_BYTES, k=random.choice((0, 1, 1, 2))))
        damaged[at : at + random.choice((0, 1, 1, 3))] = piece
    return bytes(damaged)
