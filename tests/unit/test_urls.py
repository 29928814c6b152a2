"""What is taken for the URL of a proxy or an endpoint means the same to every library that is given it."""

from urllib.parse import unquote

import pytest
from botocore.httpsession import ProxyConfiguration
from botocore.utils import is_valid_uri
from hypothesis import given
from hypothesis import strategies as st
from urllib3 import make_headers
from urllib3.util import parse_url

from upsert.core import urls

GOOD_PROXIES = [
    *("proxy:3128", "proxy", "proxy.example.com", "10.0.0.1:3128", "my_proxy:3128", "//proxy:3128", "[::1]:3128"),
    *("http://proxy:3128", "https://proxy.example.:8443/", "http://proxy:3128/path", "http://[fe80::1]:3128"),
    *("http://me:secret@proxy:3128", "me:secret@proxy:3128", "http://me@proxy", "http://me:p@ss:word@proxy:3128"),
    *("http://me:p%23%40ss@proxy:3128", "http://corp%5Cme:secret@proxy:3128", "http://me:!$&'()*+,;=~^|`@proxy:1"),
]
BAD_PROXIES = [
    *("", " ", "http://", "://", "@", "http://@proxy:3128", ":3128", "http://:3128"),
    *(" http://proxy:3128", "http://proxy:3128 ", "http://proxy:3128\n", "\nproxy:3128", "http://pro xy:3128"),
    *(
        "socks5://proxy:1080",
        "socks5h://proxy:1080",
        "socks4://proxy",
        "ftp://proxy",
        "HTTP://proxy:3128",
        "http:proxy",
    ),
    *("http://me:p#ss@proxy:3128", "http://me:p/ss@proxy", "http://me:p?s@proxy", "http://me:p[s@proxy"),
    *("http://me:p€ss@proxy:3128", "http://me:p%E2%82%AC@proxy:3128", "http://mé:p@proxy", "http://me:100%@proxy"),
    *("http://me:p\\s@proxy", "http://me:p s@proxy", "http://proxy:3128#x", "http://proxy:3128?x", "http://prøxy:3128"),
    *("http://proxy:0", "http://proxy:65536", "http://proxy:99999", "http://proxy:abc", "http://proxy:", "a:1:2"),
    *("http://a..b:1", "http://-a:1", "http://[::::]:1", "http://[::1:3128", "http://::1:3128", f"http://{'a' * 64}:1"),
    *("http://proxy:٣", "http://" + ".".join(["a" * 60] * 5)),
]
GOOD_ENDPOINTS = [
    *(
        "http://localhost:4566",
        "https://vpce-0a1b.ecr.eu-central-1.vpce.amazonaws.com",
        "https://a.example/path/",
        "http://[::1]:5",
    ),
    *("https://0123456789ABCDEF.gr7.eu-central-1.eks.amazonaws.com", "https://127.0.0.1:6443"),
]
BAD_ENDPOINTS = [
    *(
        "",
        "localhost:4566",
        "localhost",
        "//localhost",
        "http://",
        "https:///path",
        "HTTPS://localhost",
        "ftp://localhost",
    ),
    *(
        "http://local host",
        " http://localhost",
        "http://localhost\n",
        "http://me:secret@localhost",
        "http://local_host",
    ),
    *(
        "http://localhost:99999",
        "http://localhost?x",
        "http://localhost#x",
        "http://[::::]",
        "https://[",
        "http://é.example",
    ),
]


@pytest.mark.parametrize("text", GOOD_PROXIES)
def test_this_is_a_proxy(text: str) -> None:
    assert urls.is_proxy(text)


@pytest.mark.parametrize("text", BAD_PROXIES)
def test_this_is_no_proxy(text: str) -> None:
    assert not urls.is_proxy(text)


@pytest.mark.parametrize("text", GOOD_ENDPOINTS)
def test_this_is_an_endpoint(text: str) -> None:
    assert urls.is_endpoint(text)
    assert is_valid_uri(text)


@pytest.mark.parametrize("text", BAD_ENDPOINTS)
def test_this_is_no_endpoint(text: str) -> None:
    assert not urls.is_endpoint(text)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("proxy:3128", "http://proxy:3128"),
        ("//proxy:3128", "http://proxy:3128"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("https://proxy", "https://proxy"),
        ("http:3128", "http:3128"),
    ],
)
def test_a_proxy_without_a_scheme_is_spoken_to_in_plain_http(given: str, url: str) -> None:
    assert urls.with_scheme(given) == url


# Of all that an environment variable can hold, what lies near a URL.
NEAR_URLS = st.lists(
    st.sampled_from([*"aZ9:/@.-_%#?[]\\ €\n~", "http://", "https://", "%41", "%23", "%E2", "[::1]", ":3128", "proxy"]),
    max_size=8,
).map("".join)


@given(NEAR_URLS | st.sampled_from(GOOD_PROXIES))
def test_the_sdk_and_the_client_read_the_same_in_what_is_taken_for_a_proxy(text: str) -> None:
    if not urls.is_proxy(text):
        return
    found = parse_url(urls.with_scheme(text))
    sdk = ProxyConfiguration({"https": text})
    url = sdk.proxy_url_for("https://aws.example")
    assert url == urls.with_scheme(text)
    assert found.host
    # The SDK sends a login with a password alone.
    if found.auth and ":" in found.auth:
        username, _, password = found.auth.partition(":")
        ours = make_headers(proxy_basic_auth=f"{unquote(username)}:{unquote(password)}")["proxy-authorization"]
        assert sdk.proxy_headers_for(url) == {"Proxy-Authorization": ours}


@given(NEAR_URLS | st.sampled_from(GOOD_ENDPOINTS))
def test_the_sdk_takes_what_is_taken_for_an_endpoint(text: str) -> None:
    if urls.is_endpoint(text):
        assert is_valid_uri(text)
        assert parse_url(text).host
