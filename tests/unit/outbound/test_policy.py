"""What may be called, by the URL alone and by the addresses that its name stands for."""

import pytest

from dragoman.outbound import Policy
from dragoman.ports.webhook import AddressRefused
from tests.behaviour.manifest import requirement
from tests.unit.outbound.urls import GOOD, HOSTILE

DEFAULT = Policy()


@pytest.mark.parametrize(("url", "reason"), HOSTILE)
def test_a_hostile_url_is_refused_for_its_reason(url: str, reason: str) -> None:
    with pytest.raises(AddressRefused, match=reason) as caught:
        DEFAULT.target(url)
    for secret in ("secret", "latest", "computeMetadata", "passwd", "user:"):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(("url", "called"), GOOD)
def test_a_good_url_is_called_in_its_plain_form(url: str, called: str) -> None:
    assert DEFAULT.target(url).url == called


def test_there_are_enough_of_both() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 100
    assert len(set(GOOD)) == len(GOOD) >= 40


PUBLIC = ("93.184.215.14", "8.8.8.8", "1.0.0.1", "2606:4700:4700::1111", "64:ff9b::808:808")


@pytest.mark.parametrize("address", PUBLIC)
def test_a_name_may_lead_to_a_public_address(address: str) -> None:
    assert DEFAULT.admit(DEFAULT.target("https://hooks.example.com/"), [address]) == (address,)


FORBIDDEN = (
    *("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.100.100.200", "0.0.0.0", "255.255.255.255", "192.168.0.1"),
    *("::1", "::", "::ffff:8.8.8.8", "::8.8.8.8", "2002:808:808::1", "2001::1", "64:ff9b::10.0.0.1", "64:ff9b:1::1"),
    *("fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2001:db8::1", "2606:4700::5efe:10.0.0.1"),
    *("127.1", "0x7f000001", "2130706433", "", "localhost", "\uff11.1.1.1", "[::1]", " 8.8.8.8", "2606:4700::1111%1"),
)


@requirement("R-13.2-04")
@pytest.mark.parametrize("address", FORBIDDEN)
def test_one_forbidden_address_among_public_ones_is_enough(address: str) -> None:
    target = DEFAULT.target("https://hooks.example.com/")
    for several in ([address], [*PUBLIC, address], [address, *PUBLIC]):
        with pytest.raises(AddressRefused):
            DEFAULT.admit(target, several)


def test_addresses_come_back_in_their_plain_form() -> None:
    target = DEFAULT.target("https://hooks.example.com/")
    assert DEFAULT.admit(target, ["2606:4700:4700:0:0:0:0:1111"]) == ("2606:4700:4700::1111",)


def test_a_refusal_names_what_the_name_leads_to() -> None:
    with pytest.raises(AddressRefused, match=r"hooks\.example\.com leads to 10\.0\.0\.7, which is private"):
        DEFAULT.admit(DEFAULT.target("https://hooks.example.com/secret"), ["10.0.0.7"])


def _may(policy: Policy, url: str, *addresses: str) -> bool:
    try:
        target = policy.target(url)
        policy.admit(target, addresses or (target.host,))
    except AddressRefused:
        return False
    return True


def test_ports_are_those_that_are_named() -> None:
    policy = Policy(ports=(444,))
    assert _may(policy, "https://a.example:444/", "8.8.8.8")
    assert not _may(policy, "https://a.example/", "8.8.8.8")


def test_insecure_opens_every_address_and_still_reads_urls_in_one_way_alone() -> None:
    policy = Policy(insecure=True)
    for url, *addresses in (
        ("http://localhost:8080/", "127.0.0.1"),
        ("http://169.254.169.254/",),
        ("https://redis:6379/", "10.0.0.1", "::1"),
        ("http://[::1]:1/",),
    ):
        assert _may(policy, url, *addresses)
    for url in ("http://127.1/", "http://a@127.0.0.1/", "http://a.example\\@127.0.0.1/", "http://127.0.0.1/#a"):
        assert not _may(policy, url)
