"""Who tries passwords, and who waits for it."""

import asyncio

import pytest

from dragoman.auth import ApiKey, Basic, Credentials, OwnScheme, basic
from dragoman.errors import A2AError, LimitExceededError, UnauthenticatedError
from dragoman.hosts.admission import Admission
from dragoman.hosts.gate import Gate
from dragoman.ports.auth import Peer
from dragoman.ports.limits import CallLimits
from dragoman.types.card import HTTPAuthSecurityScheme
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


async def test_who_was_wrong_lately_cannot_have_any_number_of_tokens_looked_at_together() -> None:
    asked: list[str] = []
    answered = asyncio.Event()

    async def knows(credentials: Credentials) -> str | None:
        token = credentials.authorization("Bearer") or ""
        asked.append(token)
        await answered.wait()
        return "alice" if token == "right" else None

    scheme = OwnScheme("asked", HTTPAuthSecurityScheme(scheme="Bearer"), knows, told="Bearer")
    now = 1000.0
    gate = Gate(scheme, None, Admission(CallLimits(), scheme.schemes, lambda: now))

    async def together(number: int) -> list[type[A2AError]]:
        answered.clear()
        sent = [Credentials({"authorization": f"Bearer {number} {n}"}, "", EVES) for n in range(50)]
        guesses = [asyncio.create_task(refused(gate, each)) for each in sent]
        await asyncio.sleep(0)
        answered.set()
        return [type(await each) for each in guesses]

    async with asyncio.timeout(10):
        await together(1)
        assert await together(2) == [LimitExceededError] * 50
        del asked[:]
        now += 2.0
        assert await together(3) == [UnauthenticatedError] + [LimitExceededError] * 49
        answered.set()
        assert (await gate.enter(Credentials({"authorization": "Bearer right"}, "", ALICES))).id == "alice"
    assert asked == ["3 0", "right"]


async def test_one_wrong_token_leaves_an_address_nine_that_are_looked_at_together() -> None:
    answered = asyncio.Event()

    async def knows(credentials: Credentials) -> str | None:
        if credentials.authorization("Bearer") == "wrong":
            return None
        await answered.wait()
        return "alice"

    scheme = OwnScheme("asked", HTTPAuthSecurityScheme(scheme="Bearer"), knows, told="Bearer")
    gate = Gate(scheme, None, Admission(CallLimits(), scheme.schemes))

    def sent(word: object) -> Credentials:
        return Credentials({"authorization": f"Bearer {word}"}, "", EVES)

    async with asyncio.timeout(10):
        many = [asyncio.create_task(gate.enter(sent(n))) for n in range(50)]
        await asyncio.sleep(0)
        answered.set()
        assert {(await each).id for each in many} == {"alice"}
        await refused(gate, sent("wrong"))
        answered.clear()
        further = [asyncio.create_task(gate.enter(sent(n))) for n in range(40, 70)]
        await asyncio.sleep(0)
        # Ten were right before, nine may be tried.
        turned_away = [each for each in further if each.done()]
        assert [type(each.exception()) for each in turned_away] == [LimitExceededError] * 11
        answered.set()
        assert [(await each).id for each in further if each not in turned_away] == ["alice"] * 19


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
