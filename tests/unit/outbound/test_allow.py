"""What entries of `allow` open."""

import pytest

from dragoman.errors import ConfigurationError
from dragoman.outbound import Policy
from dragoman.ports.webhook import AddressRefused

DEFAULT = Policy()


def _may(policy: Policy, url: str, *addresses: str) -> bool:
    """By the URL alone if its host is an address."""
    try:
        policy.admit(policy.target(url), addresses)
    except AddressRefused:
        return False
    return True


@pytest.mark.parametrize(
    ("entry", "opened", "closed"),
    [
        (
            "Hooks.Corp.Example.",
            [("https://hooks.corp.example/", "10.0.0.1"), ("https://HOOKS.corp.example.:8443/", "::1")],
            [
                ("http://hooks.corp.example/", "10.0.0.1"),
                ("https://hooks.corp.example:9000/", "10.0.0.1"),
                ("https://a.hooks.corp.example/", "10.0.0.1"),
                ("https://corp.example/", "10.0.0.1"),
                ("https://other.example/", "10.0.0.1"),
                ("https://10.0.0.1/",),
            ],
        ),
        (
            "redis",
            [("https://redis/", "172.17.0.2")],
            [("https://redis:6379/", "172.17.0.2"), ("https://a.redis/", "::1")],
        ),
        (
            "localhost:9000",
            [("https://localhost:9000/", "127.0.0.1"), ("https://localhost:9000/", "::1")],
            [("https://localhost/", "127.0.0.1"), ("http://localhost:9000/", "::1"), ("https://127.0.0.1:9000/",)],
        ),
        ("https://a.example:444", [("https://a.example:444/", "10.0.0.1")], [("https://a.example/", "10.0.0.1")]),
        ("https://a.example", [("https://a.example/", "10.0.0.1")], [("https://a.example:8443/", "10.0.0.1")]),
        (
            "http://localhost:8080",
            [("http://localhost:8080/a", "127.0.0.1")],
            [("https://localhost:8080/", "127.0.0.1"), ("http://localhost/", "127.0.0.1"), ("http://127.0.0.1:8080/",)],
        ),
        ("http://a.example", [("http://a.example/", "8.8.8.8")], [("http://a.example:8080/", "8.8.8.8")]),
        (
            "10.0.0.5",
            [("https://10.0.0.5/",), ("https://10.0.0.5:8443/",), ("https://a.example/", "10.0.0.5", "8.8.8.8")],
            [
                ("https://10.0.0.6/",),
                ("http://10.0.0.5/",),
                ("https://10.0.0.5:9000/",),
                ("https://a.example/", "10.0.0.5", "10.0.0.6"),
                ("https://[::ffff:10.0.0.5]/",),
                ("https://[64:ff9b::10.0.0.5]/",),
                ("https://printer/", "10.0.0.5"),
            ],
        ),
        (
            "10.0.0.5:9000",
            [("https://10.0.0.5:9000/",), ("https://a.example:9000/", "10.0.0.5")],
            [("https://10.0.0.5/",), ("https://a.example:9000/", "8.8.8.8"), ("https://a.example/", "10.0.0.5")],
        ),
        (
            "http://127.0.0.1:8080",
            [("http://127.0.0.1:8080/",), ("http://a.example:8080/", "127.0.0.1")],
            [
                ("https://127.0.0.1:8080/",),
                ("http://127.0.0.2:8080/",),
                ("http://a.example:8080/", "8.8.8.8"),
                ("http://[::1]:8080/",),
            ],
        ),
        (
            "10.0.0.0/8",
            [("https://10.255.0.1:8443/",), ("https://a.example/", "10.0.0.1"), ("https://a.internal/", "10.0.0.1")],
            [
                ("https://10.0.0.1:9000/",),
                ("https://192.168.0.1/",),
                ("http://10.0.0.1/",),
                ("https://a.internal/", "::1"),
            ],
        ),
        ("fd00::/8", [("https://[fd12::1]/",)], [("https://[fc00::1]/",), ("https://10.0.0.1/",)]),
        ("::1", [("https://[::1]/",), ("https://a.example/", "::1")], [("https://127.0.0.1/",), ("https://[::]/",)]),
        ("[::1]:9000", [("https://[0::1]:9000/",)], [("https://[::1]/",)]),
        ("http://[::1]:9000", [("http://[::1]:9000/",)], [("https://[::1]:9000/",)]),
        (
            "b\u00fccher.example",
            [("https://xn--bcher-kva.example/", "10.0.0.1")],
            [("https://bucher.example/", "10.0.0.1")],
        ),
    ],
)
def test_an_entry_opens_what_it_names_and_no_more(
    entry: str, opened: list[tuple[str, ...]], closed: list[tuple[str, ...]]
) -> None:
    policy = Policy(allow=[entry])
    assert [call for call in opened if not _may(policy, *call)] == []
    assert [call for call in closed if _may(policy, *call)] == []
    assert _may(policy, "https://hooks.example.com/", "8.8.8.8")
    assert [call for call in opened if _may(DEFAULT, *call)] == []


MISTAKES = (
    *("", "*", "*.example.com", "ftp://a.example", "http://", "http://a.example/", "http://a.example:80/x", "a b"),
    *("a.example:0", "a.example:x", "10.0.0.1/8", "10.0.0.0/33", "2130706433", "127.1", "0x7f.1", "::1:9000/64", "::g"),
    *("fe80::1%eth0", "[::1", "user@a.example", "https://user:x@a.example", "http://10.0.0.0/8", "10.0.0.0/8:80"),
)


@pytest.mark.parametrize("entry", MISTAKES)
def test_an_entry_that_names_nothing_is_a_mistake_of_the_configuration(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="in allow"):
        Policy(allow=[entry])
