"""kubernetes.io/dockerconfigjson: what a kubelet pulls images with."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from upsert.core import docker_auth, docker_config
from upsert.core.docker_config import DATA_KEY, Entry, Login, NotADockerConfig
from upsert.core.fields import Fields
from upsert.core.grammars import EMAIL, SERVER, USERNAME
from upsert.core.names import Names
from upsert.core.objects import BadMaterial, Desired, Material, NothingYet, Object, Part, Ref
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.kinds.kind import Kind, PartReader

_AUTHS = "auths"
_LOGIN = ("server", "username", "password", "email")
# As `kubectl create secret docker-registry` has it.
_DOCKER_HUB = "https://index.docker.io/v1/"
_FORM = 'expected {"auths": {"HOST": {"username": "…", "password": "…", "auth": "…"}}} with at least one host'


def _parts(fields: Fields, reader: PartReader) -> Sequence[Part]:
    """Return the parts of each registry: a login, ``auths`` for the entries that a value holds, or a login's parts."""
    found: list[Part] = []
    hosts: dict[str, str] = {}
    refs: set[Ref] = set()
    for index, at in enumerate(fields.children("registries", "registries, such as {ecr: {}}")):
        place = f"registries[{index}]"
        if any(name in at for name in _LOGIN):
            parts = _parts_of_login(place, at, reader)
            host = parts[0].ref.get("text")
        elif _AUTHS in at:
            at.closed((_AUTHS,))
            value = at.child(_AUTHS, "a source, such as {secret: NAME}")
            parts, host = [reader.part(f"{place}.{_AUTHS}", value, login=False)], ""
        else:
            parts = [reader.part(place, at, login=True)]
            host = reader.host(parts[0].ref)
        host = docker_config.undecorated(host)
        if len(parts) == 1 and parts[0].ref in refs:
            at.wrong(None, "is there twice; expected each registry once")
        elif host and (first := hosts.setdefault(host.lower(), place)) != place:
            at.wrong(None, f"is {host}, and so is {first}; expected each registry once")
        found += parts
        refs.update(part.ref for part in parts)
    return found


def _parts_of_login(place: str, at: Fields, reader: PartReader) -> list[Part]:
    """Return the parts of ``{server, username, password, email}``, the server first."""
    at.closed(_LOGIN)
    texts = {"server": at.text("server", SERVER, default=_DOCKER_HUB, is_secret=True)}
    if "email" in at:
        texts["email"] = at.text("email", EMAIL, is_secret=True)
    sources = {"password": at.child("password", "a source, such as {secret: NAME, member: password}")}
    if isinstance(at.value.get("username"), Mapping):
        sources["username"] = at.child("username", "a source")
    else:
        texts["username"] = at.text("username", USERNAME, is_secret=True)
    return [
        *(Part(f"{place}.{name}", Ref("value", (("text", text),))) for name, text in texts.items()),
        *(reader.part(f"{place}.{name}", one, login=False) for name, one in sources.items()),
    ]


def _build(wanted: Object, materials: Mapping[str, Material]) -> Desired:
    """Return the Secret with an entry for each login, and the entries that are kept for other registries."""
    logins: list[Login] = []
    rotating: set[str] = set()
    kept: list[Entry] = []
    by_parts: dict[str, dict[str, str]] = {}
    for place, material in materials.items():
        registry, _, name = place.partition(".")
        if name in _LOGIN:
            by_parts.setdefault(registry, {})[name] = _text(place, material.data["value"])
        elif "server" in material.data:
            server, username, password = (_text(place, material.data[key]) for key in _LOGIN[:3])
            logins.append(Login(server, username, Sensitive(password)))
            rotating.add(server)
        else:
            kept.extend(_entries(place, material.data["value"]))
    # Where one of the sources holds nothing yet, there is no login yet.
    logins += [_login(texts) for texts in by_parts.values() if texts.keys() >= set(_LOGIN[:3])]
    _refuse_repeated(login.host for login in logins)
    _refuse_repeated(entry.host for entry in kept)
    text = docker_config.write(docker_config.merge(logins, kept))
    if why := docker_auth.unreadable(text.reveal()):
        # One such entry, and a kubelet has no login for any host of the Secret.
        raise BadMaterial(f"a kubelet could not read the Secret: {why}")
    return Desired(SECRETS, wanted.name, KIND.type, {DATA_KEY: text}, rotating=frozenset(rotating))


def _login(texts: Mapping[str, str]) -> Login:
    return Login(texts["server"], texts["username"], Sensitive(texts["password"]), texts.get("email", ""))


def _text(place: str, value: Sensitive[bytes]) -> str:
    try:
        text = value.reveal().decode()
    except UnicodeDecodeError:
        raise BadMaterial(f"{place}: is no UTF-8; expected a text") from None
    if not text:
        raise BadMaterial(f"{place}: is empty; expected a text")
    if place.endswith(".username") and ":" in text:
        raise BadMaterial(f"{place}: has a colon, behind which a kubelet takes it for the password; expected none")
    return text


def _entries(place: str, value: Sensitive[bytes]) -> tuple[Entry, ...]:
    try:
        entries = docker_config.entries_of(value)
    except NotADockerConfig as wrong:
        raise BadMaterial(f"{place}: {wrong}; {_FORM}") from None
    if not entries:
        raise NothingYet(place, f"{place}: holds no entry; {_FORM}")
    return entries


def _refuse_repeated(hosts: Iterable[str]) -> None:
    names = Names()
    for host, count in Counter(map(docker_config.bare, hosts)).items():
        if count > 1:
            raise BadMaterial(f"the host {names.of_host(host)} is there more than once; expected one entry per host")


KIND = Kind(
    word="docker-registry",
    resource=SECRETS,
    type="kubernetes.io/dockerconfigjson",
    own_fields=("registries",),
    parts=_parts,
    build=_build,
)
