"""The official client's connections to an API server: its pool, TLS and proxy rules, without its models."""

import ssl
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any
from urllib.parse import unquote
from urllib.request import getproxies

from urllib3 import HTTPSConnectionPool, make_headers
from urllib3.util import parse_url

from upsert.core.urls import with_scheme
from upsert.errors import ClusterNotTrusted


def connections(endpoint: str, ca_pem: str, concurrency: int) -> HTTPSConnectionPool:
    """Return up to `concurrency` connections to the host of `endpoint`, which trust this one CA.

    Raises `ClusterNotTrusted` if `ca_pem` holds no certificate.
    """
    configuration = _Configuration(host=endpoint)
    # The client takes HTTP_PROXY for https hosts too; here the convention of the other tools holds.
    proxy = getproxies().get("https")
    configuration.proxy = with_scheme(proxy) if proxy else None
    if proxy and (credentials := parse_url(configuration.proxy).auth):
        username, _, password = credentials.partition(":")
        configuration.proxy_headers = make_headers(proxy_basic_auth=f"{unquote(username)}:{unquote(password)}")
    manager = _RESTClientObject(configuration, pools_size=1, maxsize=concurrency).pool_manager
    manager.connection_pool_kw["ssl_context"] = trust(ca_pem)
    # The pool of the one host: finding it anew for each request costs a fifth of the whole request.
    pool: HTTPSConnectionPool = manager.connection_from_url(endpoint)
    return pool


def trust(ca_pem: str) -> ssl.SSLContext:
    """Return a context that verifies host name and chain against this CA and no other.

    Python 3.13 also demands an Authority Key Identifier, which CAs of clusters need not have; only that strictness is
    switched off. https://docs.python.org/3/whatsnew/3.13.html#ssl
    Raises `ClusterNotTrusted` if the text holds no certificate.
    """
    try:
        # Given no text at all, this would trust the authorities of the machine.
        context = ssl.create_default_context(cadata=ca_pem or "nothing")
    except (ssl.SSLError, ValueError):
        raise ClusterNotTrusted(
            "the certificate authority that EKS names for the cluster is no certificate; look for a proxy before the "
            "EKS API"
        ) from None
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


_PACKAGES = ("kubernetes", "kubernetes.client")


def _import_client() -> tuple[Any, Any]:
    """Return the client's `Configuration` and `RESTClientObject`, imported without the models.

    The ``__init__`` of the two packages that they are in imports every API and model of Kubernetes, over 800 modules
    and more than half of a cold start. So the packages are put in place as the import system makes them, with their
    path, before their own code is run:
    https://docs.python.org/3/library/importlib.html#approximating-importlib-import-module
    Afterwards they are taken away, and an import of ``kubernetes`` elsewhere gets the whole client.
    """
    if _PACKAGES[0] in sys.modules:
        return _classes()
    try:
        for name in _PACKAGES:
            if spec := find_spec(name):
                sys.modules[name] = module_from_spec(spec)
        return _classes()
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGES[0]]:
            del sys.modules[name]


def _classes() -> tuple[Any, Any]:
    from kubernetes.client.configuration import Configuration  # noqa: PLC0415 - not before the packages are in place
    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415

    return Configuration, RESTClientObject


_Configuration, _RESTClientObject = _import_client()
