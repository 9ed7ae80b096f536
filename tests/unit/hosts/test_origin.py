"""Who calls, where proxies stand between: what they say of it, and what callers cannot make them say."""

from typing import Any

import pytest

from dragoman.hosts.origin import Proxies, base_url, caller_behind, peer_of
from dragoman.ports.auth import Peer
from tests.behaviour.manifest import requirement

PROXIES = Proxies(["10.0.0.0/8", "fd00::/8"])
PROXY = Peer("10.0.0.1", certificate=b"the proxy's own")
ABOUT: dict[str, Any] = {"client": ("10.0.0.1", 4711), "server": ("10.0.0.9", 80), "scheme": "http"}


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
def test_forwarded_names_the_caller_in_the_same_way(told: str, caller: str) -> None:
    assert behind(forwarded=told) == Peer(caller)
    assert behind(forwarded=told, x_forwarded_for="10.0.0.2") == Peer(caller)


@requirement("R-13.4-13")
@pytest.mark.parametrize(
    "told", ["for=203.0.113.1", "for=unknown", "for=127.0.0.1", "for=10.0.0.2", "for=_a, nonsense"]
)
def test_who_adds_a_header_that_the_proxy_does_not_know_counts_with_all_others_who_do(told: str) -> None:
    assert behind(forwarded=told, x_forwarded_for="198.51.100.1") == Peer("0.0.0.0")
    said = {"host": "a.example", "forwarded": f"{told};host=evil.example", "x-forwarded-for": "198.51.100.1"}
    assert base_url(ABOUT, said, PROXIES) == "http://a.example"


@pytest.mark.parametrize("older", ["::ffff:198.51.100.1", "198.51.100.1:80, 10.0.0.2"])
def test_proxies_that_write_both_headers_are_believed(older: str) -> None:
    both = {"forwarded": "for=198.51.100.1;host=a.example;proto=https", "x-forwarded-for": older}
    assert caller_behind(PROXY, both, PROXIES) == Peer("198.51.100.1")
    assert base_url(ABOUT, both, PROXIES) == "https://a.example"


VERIFYING = Proxies(["10.0.0.0/8"], certificates=True)
SAID = {"client-cert": ":Y2VydA==:", "x-forwarded-for": "198.51.100.1"}


def test_a_certificate_that_a_proxy_states_counts_only_where_proxies_verify_them() -> None:
    assert caller_behind(PROXY, SAID, VERIFYING) == Peer("198.51.100.1", b"cert")
    assert caller_behind(PROXY, {**SAID, "forwarded": "for=198.51.100.1"}, VERIFYING) == Peer("198.51.100.1", b"cert")
    assert caller_behind(PROXY, SAID, PROXIES) == Peer("198.51.100.1")
    stranger = Peer("192.0.2.7")
    assert caller_behind(stranger, SAID, VERIFYING) is stranger
    assert caller_behind(PROXY, {"x-forwarded-for": "198.51.100.1"}, VERIFYING) == Peer("198.51.100.1")


@pytest.mark.parametrize(
    "told",
    ["", ":", "::", "Y2VydA==", ":Y2VydA==", ":Y2 VydA==:", ":Y2VydA:", ":Y2VydA==:, :Y2VydA==:", ":\xe4:", ":=:"],
)
def test_what_is_no_byte_sequence_is_no_certificate(told: str) -> None:
    assert caller_behind(PROXY, {**SAID, "client-cert": told}, VERIFYING) == Peer("198.51.100.1")


PEM = "-----BEGIN CERTIFICATE-----\nY2Vy\ndA==\n-----END CERTIFICATE-----\n"
CHAINS: list[tuple[Any, bytes]] = [
    ([PEM], b"cert"),
    ((PEM, "further"), b"cert"),
    ([], b""),
    (None, b""),
    (["nonsense"], b""),
    ([""], b""),
]


@pytest.mark.parametrize(("chain", "certificate"), CHAINS)
def test_the_first_certificate_of_the_chain_is_the_callers(chain: Any, certificate: bytes) -> None:
    scope: dict[str, Any] = {"client": ("192.0.2.7", 4711), "extensions": {"tls": {"client_cert_chain": chain}}}
    assert peer_of(scope) == Peer("192.0.2.7", certificate)
    scope["extensions"]["tls"]["client_cert_error"] = "expired"
    assert peer_of(scope) == Peer("192.0.2.7")


def test_who_comes_by_a_socket_in_the_file_system_has_no_address() -> None:
    assert peer_of({"client": None, "extensions": None}) == Peer()
