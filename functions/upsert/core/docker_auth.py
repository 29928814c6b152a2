"""What a kubelet makes of a docker config: whether it can read it, and which logins an image gets.

The rules are those of the kubelet's own parser (k8s.io/kubernetes/pkg/credentialprovider, encoding/json and net/url of
Go), told in tests/kubelet/__init__.py; tests hold every verdict here equal to that parser's. One is stricter on
purpose: a config that is nested almost as deeply as Go allows, 10,000 levels, is too deep for Python's own parser.
"""

import base64
import ipaddress
import json
import re
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote_to_bytes

from upsert.core.sensitive import Sensitive

type Login = tuple[str, Sensitive[str]]
type _HostAndPath = tuple[bytes, bytes]

_SURROGATE = "[\ud800-\udfff]"
_BASE64 = r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?"
# A host that may be printed: someone may have put a password or a token in its place.
_PRINTABLE = (
    r"(https?://)?(?=[^/]*[.:])[A-Za-z0-9*-]{1,63}(\.[A-Za-z0-9*-]{1,63}){0,8}(:[0-9]{1,5})?(/[a-z0-9._-]{1,63}){0,8}/?"
)

# What net/url lets stand in each part of a URL. A host of other letters than an image's is ignored, or never matches.
_CONTROL = rb"[\x00-\x1f\x7f]"
_BROKEN_ESCAPE = rb"%(?![0-9A-Fa-f]{2})"
_USER = rb"(?:[A-Za-z0-9._:~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})*"
_HOST = rb"[A-Za-z0-9._*\]-]*(?::[0-9]*)?"
_IPV6_HOST = rb"\[([0-9A-Fa-f:.]*)\](?::[0-9]*)?"
_HOST_WITH_PORT = rb"(?s)(?:\[(.*)\]|([^\]]*)):([0-9]*)"

# https://pkg.go.dev/github.com/distribution/reference, whose Go alternatives are tried in this order as well.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = (
    rf"(?P<name>(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*))"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?"
)
_DOCKER_HUB = b"index.docker.io"

# https://docs.aws.amazon.com/general/latest/gr/ecr.html; the suffixes are those of all partitions, held by a test.
_ANY = {"ACCOUNT": r"[0-9]{12}|[0-9*]*\*[0-9*]*", "REGION": r"[a-z0-9*_-]+"}
_SUFFIXES = (
    *("amazonaws.com", "amazonaws.com.cn", "amazonaws.eu"),
    *("on.aws", "on.amazonwebservices.com.cn", "on.amazonwebservices.eu"),
    *("c2s.ic.gov", "sc2s.sgov.gov", "cloud.adc-e.uk", "csp.hci.ic.gov"),
)
_ECR_HOSTS = [
    *(f"ACCOUNT.dkr{dot}ecr{fips}.REGION.{suffix}" for dot in ".-" for fips in ("", "-fips") for suffix in _SUFFIXES),
    *("public.ecr.aws", "ecr-public.ecr.aws", "ecr-public.aws.com"),
]


class _UnreadableError(Exception):
    """A kubelet cannot read a config; the message says why without a value of it."""


class _Object(list[tuple[str, Any]]):
    """A JSON object with all of its members, repeated ones too, in their order."""


def unreadable(text: bytes) -> str | None:
    """Return why a kubelet cannot read this config, and so none of its logins; None if it can. Holds no value."""
    try:
        _auths(text)
    except _UnreadableError as error:
        return str(error)
    return None


def logins(text: bytes, image: str) -> list[Login]:
    """Return the logins that a kubelet tries for an image as a pod names it, in order; none from an unreadable config.

    Hosts that differ in scheme, /v1/ or /v2/ only are one to a kubelet, which tries their logins in an order of chance;
    here they are sorted. What is no UTF-8 in an `auth` stands as surrogates (PEP 383).
    """
    try:
        auths = _auths(text)
    except _UnreadableError:
        return []
    repository = _repository(image)
    target = _parse_url(repository)
    if not repository or target is None:
        return []
    keyring: dict[bytes, list[Login]] = {}
    for host in sorted(auths):
        key = _key(host)
        if key is not None:
            keyring.setdefault(key, []).append(auths[host])
    found = [login for key in sorted(keyring, reverse=True) if _covers(key, target) for login in keyring[key]]
    registry = repository.partition(b"/")[0]
    if not found and (registry == b"docker.io" or not re.search(rb"[.:]", registry)):
        return keyring.get(_DOCKER_HUB, [])
    return found


def is_ecr(host: str) -> bool:
    """Return whether a host of a docker config can give its login to an image of an ECR registry.

    In any spelling and as a pattern, `*.dkr.ecr.*.amazonaws.com` as well as `*.*.*.*.*.*`; upper case and any scheme
    count too, though a kubelet would not match them: the login is ECR's, and lives 12 hours.
    """
    authority = re.split(r"[/?#]", re.sub(r"^[a-z][a-z0-9+.-]*://", "", host.strip().lower()), maxsplit=1)[0]
    name = re.sub(r":[0-9]*$", "", authority.rpartition("@")[2]).rstrip(".")
    return any(_can_be(name.split("."), ecr.split(".")) for ecr in _ECR_HOSTS)


def _can_be(patterns: list[str], labels: list[str]) -> bool:
    return len(patterns) == len(labels) and all(
        bool(re.fullmatch(_ANY[label], pattern)) if label in _ANY else fnmatchcase(label, pattern)
        for pattern, label in zip(patterns, labels, strict=True)
    )


def _auths(text: bytes) -> dict[str, Login]:
    """Return the login of each spelled host. Raises `_UnreadableError` unless all of them can be read."""
    auths: dict[str, Login] = {}
    for name, value in _members(_parse(text), "the config"):
        field = _folded(name)
        if field == "auths":
            hosts = _members(value, "auths")
            read = {_text(host): _login(entry, at, host) for at, (host, entry) in enumerate(hosts)}
            auths = {} if value is None else auths | read
        if field == "httpheaders" and not all(isinstance(one, str | None) for _, one in _members(value, "HttpHeaders")):
            raise _UnreadableError("a value of HttpHeaders is no text")
    return auths


def _login(entry: object, at: int, host: str) -> Login:
    place = f"auths[{at}] ({host})" if re.fullmatch(_PRINTABLE, host) else f"auths[{at}]"
    fields = dict.fromkeys(("username", "password", "email", "auth"), "")
    for name, value in _members(entry, place):
        field = _folded(name)
        if field in fields and value is not None:
            if not isinstance(value, str):
                raise _UnreadableError(f"{field} of {place} is no text")
            fields[field] = _text(value)
    if not fields["auth"]:
        return fields["username"], Sensitive(fields["password"])
    auth = re.sub(r"[\r\n]", "", fields["auth"])
    if not re.fullmatch(_BASE64, auth):
        raise _UnreadableError(f"auth of {place} is no base64 (of the standard alphabet, without blanks)")
    bare = auth.rstrip("=")
    username, colon, password = base64.b64decode(bare + "=" * (-len(bare) % 4)).partition(b":")
    if not colon:
        raise _UnreadableError(f"auth of {place} is not the base64 of username:password")
    return username.decode(errors="surrogateescape"), Sensitive(password.decode(errors="surrogateescape"))


def _parse(text: bytes) -> Any:
    if not text:  # a kubelet passes over an empty one
        return None
    decoded = text.decode(errors="surrogateescape")
    try:
        # NaN and Infinity are no JSON: int() raises on them.
        return json.loads(decoded, object_pairs_hook=_Object, parse_int=float, parse_constant=int)
    except RecursionError:
        raise _UnreadableError("nested too deeply") from None
    except ValueError:
        why = "it starts with a byte order mark" if text.startswith(b"\xef\xbb\xbf") else "no JSON"
        raise _UnreadableError(why) from None


def _members(value: object, what: str) -> _Object:
    """Return the members of an object; null counts as an empty one."""
    if value is None:
        return _Object()
    if not isinstance(value, _Object):
        raise _UnreadableError(f"{what} is no JSON object")
    return value


def _text(value: str) -> str:
    """Return a string as Go decodes it: each byte that is no UTF-8, and each lone surrogate, becomes U+FFFD."""
    return re.sub(_SURROGATE, "\ufffd", value)


def _folded(name: str) -> str:
    """Return the name in the case in which encoding/json compares it; the long s is the one letter beyond ASCII."""
    return name.replace("\u017f", "s").lower()


def _key(host: str) -> bytes | None:
    """Return under which key a kubelet keeps a host, or None if that can match no image."""
    url = _parse_url(re.sub("^https?://", "", host, count=1).encode())
    if url is None:
        return None
    name, path = url
    if path.startswith((b"/v1/", b"/v2/")):
        path = path[3:]
    return name if path == b"/" else name + path


def _covers(key: bytes, target: _HostAndPath) -> bool:
    pattern = _parse_url(key)
    if pattern is None or not target[1].startswith(pattern[1]):
        return False
    (labels, port), (target_labels, target_port) = _split_host(pattern[0]), _split_host(target[0])
    if port != target_port or len(labels) != len(target_labels):
        return False
    # The one bracket in a host is that of an IPv6 address, which without a port reads as a set of characters.
    return all(fnmatchcase(label, pattern) for pattern, label in zip(labels, target_labels, strict=True))


def _split_host(host: bytes) -> tuple[list[bytes], bytes]:
    found = re.fullmatch(_HOST_WITH_PORT, host)
    name, port = (host, b"") if found is None else ((found[1] or found[2] or b""), found[3])
    return name.split(b"."), port


def _parse_url(schemeless: bytes) -> _HostAndPath | None:
    """Return host and path as Go's url.Parse reads them behind ``https://``, or None if they can match no image."""
    url, _, fragment = schemeless.partition(b"#")
    authority, slash, path = url.partition(b"?")[0].partition(b"/")
    user, at, host = authority.rpartition(b"@")
    if re.search(_CONTROL, url) or re.search(_BROKEN_ESCAPE, path) or re.search(_BROKEN_ESCAPE, fragment):
        return None
    if (at and not re.fullmatch(_USER, user)) or not (re.fullmatch(_HOST, host) or _is_ipv6(host)):
        return None
    return host, unquote_to_bytes(slash + path)


def _is_ipv6(host: bytes) -> bool:
    found = re.fullmatch(_IPV6_HOST, host)
    try:
        return found is not None and ipaddress.IPv6Address(found[1].decode()) is not None
    except ValueError:
        return False


def _repository(image: str) -> bytes:
    """Return the repository that a kubelet looks up for an image, Docker Hub's written out; empty for no image name."""
    registry, slash, rest = image.partition("/")
    if not slash or not (registry == "localhost" or re.search("[.:]", registry) or registry.lower() != registry):
        registry, rest = "docker.io", image
    elif registry == "index.docker.io":
        registry = "docker.io"
    if registry == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    found = re.fullmatch(_IMAGE, f"{registry}/{rest}")
    if found is None or len(found["path"]) > 255 or re.fullmatch("[a-f0-9]{64}", image):
        return b""
    return found["name"].encode()
