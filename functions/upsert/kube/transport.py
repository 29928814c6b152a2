"""Connections to an API server: kept for the next request, verified against its one CA, through a proxy if one is set.

libcurl speaks HTTP and TLS: https://curl.se/libcurl/c/curl_easy_setopt.html names what is set here.
"""

import ssl
from collections import deque
from collections.abc import Mapping
from io import BytesIO
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import pycurl

from upsert.core.urls import with_scheme
from upsert.errors import ClusterNotTrusted

# A new connection, TLS included; libcurl divides it among the addresses that the endpoint's name has.
_CONNECT_TIMEOUT_SECONDS = 5.0
_UNTRUSTED = (pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_ISSUER_ERROR)


class Reply(NamedTuple):
    """What came back: the HTTP status, headers with names such as ``Retry-After``, and the body.

    If nothing did that can be read, `trouble` says why: ``timeout``, ``connection``, ``untrusted`` or ``too-long``.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    trouble: str = ""

    def __repr__(self) -> str:
        # A body can echo what was sent.
        return f"Reply({self.status})"


class Connections:
    """The connections to one API server. Threads may share it."""

    def __init__(self, endpoint: str, ca_pem: str) -> None:
        """Raises `ClusterNotTrusted` if `ca_pem` holds no certificate."""
        self._options = {**_options(_verified(ca_pem)), **_proxy_options(endpoint)}
        self._endpoint = endpoint
        self._idle: deque[Connection] = deque()

    def take(self) -> "Connection":
        """Return the connection that was given back last, or a new one, for this thread alone."""
        try:
            return self._idle.pop()
        except IndexError:
            return Connection(self._endpoint, self._options)

    def give_back(self, connection: "Connection") -> None:
        """Keep a connection for the next request. One that is not given back is closed when nobody holds it."""
        self._idle.append(connection)


class Connection:
    """One connection, made with its first request."""

    def __init__(self, endpoint: str, options: Mapping[int, object]) -> None:
        self._endpoint = endpoint
        self._curl = pycurl.Curl()
        for option, value in options.items():
            self._curl.setopt(option, value)

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, seconds: float, longest: int
    ) -> Reply:
        """Return the reply that comes within so many seconds, of at most so many bytes."""
        received = _Received(longest)
        curl = self._curl
        curl.setopt(pycurl.URL, self._endpoint + path)
        # A method of its own stays set: each request names it.
        curl.setopt(pycurl.CUSTOMREQUEST, method)
        if body is None:
            curl.setopt(pycurl.HTTPGET, 1)
        else:
            curl.setopt(pycurl.POSTFIELDS, body)
        # Long bodies are sent at once, without asking first.
        curl.setopt(pycurl.HTTPHEADER, [*(f"{name}: {value}" for name, value in headers.items()), "Expect:"])
        curl.setopt(pycurl.TIMEOUT_MS, max(1, int(seconds * 1000)))
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int(min(seconds, _CONNECT_TIMEOUT_SECONDS) * 1000)))
        curl.setopt(pycurl.PREREQFUNCTION, received.begin)
        # Called for each line: so no code of ours runs until all have come.
        curl.setopt(pycurl.HEADERFUNCTION, received.lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, received.piece)
        try:
            curl.perform()
        except pycurl.error as error:
            trouble = received.trouble or _trouble(error.args[0])
            return Reply(curl.getinfo(pycurl.RESPONSE_CODE), {}, b"", trouble)
        return Reply(curl.getinfo(pycurl.RESPONSE_CODE), received.headers, received.body.getvalue())


class _Received:
    """What of a reply has come: the lines of its head, after those of interim answers and of a proxy, and its body."""

    def __init__(self, longest: int) -> None:
        self.lines: list[bytes] = []
        self.body = BytesIO()
        self.trouble = ""
        self._longest = longest
        self._begun = False

    def begin(self, *_: object) -> int:
        """Let a request be sent once.

        Should a kept connection end before an answer comes, libcurl would send the request again, and nobody would
        know that there were two. https://curl.se/libcurl/c/CURLOPT_PREREQFUNCTION.html
        """
        again, self._begun = self._begun, True
        return int(pycurl.PREREQFUNC_ABORT if again else pycurl.PREREQFUNC_OK)

    def piece(self, data: bytes) -> int:
        """Take a piece of the body; fewer bytes than it has end the transfer."""
        if any(line.startswith(b"HTTP/") and line[9:12] == b"101" for line in self.lines):
            # A switch of protocols that nobody asked for: libcurl takes all that comes after it for the body.
            return 0
        if self.body.tell() + len(data) > self._longest:
            self.trouble = "too-long"
            return 0
        return self.body.write(data)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the answer itself."""
        found: dict[str, str] = {}
        for line in self.lines:
            name, colon, value = line.decode("latin-1").partition(":")
            if colon:
                found[name.title()] = value.strip()
            elif name.startswith("HTTP/"):
                found.clear()
        return found


def _trouble(code: object) -> str:
    # Only a certificate that fails verification is a matter of trust; the rest is a connection that broke.
    if code in _UNTRUSTED:
        return "untrusted"
    return "timeout" if code == pycurl.E_OPERATION_TIMEDOUT else "connection"


def _options(ca_pem: str) -> dict[int, object]:
    return {
        pycurl.PROTOCOLS: pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.PATH_AS_IS: 1,
        # A redirect is never followed, since the request carries the bearer token and the Secret.
        pycurl.FOLLOWLOCATION: 0,
        # Threads get no signals.
        pycurl.NOSIGNAL: 1,
        pycurl.SSLVERSION: pycurl.SSLVERSION_TLSv1_2,
        pycurl.SSL_VERIFYPEER: 1,
        pycurl.SSL_VERIFYHOST: 2,
        # In place of the machine's authorities, and not beside them.
        pycurl.CAINFO_BLOB: ca_pem,
    }


def _proxy_options(endpoint: str) -> dict[int, object]:
    """Return the options for the proxy that the environment names, as the other tools read it.

    libcurl's own reading takes ALL_PROXY as well, so what it gets is one proxy or none.
    """
    given = getproxies()
    host = urlsplit(endpoint).netloc
    if not given.get("https") or proxy_bypass(host, given):
        return {pycurl.PROXY: "", pycurl.NOPROXY: ""}
    proxy = urlsplit(with_scheme(given["https"]))
    port = proxy.port or (443 if proxy.scheme == "https" else 80)
    options: dict[int, object] = {
        pycurl.PROXY: f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2].removesuffix(f':{proxy.port}')}:{port}",
        pycurl.NOPROXY: "",
        # What is for the API server is not said to the proxy.
        pycurl.HEADEROPT: pycurl.HEADER_SEPARATE,
    }
    if proxy.username is not None:
        options[pycurl.PROXYAUTH] = pycurl.HTTPAUTH_BASIC
        options[pycurl.PROXYUSERNAME] = unquote(proxy.username)
        options[pycurl.PROXYPASSWORD] = unquote(proxy.password or "")
    if authorities := ssl.get_default_verify_paths().cafile:
        options[pycurl.PROXY_CAINFO] = authorities
    return options


def _verified(ca_pem: str) -> str:
    """Return the text of an authority's certificate. Raises `ClusterNotTrusted` if it holds none."""
    try:
        # No text at all would be no certificate to complain about.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ca_pem or "nothing")
    except (ssl.SSLError, ValueError):
        raise ClusterNotTrusted(
            "the certificate authority that EKS names for the cluster is no certificate; look for a proxy before the "
            "EKS API"
        ) from None
    return ca_pem
