"""Where credentials may go: origins as all readers read them, and who is at home where."""

import pytest

from dragoman.client.login.origins import Origins, origin_of
from dragoman.errors import ConfigurationError

HOME = "https://example.com"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "HTTPS://Example.COM:443/rpc?a=b#c",
        "https://example.com./rpc",
        "https://example.com?x=//evil.org",
        "grpcs://example.com:443",
        "wss://example.com/socket",
        "example.com:443",
        "example.com",
    ],
)
def test_spellings_of_one_origin_are_one(url: str) -> None:
    assert origin_of(url) == HOME


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://example.com:8443/", "https://example.com:8443"),
        ("http://example.com/", "http://example.com"),
        ("http://example.com:443/", "http://example.com:443"),
        ("https://example.com:80/", "https://example.com:80"),
        ("grpc://example.com", "http://example.com"),
        ("https://example.com.evil.org/", "https://example.com.evil.org"),
        ("https://evil.org/example.com", "https://evil.org"),
        ("https://evil.org?example.com", "https://evil.org"),
        ("https://evil.org#@example.com/", "https://evil.org"),
        ("https://example.com-evil.org/", "https://example.com-evil.org"),
        ("https://sub.example.com/", "https://sub.example.com"),
        ("https://examp1e.com/", "https://examp1e.com"),
        ("https://xn--exmple-cua.com/", "https://xn--exmple-cua.com"),
        ("https://exämple.com/", "https://xn--exmple-cua.com"),
        ("https://xample.com/", "https://xample.com"),
        ("https://\u0435xample.com/", "https://xn--xample-2of.com"),
        ("http://[::1]:80/", "http://[::1]"),
        ("http://[0:0:0:0:0:0:0:1]:9/", "http://[::1]:9"),
        ("http://127.0.0.1:9999", "http://127.0.0.1:9999"),
    ],
)
def test_other_origins_are_others(url: str, origin: str) -> None:
    assert origin_of(url) == origin != HOME


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com@evil.org/",
        "https://user:password@example.com/",
        "https://example.com:443@evil.org/",
        "https://@example.com/",
        "https://example.com\\@evil.org/",
        "https://evil.org\\.example.com/",
        "https://example.com\t.evil.org/",
        "https://example.com\n/",
        " https://example.com/",
        "https://example.com%2eevil.org/",
        "https://example.com%00.evil.org/",
        "https://example\u3002com/",
        "https://\uff25xample.com/",
        "https://example.com:443:443/",
        "https://example.com:99999/",
        "https://example.com:0443/",
        "https://example.com:/",
        "https:///example.com",
        "https:example.com",
        "//example.com/",
        "javascript://example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://[::1%25lo]/",
        "http://[::ffff]evil.org/",
        "",
    ],
)
def test_what_can_be_read_in_two_ways_has_no_origin(url: str) -> None:
    assert origin_of(url) is None


def test_a_url_without_a_scheme_is_what_is_around_it() -> None:
    assert origin_of("example.com:50051", secure=True) == "https://example.com:50051"
    assert origin_of("example.com:50051", secure=False) == "http://example.com:50051"


def refused(origins: Origins, url: str, *others: str) -> str:
    interfaces = [origin_of(one) for one in (url, *others)]
    return origins.refusal(interfaces[0], url, interfaces)


def test_credentials_are_for_the_origin_of_the_card_and_those_that_are_named() -> None:
    origins = Origins(["https://api.example.com/", "http://inside:8080"], HOME)
    for url in ("https://example.com/rpc", "https://API.example.com/x", "http://inside:8080/", "grpc://inside:8080"):
        assert refused(origins, url) == ""
    for url in (
        "http://example.com/",
        "https://example.com:8443/",
        "https://evil.org/",
        "http://inside/",
        "https://inside:8080/",
    ):
        assert "are not sent to" in refused(origins, url)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "[::1]", "localhost", "LOCALHOST"])
def test_without_tls_they_stay_on_this_machine(host: str) -> None:
    url = f"http://{host}:9999"
    assert refused(Origins([], origin_of(url)), url) == ""


@pytest.mark.parametrize(
    "host", ["agent", "192.168.0.1", "localhost.evil.org", "127.0.0.1.evil.org", "0.0.0.0", "[::]", "[::ffff:8.8.8.8]"]
)
def test_without_tls_they_go_nowhere_else_unless_that_is_named(host: str) -> None:
    url = f"http://{host}:9999"
    assert "without TLS" in refused(Origins([], origin_of(url)), url)
    assert refused(Origins([url], None), url) == ""


def test_a_card_from_nowhere_is_at_home_at_the_one_place_that_it_names() -> None:
    assert refused(Origins([], None), "https://a.example/rpc", "https://a.example/rest") == ""
    assert "at several places" in refused(Origins([], None), "https://a.example/rpc", "https://b.example/")
    assert "at several places" in refused(Origins([], None), "https://a.example/rpc", "https://a@b.example/")


def test_a_card_from_an_unreadable_place_is_at_home_nowhere() -> None:
    assert refused(Origins([], ""), "https://a.example/rpc") != ""


def test_a_refusal_repeats_neither_query_nor_user_information() -> None:
    told = refused(Origins([], HOME), "https://user:password@evil.org/?key=secret")
    assert "evil.org" in told
    assert "password" not in told
    assert "secret" not in told


@pytest.mark.parametrize(
    "named", ["https://a.example/path", "https://u:p@a.example", "nonsense://a", "", "https://a?b"]
)
def test_what_is_named_is_an_origin(named: str) -> None:
    with pytest.raises(ConfigurationError, match="credential_origins"):
        Origins([named], None)
