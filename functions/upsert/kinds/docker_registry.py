"""kubernetes.io/dockerconfigjson: what a kubelet pulls images with."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from upsert.core import docker_auth, docker_comparison, docker_config
from upsert.core.docker_config import DATA_KEY, Entry, Login, NotADockerConfig
from upsert.core.fields import Fields
from upsert.core.names import Names
from upsert.core.objects import BadMaterial, Desired, Material, NothingYet, Object, Part
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.kinds.kind import Kind, PartReader

_AUTHS = "auths"
_FORM = 'expected {"auths": {"HOST": {"username": "…", "password": "…", "auth": "…"}}} with at least one host'


def _parts(fields: Fields, reader: PartReader) -> Sequence[Part]:
    """Return a part for each of the registries: a login, or ``auths``, the entries that a value holds."""
    found: list[Part] = []
    for index, at in enumerate(fields.children("registries", "registries, such as {ecr: {}}")):
        place = f"registries[{index}]"
        if _AUTHS in at:
            at.closed((_AUTHS,))
            value = at.child(_AUTHS, "a source, such as {secret: NAME}")
            one = reader.part(f"{place}.{_AUTHS}", value, login=False)
        else:
            one = reader.part(place, at, login=True)
        if one.ref in [other.ref for other in found]:
            at.wrong(None, "is there twice; expected each registry once")
        found.append(one)
    return found


def _build(wanted: Object, materials: Mapping[str, Material]) -> Desired:
    """Return the Secret with an entry for each login, and the entries that are kept for other registries."""
    logins: list[Login] = []
    kept: list[Entry] = []
    for place, material in materials.items():
        if "server" in material.data:
            server, username, password = (_text(material, key) for key in ("server", "username", "password"))
            logins.append(Login(server, username, Sensitive(password)))
        else:
            kept.extend(_entries(place, material.data["value"]))
    _refuse_repeated(login.host for login in logins)
    _refuse_repeated(entry.host for entry in kept)
    text = docker_config.write(docker_config.merge(logins, kept))
    if why := docker_auth.unreadable(text.reveal()):
        # One such entry, and a kubelet has no login for any host of the Secret.
        raise BadMaterial(f"a kubelet could not read the Secret: {why}")
    return Desired(
        resource=SECRETS,
        name=wanted.name,
        type=KIND.type,
        data={DATA_KEY: text},
        rotating=frozenset(login.host for login in logins),
    )


def _text(material: Material, key: str) -> str:
    return material.data[key].reveal().decode()


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
    compare=docker_comparison.compare,
)
