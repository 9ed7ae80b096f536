"""Who calls, where proxies stand between: what they say of it, and what callers cannot make them say."""

import pytest

from dragoman.hosts.origin import Proxies, caller_behind
from dragoman.ports.auth import Peer

PROXIES = Proxies(["10.0.0.0/8", "fd00::/8"])
PROXY = Peer("10.0.0.1", certificate=b"the proxy's own")


def behind(peer: Peer = PROXY, **headers: str) -> Peer:
    return caller_behind(peer, {name.replace("_", "-"): value for name, value in headers.items()}, PROXIES)


def test_a_peer_that_is_no_trusted_proxy_is_the_caller_whatever_it_says() -> None:
    peer = Peer("192.0.2.7", certificate=b"c")
    assert behind(peer, x_forwarded_for="198.51.100.1", forwarded="for=198.51.100.1") is peer


@pytest.mark.parametrize(
    ("told", "caller"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("198.51.100.1:4711", "198.51.100.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.3", "10.0.0.3"),
        ("nobody", ""),
        ("", ""),
    ],
)
def test_the_caller_is_the_last_in_the_row_that_is_no_proxy(told: str, caller: str) -> None:
    assert behind(x_forwarded_for=told) == Peer(caller)


@pytest.mark.parametrize(
    ("told", "caller"),
    [
        ("for=198.51.100.1;proto=https", "198.51.100.1"),
        ('for=203.0.113.9, for="[2001:db8::1]:80"', "2001:db8::1"),
        ("for=198.51.100.1, for=10.0.0.2", "198.51.100.1"),
        ("for=unknown", ""),
    ],
)
def test_forwarded_goes_before_the_older_header(told: str, caller: str) -> None:
    assert behind(forwarded=told, x_forwarded_for="203.0.113.1") == Peer(caller)
