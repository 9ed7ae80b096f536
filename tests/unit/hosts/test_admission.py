"""Who comes too often, tries too many credentials, or has too many streams open."""

import tracemalloc
from base64 import b64encode
from typing import Any

import pytest

from dragoman.errors import LimitExceededError
from dragoman.hosts.admission import Admission
from dragoman.ports.auth import Credentials, Peer
from dragoman.ports.call import Principal
from dragoman.ports.limits import CallLimits, Rate
from dragoman.types.card import APIKeySecurityScheme, HTTPAuthSecurityScheme, SecurityScheme

SCHEMES: dict[str, SecurityScheme] = {
    "key": APIKeySecurityScheme(location="header", name="X-API-Key"),
    "query": APIKeySecurityScheme(location="query", name="key"),
    "basic": HTTPAuthSecurityScheme(scheme="basic"),
}
ALICE = Principal("alice", "key")
NOBODY = Principal()
HERE = ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "", "/run/agent.sock")


class Time:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def admission(time: Time | None = None, **limits: Any) -> Admission:
    return Admission(CallLimits(**limits), SCHEMES, time or Time())


def exceeded(limit: str) -> pytest.RaisesExc[LimitExceededError]:
    return pytest.raises(LimitExceededError, check=lambda error: error.details == {"limit": limit})


def password(user: str, word: str, address: str = "192.0.2.1") -> Credentials:
    coded = b64encode(f"{user}:{word}".encode()).decode()
    return Credentials({"authorization": f"Basic {coded}"}, "", Peer(address))


def fail(gate: Admission, credentials: Credentials, times: int = 1) -> int:
    """How many of so many attempts were looked at; all were wrong."""
    looked = 0
    for _ in range(times):
        try:
            place = gate.try_credentials(credentials)
        except LimitExceededError:
            continue
        gate.were_wrong(credentials)
        gate.tried(place)
        looked += 1
    return looked


# Requests.


def test_an_address_has_its_burst_and_one_more_is_told_when_to_come_again() -> None:
    gate = admission(requests_per_address=Rate(0.5, 2))
    gate.arrive("192.0.2.1")
    gate.arrive("192.0.2.1")
    with exceeded("requestsPerAddress") as caught:
        gate.arrive("192.0.2.1")
    assert caught.value.retry_after == pytest.approx(2, rel=0.01)
    assert "192.0.2.1" not in str(caught.value)
    gate.arrive("192.0.2.2")


def test_the_addresses_of_half_an_ipv6_address_are_one() -> None:
    gate = admission(requests_per_address=Rate(0.5, 2))
    gate.arrive("2001:db8::1")
    gate.arrive("2001:db8::2:0:0:1")
    with exceeded("requestsPerAddress"):
        gate.arrive("2001:db8::ffff")
    gate.arrive("2001:db8:0:1::1")


def test_an_ipv4_address_is_the_same_however_it_is_written() -> None:
    gate = admission(requests_per_address=Rate(0.5, 1))
    gate.arrive("192.0.2.1")
    with exceeded("requestsPerAddress"):
        gate.arrive("::ffff:192.0.2.1")


@pytest.mark.parametrize("address", HERE)
def test_callers_on_this_machine_are_not_counted(address: str) -> None:
    gate = admission(requests_per_address=Rate(0.5, 1))
    for _ in range(10):
        gate.arrive(address)


def test_a_principal_has_its_burst_wherever_it_calls_from() -> None:
    gate = admission(requests_per_principal=Rate(0.5, 2))
    gate.known("alice")
    gate.known("alice")
    with exceeded("requestsPerPrincipal"):
        gate.known("alice")
    gate.known("bob")


def test_limits_that_are_off_refuse_nobody() -> None:
    gate = admission(requests_per_address=None, requests_per_principal=None, failed_authentications=None)
    for _ in range(3_000):
        gate.arrive("192.0.2.1")
        gate.known("alice")
    assert fail(gate, password("alice", "wrong"), 100) == 100


# Credentials.


def test_ten_guesses_are_looked_at_and_then_one_every_two_seconds() -> None:
    time = Time()
    gate = admission(time)
    assert sum(fail(gate, password("alice", f"guess {n}")) for n in range(50)) == 10
    time.now += 2.0
    assert sum(fail(gate, password("alice", f"later {n}")) for n in range(50)) == 1


def test_who_guesses_is_told_when_to_come_again_and_nothing_else() -> None:
    gate = admission(failed_authentications=Rate(0.5, 1))
    fail(gate, password("alice", "guess"))
    with exceeded("failedAuthentications") as caught:
        gate.try_credentials(password("alice", "another"))
    assert caught.value.retry_after == pytest.approx(2, rel=0.01)
    assert "alice" not in str(caught.value)


def test_guesses_from_one_address_do_not_keep_others_out() -> None:
    gate = admission()
    for number in range(50):
        fail(gate, password("alice", f"guess {number}"))
    gate.try_credentials(password("alice", "right", "192.0.2.2"))


def test_a_name_that_is_guessed_at_from_everywhere_gives_each_address_one_guess() -> None:
    gate = admission()
    addresses = [f"198.51.100.{number}" for number in range(20)]
    looked = [sum(fail(gate, password("alice", word, address)) for word in ("one", "two")) for address in addresses]
    assert looked == [2] * 5 + [1] * 15
    assert fail(gate, password("bob", "guess", "198.51.100.1")) == 1


def test_the_same_wrong_key_again_does_not_shut_out_its_network() -> None:
    gate = admission()
    old = Credentials({"x-api-key": "an-old-key"}, "", Peer("192.0.2.1"))
    assert fail(gate, old, 1_000) == 10
    assert fail(gate, Credentials({"x-api-key": "another"}, "", Peer("192.0.2.1"))) == 1


def test_what_was_right_is_looked_at_while_others_guess_from_the_same_address() -> None:
    gate = admission()
    right = password("alice", "right")
    fail(gate, password("bob", "guess"))
    gate.were_right(right)
    for number in range(50):
        fail(gate, password("bob", f"guess {number}"))
    gate.try_credentials(right)
    with exceeded("failedAuthentications"):
        gate.try_credentials(password("carol", "right too"))


def test_what_was_right_once_and_is_wrong_now_counts_again() -> None:
    gate = admission()
    old = password("alice", "old")
    fail(gate, password("bob", "guess"))
    gate.were_right(old)
    assert fail(gate, old, 100) == 10


@pytest.mark.parametrize("headers", [{}, {"accept": "*/*"}, {"authorization": ""}])
def test_who_brings_nothing_has_not_failed(headers: dict[str, str]) -> None:
    gate = admission()
    assert fail(gate, Credentials(headers, "a=b", Peer("192.0.2.1")), 100) == 100
    gate.try_credentials(password("alice", "right"))


def test_a_key_in_the_query_is_a_guess_too() -> None:
    gate = admission()
    looked = [fail(gate, Credentials({}, f"key=guess{n}", Peer("192.0.2.1"))) for n in range(50)]
    assert sum(looked) == 10


def test_guesses_from_this_machine_count_by_name_alone() -> None:
    gate = admission()
    assert sum(fail(gate, password("alice", f"guess {n}", "127.0.0.1")) for n in range(50)) == 10
    assert fail(gate, password("bob", "guess", "127.0.0.1")) == 1


def test_what_is_no_password_at_all_is_a_guess_of_no_name() -> None:
    gate = admission()
    words = [f"!ä={number}" for number in range(50)]
    looked = [fail(gate, Credentials({"authorization": f"Basic {word}"}, "", Peer("192.0.2.1"))) for word in words]
    assert sum(looked) == 10


def test_many_who_guess_take_bounded_room_and_wash_nobody_out() -> None:
    gate = admission()
    offender = [password("alice", f"guess {number}", "203.0.113.1") for number in range(20)]
    assert sum(fail(gate, one) for one in offender) == 10
    tracemalloc.start()
    try:
        for number in range(15_000):
            address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            fail(gate, password(f"user {number}", "guess", address))
            if number % 100 == 0:
                gate.were_right(password(f"user {number}", "right", address))
        assert tracemalloc.get_traced_memory()[0] < 20_000_000
    finally:
        tracemalloc.stop()
    assert sum(fail(gate, one) for one in offender) == 0


# Streams.


def test_a_caller_may_have_so_many_streams_and_not_one_more_until_one_ends() -> None:
    gate = admission(max_streams_per_caller=2)
    first = gate.open_stream(ALICE, "192.0.2.1")
    gate.open_stream(ALICE, "192.0.2.2")
    with exceeded("streamsPerCaller") as caught:
        gate.open_stream(ALICE, "192.0.2.3")
    assert caught.value.retry_after is not None
    gate.open_stream(Principal("bob"), "192.0.2.1")
    first()
    first()
    gate.open_stream(ALICE, "192.0.2.3")
    with exceeded("streamsPerCaller"):
        gate.open_stream(ALICE, "192.0.2.3")


def test_anonymous_callers_are_told_apart_by_address_and_on_this_machine_not_at_all() -> None:
    gate = admission(max_streams_per_caller=1)
    gate.open_stream(NOBODY, "2001:db8::1")
    with exceeded("streamsPerCaller"):
        gate.open_stream(NOBODY, "2001:db8::2")
    gate.open_stream(NOBODY, "192.0.2.1")
    for _ in range(10):
        gate.open_stream(NOBODY, "127.0.0.1")


def test_there_are_so_many_streams_in_all() -> None:
    gate = admission(max_streams=3)
    leave = [gate.open_stream(NOBODY, address) for address in ("127.0.0.1", "192.0.2.1", "192.0.2.2")]
    with exceeded("streams"):
        gate.open_stream(ALICE, "192.0.2.3")
    leave[0]()
    gate.open_stream(ALICE, "192.0.2.3")


def test_streams_that_have_ended_leave_nothing_behind() -> None:
    gate = admission(max_streams=1)
    tracemalloc.start()
    try:
        for number in range(100_000):
            gate.open_stream(Principal(f"caller {number}"), "")()
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
