"""One reading of a URL for the check and for the call."""

import ipaddress
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from yarl import URL

from dragoman.outbound.addresses import address_of, why_not_public
from dragoman.outbound.guard import url_of
from dragoman.outbound.url import read_url
from dragoman.ports.webhook import AddressRefused
from tests.unit.outbound.urls import GOOD, HOSTILE


@pytest.mark.parametrize("url", [url for url, _ in GOOD])
def test_what_is_called_is_what_was_checked(url: str) -> None:
    target = read_url(url)
    called = url_of(target)
    assert (called.raw_host, called.port, called.raw_path_qs) == (target.host, target.port, target.path)
    assert read_url(target.url) == target


PIECES = st.sampled_from(
    [piece for url, _ in HOSTILE for piece in (url, url[8:], url[8:].partition("/")[0])]
    + ["https://", "http://", "a.example", "127.0.0.1", "[::1]", ":443", ":", "@", "/", "\\", "#", "?", "%", ".", "//"]
)


@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=5).map("".join)))
@example("https://a.example/;a?b?c/d:e@f")
@example("https://A.EXAMPLE.:65535?[")
def test_whatever_is_read_other_readers_read_alike_or_it_is_refused(text: str) -> None:
    for url in (text, f"https://{text}"):
        with suppress(AddressRefused):
            target = read_url(url)
            assert target.url.isascii()
            split = urlsplit(target.url)
            assert (split.scheme, split.hostname, split.port) == (target.scheme, target.host, target.port)
            assert (split.username, split.password, split.fragment) == (None, None, "")
            assert URL(target.url).raw_host == target.host
            assert url_of(target).raw_path_qs == target.path
            assert read_url(target.url) == target


def test_a_target_that_aiohttp_would_read_otherwise_is_not_called() -> None:
    target = read_url("https://a.example/")
    for changed in ({"host": "b@a.example"}, {"path": "/#a"}, {"host": "a.example/"}):
        with pytest.raises(AddressRefused):
            url_of(replace(target, **changed))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_no_address_is_public_that_python_holds_for_private(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if why_not_public(address) is None:
        assert address.is_global
        assert not address.is_multicast
        assert address_of(str(address)) == address
