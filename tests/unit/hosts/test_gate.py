"""Who tries passwords, and who waits for it."""

import asyncio

import pytest

from dragoman.auth import ApiKey, Basic, Credentials, basic
from dragoman.errors import A2AError, LimitExceededError, UnauthenticatedError
from dragoman.hosts.admission import Admission
from dragoman.hosts.gate import Gate
from dragoman.ports.auth import Peer
from dragoman.ports.limits import CallLimits
from tests.behaviour.callers import KEYS, PASSWORDS
from tests.behaviour.callers import basic as coded
from tests.behaviour.manifest import requirement

EVES, ALICES = Peer("203.0.113.1"), Peer("192.0.2.1")


def gate_for(auth: Basic | ApiKey) -> Gate:
    return Gate(auth, None, Admission(CallLimits(), auth.schemes))


def guess(number: int, peer: Peer = EVES) -> Credentials:
    return Credentials(coded(f"user {number}", f"guess {number}"), "", peer)


async def refused(gate: Gate, credentials: Credentials) -> A2AError:
    with pytest.raises(A2AError) as caught:
        await gate.enter(credentials)
    return caught.value


@requirement("R-13.4-13")
async def test_who_guesses_passwords_all_at_once_has_no_more_guesses_and_does_not_fill_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed: list[str] = []

    def is_password(word: str, _: str) -> bool:
        hashed.append(word)
        return word == "alice's password"

    monkeypatch.setattr(basic, "is_password", is_password)
    gate = gate_for(Basic(PASSWORDS))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        guesses = [group.create_task(refused(gate, guess(number))) for number in range(200)]
        await asyncio.sleep(0)
        alice = await gate.enter(Credentials(coded("alice", "alice's password"), "", ALICES))
    assert alice.id == "alice"
    kinds = [type(each.result()) for each in guesses]
    assert kinds == [UnauthenticatedError] * 10 + [LimitExceededError] * 190
    assert len(hashed) == 11


async def test_those_who_leave_while_their_password_is_looked_at_leave_their_place() -> None:
    gate = gate_for(Basic(PASSWORDS))
    for _ in range(3):
        left = [asyncio.create_task(gate.enter(guess(number))) for number in range(10)]
        await asyncio.sleep(0)
        for each in left:
            each.cancel()
        await asyncio.wait(left, timeout=10)
    assert (await gate.enter(Credentials(coded("alice", "alice's password"), "", EVES))).id == "alice"


async def test_who_was_let_in_before_somebody_guesses_from_the_same_address_still_is() -> None:
    gate = gate_for(ApiKey(KEYS))
    office = Credentials({"x-api-key": KEYS["alice"]}, "", EVES)
    assert (await gate.enter(office)).id == "alice"
    for number in range(20):
        await refused(gate, Credentials({"x-api-key": f"guess {number}"}, "", EVES))
    assert (await gate.enter(office)).id == "alice"
    assert isinstance(await refused(gate, Credentials({"x-api-key": KEYS["bob"]}, "", EVES)), LimitExceededError)


async def test_what_else_a_request_brings_makes_no_other_credentials_of_the_same() -> None:
    gate = gate_for(ApiKey(KEYS))

    def sent(key: str, number: int) -> Credentials:
        return Credentials({"x-api-key": key, "cookie": f"node={number}", "authorization": f"X {number}"}, "", EVES)

    await gate.enter(sent(KEYS["alice"], 0))
    for number in range(30):
        await refused(gate, sent("an-old-key-of-somebody", number))
    assert (await gate.enter(sent(KEYS["bob"], 1))).id == "bob"
    for number in range(20):
        await refused(gate, sent(f"guess {number}", 0))
    assert (await gate.enter(sent(KEYS["alice"], 31))).id == "alice"


async def test_cookies_and_authorization_count_where_callers_are_known_by_them() -> None:
    for auth, place in ((ApiKey(KEYS, cookie="key"), "cookie"), (Basic(PASSWORDS), "authorization")):
        gate = gate_for(auth)
        refusals = [
            await refused(gate, Credentials({place: f"a=b; key=guess {number}"}, "", EVES)) for number in range(12)
        ]
        assert [type(one) for one in refusals] == [UnauthenticatedError] * 10 + [LimitExceededError] * 2
