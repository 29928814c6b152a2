"""wrk, the load generator that the function is measured against.

https://github.com/wg/wrk sends requests from an event loop in C, so it shows what the API server can take.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.standins import ACCOUNT, REGION
from tests.support.ecr_standin import new_password
from tests.support.objects import pull_object
from tests.support.refresher import document, login
from upsert.core.identity import FIELD_MANAGER
from upsert.core.registries import private_host

# wrk is one program and a library; neither needs to be installed to run.
_DEBIAN_PACKAGES = ("wrk", "libluajit-5.1-2")
_SCRIPT = Path(__file__).with_name("patch.lua")
_TOKENS = 16


class WrkMissing(Exception):
    """wrk is not there and cannot be had; the message says what to do."""


class Wrk:
    """A wrk that runs."""

    def __init__(self, program: Path, libraries: Path | None = None) -> None:
        self._program = program
        self._environment = {**os.environ, **({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})}

    @property
    def version(self) -> str:
        """The first words that it says about itself."""
        done = subprocess.run([self._program, "-v"], env=self._environment, capture_output=True, text=True, check=False)
        return " ".join((done.stdout or done.stderr).split()[:2])

    def send(self, endpoint: str, work: Path, *, connections: int, seconds: int) -> None:
        """Send the PATCHes of `work` (see `write_work`) over so many connections for so many seconds."""
        command: list[str | Path] = [
            self._program,
            "--threads=1",
            f"--connections={connections}",
            f"--duration={seconds}s",
            f"--script={_SCRIPT}",
            endpoint,
            "--",
            work,
        ]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True)
        if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise RuntimeError(f"the API server refused PATCHes of wrk:\n{done.stdout}")


def locate() -> Wrk:
    """Return the wrk on PATH, or one from Debian's package, unpacked into the user's cache.

    Raises `WrkMissing`.
    """
    if found := shutil.which("wrk"):
        return Wrk(Path(found))
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "eks-upsert" / "wrk"
    if not (folder / "usr" / "bin" / "wrk").exists():
        _unpack(folder)
    libraries = next(folder.glob("usr/lib/*/libluajit-5.1.so.2"), None)
    if libraries is None:
        raise WrkMissing(f"the packages in {folder} hold no libluajit-5.1.so.2; install wrk and have it on PATH")
    return Wrk(folder / "usr" / "bin" / "wrk", libraries.parent)


def _unpack(folder: Path) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise WrkMissing("wrk is not on PATH, and this is no Debian to take its package from; install wrk")
    partial = folder.with_name("wrk.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        subprocess.run(
            ["apt-get", "download", *_DEBIAN_PACKAGES], cwd=partial, check=True, capture_output=True, text=True
        )
        for package in partial.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, "."], cwd=partial, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise WrkMissing(
            f"wrk is not on PATH, and {' '.join(error.cmd[:2])} failed: {error.stderr.strip()[-500:]}; install wrk"
        ) from None
    # The folder appears whole or not at all.
    partial.rename(folder)


QUERY = f"fieldManager={FIELD_MANAGER}&force=false"


def headers(token: str) -> dict[str, str]:
    """Return the headers that the function sends with a PATCH."""
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json",
        "Content-Type": "application/apply-patch+yaml",
        "User-Agent": FIELD_MANAGER,
    }


def write_work(path: Path, namespaces: Sequence[str], *, secret: str, token: str) -> None:
    """Write what wrk is to send: for each of some passes a manifest with a new login, rendered as the function does."""
    work: Mapping[str, object] = {
        "namespaces": list(namespaces),
        "secret": secret,
        "query": QUERY,
        "headers": headers(token),
        "bodies": [rendered(secret, password) for password in _passwords_of_one_length()],
    }
    path.write_text(f"return {_lua(work)}\n")


def _passwords_of_one_length() -> list[str]:
    shortest = min(passwords := [new_password() for _ in range(_TOKENS)], key=len)
    return [password[: len(shortest)] for password in passwords]


def rendered(secret: str, password: str) -> str:
    """Return the manifest with a login, as the function renders it."""
    expires_at = datetime.now(UTC) + timedelta(hours=12)
    material = login(private_host(ACCOUNT, REGION), password=password, expires_at=expires_at)
    return document(material, pull_object(name=secret)).reveal().decode()


def _lua(value: object) -> str:
    """Return a Lua literal. A JSON string of ASCII without control characters is one already."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{json.dumps(key)}]={_lua(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(_lua(item) for item in value) + "}"
    return json.dumps(value)
