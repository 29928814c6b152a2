"""How the URLs of proxies and endpoints are written, so that every library that is given one reads the same in it."""

import ipaddress
import re

_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
# The AWS SDK sends user name and password as ASCII, and libraries differ on where an unencoded / ? # [ ] \ or % ends.
_LOGIN = r"([!\"$&-.0->@-Z^-~]|%[0-7][0-9A-Fa-f])+@"


def _at_host(letters: str) -> str:
    """Return what matches a host, of labels of these characters beside the hyphen, and a port."""
    label = f"[{letters}]([{letters}-]{{0,61}}[{letters}])?"
    return rf"((?=[^:/]{{1,253}}(?:[:/]|$)){label}(\.{label})*\.?|\[(?P<ipv6>[0-9A-Fa-f:.]+)\]){_PORT}"


_PROXY = rf"((https?:)?//)?({_LOGIN})?{_at_host('A-Za-z0-9_')}(/[!-~]*)?"
PROXY_EXPECTED = (
    "http://HOST:PORT or https://HOST:PORT, without blanks, and with user name and password, if any, in ASCII and "
    "/ ? # [ ] \\ % in them as %2F %3F %23 %5B %5D %5C %25"
)
_ENDPOINT = rf"https?://{_at_host('A-Za-z0-9')}(/[!-\"$->@-~]*)?"
ENDPOINT_EXPECTED = "http:// or https:// and a host, with a port or a path if any"


def is_proxy(text: str) -> bool:
    """Return whether it is the URL of an HTTP proxy, which may lack its scheme and is then spoken to in plain HTTP."""
    return _is_one(_PROXY, text)


def is_endpoint(text: str) -> bool:
    """Return whether it is the URL of an API."""
    return _is_one(_ENDPOINT, text)


def with_scheme(proxy: str) -> str:
    """Return the URL of a proxy with its scheme, as curl adds it."""
    return proxy if proxy.startswith(("http:", "https:")) else f"http://{proxy.removeprefix('//')}"


def _is_one(form: str, text: str) -> bool:
    found = re.fullmatch(form, text)
    return found is not None and (found["ipv6"] is None or _is_ipv6(found["ipv6"]))


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text) is not None
    except ValueError:
        return False
