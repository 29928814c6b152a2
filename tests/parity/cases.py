"""Input of every kind but certificates, as strange as it may be: the same each time, by its number."""

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NAME = "parity"

# What the one or the other writes in a way of its own: Go's JSON, Python's, YAML, Go's idea of a blank.
_PIECES = (
    *("a", "Zz09", " ", "\t", "\n", "\r\n", "\r", "=", "#", ":", ",", "'", '"', "\\", "\\n", "\\u003c", "<", ">", "&"),
    *("</script>", "$(x)", "${y}", "`", "%", "{}", "[]", "- ", "---\n", "null", "true", "0x1f", "1e3", "~", "!x", "*a"),
    *("\x01", "\b", "\f", "\v", "\x1b[0m", "\x7f", "\x80", "\x85", "\xa0", "é", "ß", "\u200b", "\u2028", "\u2029"),
    *("\u3000", "\ud7ff", "\ue000", "\ufeff", "\ufffd", "\ufffe", "\uffff", "日本語", "\U0001f600", "\U0010ffff"),
)
_NO_TEXTS = (
    *(b"\xff", b"\x80", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88"),
    *("jürgen".encode("latin-1"), "text".encode("utf-16"), b"\x1f\x8b\x08\x00", b"\x30\x82\x01\x0a", b"\x89PNG\r\n"),
)
_KEY_LETTERS = "abcXYZ019-_."
_BAD_KEYS = ("a b", "ä", ".", "..", "..data", "a/b", "a\tb", "x" * 254, "a:b", "\u2028", "{}")
_ENV_NAMES = ("A", "a_b", "LOG.LEVEL", "_", "x-y", ".a", "-", "Z9", "A" * 100)
_BLANKS = ("", " ", "\t", "  \t ", "\u3000", "\xa0", "\x85", "\u2003", "\v", "\f")
_BAD_LINES = ("1A=x", "export A=1", "A B=1", "=x", "Ä=1", "A:1", "..=x", "..a=x", "\u200bA=1", "\ufeffA=1", "\x1cA=1")
_SERVERS = (
    *(
        "registry.example.com",
        "registry.example.com:5000",
        "https://registry.example.com",
        "docker.io",
        "localhost:5000",
    ),
    *("https://index.docker.io/v1/", "http://r.example.com/v2/", "Registry.Example.COM", "quay.io/team/app", "*.x.io"),
)

# A line that kubectl ends the file at, without a word.
LONGEST_LINE = 64 * 1024 - 1


@dataclass(frozen=True, slots=True)
class Case:
    """One object: its entry in the file, what lies beside that or in AWS, and what kubectl is told.

    Files and secrets are by path and name; kubectl is given both as files. If we refuse on purpose what kubectl takes,
    `stricter` is part of what we say.
    """

    name: str
    entry: Mapping[str, Any]
    arguments: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    stricter: str = ""


def cases(count: int) -> Iterator[Case]:
    """Give that many cases, of all sorts in turn; the first ones are always the same."""
    for number in range(count):
        sort = _SORTS[number % len(_SORTS)]
        named = f"{sort.__name__.strip('_')} {number // len(_SORTS)}"
        yield sort(named, random.Random(named))


def text(chance: random.Random, *, most: int = 12, without: str = "") -> str:
    """Return a text of odd pieces, and now and then one long line."""
    found = "".join(chance.choice(_PIECES) for _ in range(chance.randrange(most)))
    if chance.random() < 0.03:
        found += chance.choice("x<é") * chance.randrange(5_000, 30_000)
    return "".join(letter for letter in found if letter not in without)


def value(chance: random.Random) -> bytes:
    """Return a value as files have it: text, often with a mark, a NUL or line ends, or bytes that are none."""
    if chance.random() < 0.3:
        parts = [chance.choice((*_NO_TEXTS, text(chance).encode())) for _ in range(chance.randrange(1, 4))]
        return b"".join(parts)
    found = text(chance)
    return chance.choice((found, found + "\n", f"\ufeff{found}", f"{found}\0{found}", "\r\n".join(found))).encode()


def _keys(chance: random.Random, most: int = 6) -> list[str]:
    found = set()
    for _ in range(chance.randrange(1, most)):
        size = chance.choice((1, 2, 3, 8, 253))
        key = "".join(chance.choice(_KEY_LETTERS) for _ in range(size))
        found.add(f"x{key[1:]}" if key == "." or key.startswith("..") else key)
    keys = sorted(found)
    if chance.random() < 0.06:
        keys[-1] = chance.choice(_BAD_KEYS)
    return keys


class _Kept:
    """Secrets with values in them, each in one of the ways in which a value can be kept."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.secrets: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}

    def source(self, content: bytes) -> dict[str, str]:
        """Keep a value and return where; kubectl finds it in a file of the same number."""
        name = f"apps/{len(self.secrets)}"
        self.files[self.path(len(self.secrets))] = content
        try:
            plain = content.decode()
        except UnicodeDecodeError:
            plain = None
        ways = ["decoded", "decoded member"] if plain is None else ["member", "decoded", "decoded member"]
        ways += ["whole"] if plain else []
        ways += ["binary"] if plain is None else []
        way = self._chance.choice(ways if content else ["member", "decoded member"])
        encoded = base64.b64encode(content).decode()
        member = {"other": "x", "k\u2028<": encoded if way == "decoded member" else plain}
        self.secrets[name] = {
            "whole": (plain or "").encode(),
            "binary": content,
            "decoded": encoded.encode(),
        }.get(way, json.dumps(member, ensure_ascii=self._chance.random() < 0.5).encode())
        source = {"secret": name}
        if way.endswith("member"):
            source["member"] = "k\u2028<"
        if way.startswith("decoded"):
            source["decode"] = "base64"
        return source

    @staticmethod
    def path(number: int) -> str:
        return f"values/{number}"


def _entry(**fields: Any) -> dict[str, Any]:
    return {"name": NAME, "namespaces": {"include": ["apps"]}, **fields}


def _of_keys(name: str, chance: random.Random, values: Mapping[str, bytes], word: str, kubectl_type: str) -> Case:
    kept = _Kept(chance)
    data = {key: kept.source(content) for key, content in values.items()}
    arguments = ["secret", "generic", NAME, *([f"--type={kubectl_type}"] if kubectl_type else [])]
    arguments += [f"--from-file={key}={kept.path(number)}" for number, key in enumerate(values)]
    given = {} if word == "generic" and chance.random() < 0.5 else {"type": word}
    return Case(name, _entry(data=data, **given), arguments, kept.files, kept.secrets)


def _generic(name: str, chance: random.Random) -> Case:
    values = {key: value(chance) for key in _keys(chance)} if chance.random() < 0.97 else {}
    return _of_keys(name, chance, values, "generic", "")


def _full_type(name: str, chance: random.Random) -> Case:
    values = {key: value(chance) for key in _keys(chance)}
    word = chance.choice(("example.com/token", "Opaque", "bootstrap.kubernetes.io/token", "helm.sh/release.v1", "a/b"))
    return _of_keys(name, chance, values, word, word)


def _basic_auth(name: str, chance: random.Random) -> Case:
    values = {key: value(chance) for key in chance.choice((("username", "password"), ("username",), ("password", "x")))}
    word = "kubernetes.io/basic-auth"
    return _of_keys(name, chance, values, chance.choice(("basic-auth", word)), word)


def _ssh_auth(name: str, chance: random.Random) -> Case:
    values = {
        "ssh-privatekey": value(chance) + b"x",
        **({"known_hosts": value(chance)} if chance.random() < 0.5 else {}),
    }
    word = "kubernetes.io/ssh-auth"
    return _of_keys(name, chance, values, chance.choice(("ssh-auth", word)), word)


def _docker_login(name: str, chance: random.Random) -> Case:
    server = chance.choice((*_SERVERS, ""))
    username, password = text(chance, without=":") or "ci", text(chance) or "p"
    email = chance.choice(("", "ci@example.com", '"C&I" <ci@example.com>'))
    stricter = ""
    if chance.random() < 0.05:
        username, stricter = f"{username}:x", "has a colon"
    kept = _Kept(chance)
    is_plain = username.isprintable() and len(username) <= 512 and not stricter and chance.random() < 0.5
    login = {
        "username": username if is_plain else kept.source(username.encode()),
        "password": kept.source(password.encode()),
        **({"server": server} if server else {}),
        **({"email": email} if email else {}),
    }
    arguments = ["secret", "docker-registry", NAME, f"--docker-username={username}", f"--docker-password={password}"]
    arguments += [f"--docker-server={server}"] if server else []
    arguments += [f"--docker-email={email}"] if email or chance.random() < 0.5 else []
    entry = _entry(type="docker-registry", registries=[login])
    return Case(name, entry, arguments, secrets=kept.secrets, stricter=stricter)


def _docker_file(name: str, chance: random.Random) -> Case:
    auth = base64.b64encode(f"u:{text(chance)}".encode()).decode()
    entry: dict[str, Any] = {
        "auth": auth,
        "email": text(chance),
        "x": chance.choice((None, 1, 1.5, [], {"a": [text(chance)]})),
    }
    document = {"auths": dict.fromkeys(chance.sample(_SERVERS, 2), entry)}
    indent = chance.choice((None, 2, "\t"))
    content = json.dumps(document, indent=indent, ensure_ascii=chance.random() < 0.5).encode()
    content += chance.choice((b"", b"\n", b"\r\n \t"))
    kept = _Kept(chance)
    word = "kubernetes.io/dockerconfigjson"
    data = {".dockerconfigjson": kept.source(content)}
    arguments = ["secret", "docker-registry", NAME, f"--from-file={chance.choice(('', '.dockerconfigjson='))}values/0"]
    return Case(name, _entry(type=word, data=data, service_accounts=["default"]), arguments, kept.files, kept.secrets)


def _docker_legacy(name: str, chance: random.Random) -> Case:
    auth = base64.b64encode(f"u:{text(chance)}".encode()).decode()
    content = json.dumps({chance.choice(_SERVERS): {"auth": auth, "username": text(chance)}}).encode()
    word = "kubernetes.io/dockercfg"
    return _of_keys(name, chance, {".dockercfg": content}, word, word)


def _config_map(name: str, chance: random.Random) -> Case:
    kept = _Kept(chance)
    data: dict[str, dict[str, str]] = {}
    arguments = ["configmap", NAME]
    files: dict[str, bytes] = {}
    stricter = ""
    for number, key in enumerate(_keys(chance, 8) if chance.random() < 0.97 else ()):
        match chance.choice(("file", "file", "literal", "secret")):
            case "literal":
                literal = text(chance)
                data[key] = {"value": literal}
                arguments.append(f"--from-literal={key}={literal}")
            case "secret":
                path = kept.path(len(kept.secrets))
                data[key] = kept.source(value(chance))
                arguments.append(f"--from-file={key}={path}")
            case _:
                path = f"config/{number}.txt"
                files[path] = value(chance)
                data[key] = {"file": path}
                arguments.append(f"--from-file={key}={path}")
    if chance.random() < 0.05:
        # Each of the two is small enough, both together are not.
        half, stricter = chance.choice((b"x", b"\xff")) * (512 * 1024 + 1), "bytes; expected at most 1048576"
        for name_of_half in ("half", "other-half"):
            files[name_of_half] = half
            data[name_of_half] = {"file": name_of_half}
            arguments.append(f"--from-file={name_of_half}={name_of_half}")
    entry = _entry(kind="ConfigMap", data=data)
    return Case(name, entry, arguments, {**files, **kept.files}, kept.secrets, stricter)


def _env_file(name: str, chance: random.Random) -> Case:
    names = chance.sample(_ENV_NAMES, chance.randrange(1, len(_ENV_NAMES)))
    lines: list[bytes] = []
    stricter = ""
    for key in names:
        found = text(chance, without="\n")
        before = chance.choice(_BLANKS)
        lines.append(f"{before}{key}={chance.choice((found, f'"{found}"', f'{found}  '))}".encode())
        lines += [chance.choice((b"", b"# x=1", b"  # y", b"\t", "\u3000".encode()))] if chance.random() < 0.3 else []
    match chance.randrange(12):
        case 0:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(_BAD_LINES).encode())
        case 1:
            lines.append(names[0].encode() + b"=again")
        case 2:
            lines.append(b"BAD=\xff")
        case 3:
            lines.append(b"ONLY_A_NAME")
            stricter = "has a key without a value"
        case 4:
            lines.append(b"LONG=".ljust(LONGEST_LINE, b"x"))
        case 5:
            lines.insert(0, b"LONG=".ljust(LONGEST_LINE + chance.choice((1, 2, 5_000)), b"x"))
    content = chance.choice((b"\n", b"\n", b"\r\n")).join(lines) + chance.choice((b"", b"\n", b"\r\n"))
    if content.endswith(b"\r") and not stricter:
        content += b"\n"
    content = chance.choice((b"", b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf")) + content
    if any(len(line) > LONGEST_LINE for line in content.split(b"\n")):
        stricter = "since kubectl would end the file there"
    entry = _entry(kind="ConfigMap", data_from=[{"env_file": "defaults.env"}])
    arguments = ["configmap", NAME, "--from-env-file=defaults.env"]
    return Case(name, entry, arguments, {"defaults.env": content}, stricter=stricter)


_SORTS: tuple[Callable[[str, random.Random], Case], ...] = (
    *(_generic, _config_map, _env_file, _docker_login, _full_type),
    *(_basic_auth, _ssh_auth, _docker_file, _docker_legacy),
)
