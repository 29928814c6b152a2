"""Variables that libraries read from the environment: what is wrong with them is said here, by name."""

import ssl
from collections.abc import Callable, Iterator, Mapping

from upsert.core.fields import Fields, unquoted
from upsert.core.urls import ENDPOINT_EXPECTED, PROXY_EXPECTED, is_endpoint, is_proxy

_ENDPOINTS = "AWS_ENDPOINT_URL"
_BUNDLES = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
# The first writes the keys to connections that carry passwords into a file; the other sends session tokens over UDP.
_KEYLOG, _MONITORING = "SSLKEYLOGFILE", "AWS_CSM_ENABLED"

# Lambda sets these itself: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
_OF_LAMBDA = (
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_XRAY_", "AWS_LAMBDA_", "AWS_SAM_LOCAL"),
    *("AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
)
_GOOD = (*_OF_LAMBDA, *_BUNDLES, _ENDPOINTS)
CREDENTIALS = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"
_MOST_NAMED = 10


def check(given: Fields) -> None:
    """Note what is wrong with the variables that say where libraries connect to, and quote none of it."""
    endpoints = [name for name in given.value if name.startswith(_ENDPOINTS) and given.value[name]]
    # The SDK takes a proxy by the scheme of what it connects to.
    is_plain = any(str(given.value[name]).startswith("http:") for name in endpoints)
    for name in _proxies(given.value, ("https", "http") if is_plain else ("https",)):
        _check(given, name, is_proxy, PROXY_EXPECTED)
    for name in endpoints:
        _check(given, name, is_endpoint, ENDPOINT_EXPECTED)
    for name in [name for name in _BUNDLES if name in given][:1]:
        _check(given, name, _is_bundle, "the path of a file of certificates (PEM) that is there")
    if given.value.get(_KEYLOG):
        given.wrong(_KEYLOG, "is set; expected it not to be: the keys to what carries passwords would go to a file")
    if str(given.value.get(_MONITORING)).lower() == "true":
        given.wrong(
            _MONITORING, "is true; expected it not to be: the SDK would send its session token to whoever listens"
        )


def of_the_sdk(environment: Mapping[str, str]) -> str:
    """Return the names of those that may be why the AWS SDK cannot work: not Lambda's own, and not checked above."""
    names = sorted(name for name in environment if name.startswith("AWS_") and not name.startswith(_GOOD))
    return ", ".join(names[:_MOST_NAMED]) or CREDENTIALS


def _proxies(environment: Mapping[str, str], schemes: tuple[str, ...]) -> Iterator[str]:
    """Give the names of the variables that name the proxies for these schemes: lower case wins, and empty is none."""
    for scheme in schemes:
        own = f"{scheme}_proxy"
        names = [own] if own in environment else [name for name in environment if name.lower() == own]
        yield from [name for name in names if environment[name]][-1:]


def _check(given: Fields, name: str, is_good: Callable[[str], bool], expected: str) -> None:
    value = str(given.value[name])
    if not is_good(value):
        given.wrong(name, f"{unquoted(value)} is wrong; expected {expected}")


def _is_bundle(path: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (OSError, ValueError):
        return False
    return True
