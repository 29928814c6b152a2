"""The official client's transport is used without its models, and whoever needs the whole client still gets it."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.certificates import make_serving_certificate
from upsert.errors import ClusterNotTrusted
from upsert.kube import transport

FUNCTIONS = Path(__file__).parents[2] / "functions"
ENDPOINT = "https://cluster.example:8443"


def run(*lines: str, first_on_path: Path | None = None) -> None:
    """Run the lines in a new interpreter, and fail as it does."""
    folders = [str(folder) for folder in (first_on_path, FUNCTIONS) if folder]
    program = "\n".join((f"import sys; sys.path[:0] = {folders}", *lines))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_more_of_the_client_is_imported_than_its_transport() -> None:
    run(
        "seen = set()",
        "class Spy:",
        "    def find_spec(self, name, path, target=None):",
        "        seen.add(name)",
        "sys.meta_path.insert(0, Spy())",
        "from upsert.kube import transport",
        "found = sorted(name.removeprefix('kubernetes.client.') for name in seen if name.startswith('kubernetes.'))",
        "assert found == ['configuration', 'exceptions', 'kubernetes.client', 'rest'], found",
        "assert not [name for name in sys.modules if name.startswith('kubernetes')]",
    )


def test_the_whole_client_can_be_imported_afterwards() -> None:
    run(
        "from upsert.kube import transport",
        "import kubernetes",
        "from kubernetes import client, config",
        "assert kubernetes.client is client is sys.modules['kubernetes.client']",
        "assert client.CoreV1Api(client.ApiClient()) and config.load_kube_config",
        "assert client.rest.RESTClientObject and client.V1Secret()",
    )


def test_a_client_that_was_imported_before_is_left_as_it_is() -> None:
    run(
        "from kubernetes import client",
        "from upsert.kube import transport",
        "assert transport._RESTClientObject is client.rest.RESTClientObject",
        "assert sys.modules['kubernetes.client'] is client and client.CoreV1Api",
    )


def test_a_client_that_cannot_be_imported_so_says_why_and_leaves_nothing_behind(tmp_path: Path) -> None:
    client = tmp_path / "kubernetes" / "client"
    client.mkdir(parents=True)
    (client.parent / "__init__.py").touch()
    (client / "__init__.py").write_text("SHARED = 1\n")
    (client / "configuration.py").write_text("from kubernetes.client import SHARED\n")

    run(
        "try:",
        "    from upsert.kube import transport",
        "except ImportError as error:",
        "    assert 'SHARED' in str(error)",
        "else:",
        "    assert False",
        "import kubernetes.client",
        "assert kubernetes.client.SHARED == 1",
        first_on_path=tmp_path,
    )


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "proxy.example"),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "cluster.example"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "other.example"}, "proxy.example"),
        ({"HTTP_PROXY": "http://proxy.example:3128"}, None),
        ({"ALL_PROXY": "http://proxy.example:3128"}, None),
        ({"https_proxy": "http://proxy.example:3128", "HTTPS_PROXY": "http://other.example"}, "proxy.example"),
        ({"https_proxy": "", "HTTPS_PROXY": "http://proxy.example:3128"}, None),
        # As curl does, without a scheme.
        ({"HTTPS_PROXY": "proxy.example:3128"}, "proxy.example"),
        ({"HTTPS_PROXY": "//proxy.example:3128"}, "proxy.example"),
        ({"HTTPS_PROXY": "me:secret@proxy.example:3128"}, "proxy.example"),
        ({"HTTPS_PROXY": "proxy.example:3128", "no_proxy": ".example"}, None),
        ({"HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": "*"}, None),
        # What is no host of ours in any way of writing it.
        ({"HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": "10.0.0.0/99,[::,€,*.other, ,:,http://x"}, "proxy.example"),
    ],
)
def test_a_proxy_is_used_as_other_tools_use_it(
    environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    pool = transport.connections(ENDPOINT, make_serving_certificate().ca_pem, 4)

    assert (pool.proxy.host if pool.proxy else None) == proxy
    assert (pool.host, pool.port) == ("cluster.example", 8443)


@pytest.mark.parametrize("ca_pem", ["not a certificate", ""])
def test_what_is_no_certificate_is_not_trusted(ca_pem: str) -> None:
    with pytest.raises(ClusterNotTrusted, match="no certificate"):
        transport.connections(ENDPOINT, ca_pem, 4)


def test_a_proxy_that_asks_who_we_are_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:p%40ss@proxy.example:3128")
    pool = transport.connections(ENDPOINT, make_serving_certificate().ca_pem, 1)
    assert pool.proxy_headers == {"proxy-authorization": "Basic " + base64.b64encode(b"me:p@ss").decode()}


@pytest.mark.parametrize(
    ("login", "sent"), [("me:p%40ss", b"me:p@ss"), ("me:p@ss:word", b"me:p@ss:word"), ("me", b"me:"), ("me:", b"me:")]
)
def test_a_proxy_without_a_scheme_is_told_too(monkeypatch: pytest.MonkeyPatch, login: str, sent: bytes) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"{login}@proxy.example:3128")
    pool = transport.connections(ENDPOINT, make_serving_certificate().ca_pem, 1)
    assert pool.proxy_headers == {"proxy-authorization": "Basic " + base64.b64encode(sent).decode()}
