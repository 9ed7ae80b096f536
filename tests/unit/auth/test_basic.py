"""HTTP Basic."""

import asyncio
import threading
from base64 import b64encode

import pytest

from dragoman.auth import Basic, Credentials, basic, hash_password
from dragoman.auth.passwords import is_password
from dragoman.errors import ConfigurationError, UnauthenticatedError, UnavailableError

SALT = "c2FsdHNhbHRzYWx0c2FsdA"
ALICE = f"scrypt$10$1$1${SALT}$xhCx4NRJuRRKgbg25VAmAS0YM87IWf6G_HPM7Pcz5X8"
BOB = f"scrypt$10$1$1${SALT}$X847LP4mWQ-4Vj4P8N6rq7X4kKdGsqejh26M5hn3s3I"
"""At the least cost."""


def sent(user: str, password: str) -> Credentials:
    return Credentials({"authorization": f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"})


async def who(users: Basic, credentials: Credentials) -> str | None:
    try:
        return (await users.authenticate(credentials)).id
    except UnauthenticatedError as error:
        return None if error.challenges == ('Basic realm="A2A", charset="UTF-8"',) else "told something else"


def test_a_password_is_known_by_its_hash_which_is_another_each_time() -> None:
    first, second = hash_password("pässword"), hash_password("pässword")
    assert first != second
    assert "word" not in first
    assert is_password("pässword", first)
    assert not is_password("password", first)


async def test_who_has_the_right_password_is_let_in_again_and_again() -> None:
    users = Basic({"alice": ALICE})
    for _ in range(3):
        assert await who(users, sent("alice", "alice's password")) == "alice"
        assert await who(users, sent("alice", "alice's Password")) is None
        assert await who(users, sent("bob", "alice's password")) is None


async def test_a_password_that_was_right_is_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Basic({"alice": ALICE})
    hashed: list[str] = []

    def counted(password: str, stored: str) -> bool:
        hashed.append(password)
        return is_password(password, stored)

    monkeypatch.setattr(basic, "is_password", counted)
    for _ in range(3):
        assert await who(users, sent("alice", "alice's password")) == "alice"
    assert hashed == ["alice's password"]
    assert "password" not in repr(vars(users))


async def test_names_that_are_not_known_cost_as_much_as_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Basic({"alice": ALICE})
    held_to: list[str] = []

    def counted(password: str, stored: str) -> bool:
        held_to.append(stored)
        return is_password(password, stored)

    monkeypatch.setattr(basic, "is_password", counted)
    assert await who(users, sent("nobody", "alice's password")) is None
    assert held_to == [ALICE]
    assert await who(Basic({}), sent("nobody", "alice's password")) is None


async def test_another_password_counts_at_once_and_the_earlier_one_no_more() -> None:
    users = Basic({"alice": ALICE})
    assert await who(users, sent("alice", "alice's password")) == "alice"
    users.put("alice", BOB)
    assert await who(users, sent("alice", "alice's password")) is None
    assert await who(users, sent("alice", "bob's password")) == "alice"
    assert users.remove("alice")
    assert not users.remove("alice")
    assert await who(users, sent("alice", "bob's password")) is None


@pytest.mark.parametrize("password", ["alice's password\0", "alice's password\0\0", "alice's password\n", "\x7f"])
async def test_what_is_the_same_to_scrypt_is_not_the_same_password(password: str) -> None:
    assert await who(Basic({"alice": ALICE}), sent("alice", password)) is None


@pytest.mark.parametrize("coded", ["", "!", "YWxpY2U=", "OnB3", "//86/w==", "A" * 5000, "YWxp Y2U6cHc="])
async def test_what_is_no_name_and_password_is_refused(coded: str) -> None:
    assert await who(Basic({"alice": ALICE}), Credentials({"authorization": f"Basic {coded}"})) is None


async def test_when_too_many_wait_further_ones_are_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Basic({"alice": ALICE})
    monkeypatch.setattr(basic, "WAITING", 3)
    attempts = [users.authenticate(sent("alice", f"wrong {number}")) for number in range(8)]
    outcomes = [type(one) for one in await asyncio.gather(*attempts, return_exceptions=True)]
    assert (outcomes.count(UnauthenticatedError), outcomes.count(UnavailableError)) == (3, 5)
    assert await who(users, sent("alice", "alice's password")) == "alice"


async def test_who_guesses_and_does_not_wait_gets_no_more_than_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Basic({"alice": ALICE})
    begun, ended = threading.Event(), threading.Event()
    hashed: list[str] = []

    def slow(password: str, stored: str) -> bool:
        hashed.append(password)
        begun.set()
        assert ended.wait(10)
        return is_password(password, stored)

    monkeypatch.setattr(basic, "is_password", slow)
    guesses = [asyncio.create_task(who(users, sent("alice", f"guess {number}"))) for number in range(5)]
    assert await asyncio.to_thread(begun.wait, 10)
    for guess in guesses:
        guess.cancel()
    await asyncio.gather(*guesses, return_exceptions=True)
    last = asyncio.create_task(who(users, sent("alice", "the last")))
    for _ in range(3):  # what could begin has, by then
        await asyncio.to_thread(begun.wait, 10)
    assert hashed == ["guess 0"]
    ended.set()
    assert await last is None
    assert hashed == ["guess 0", "the last"]


@pytest.mark.parametrize(
    ("user", "stored"),
    [
        ("alice", "a plain password"),
        ("alice", ""),
        ("a:b", ALICE),
        ("", ALICE),
        ("alice", ALICE.replace("$10$", "$19$")),
    ],
)
def test_what_is_no_hash_or_no_name_is_refused_without_repeating_it(user: str, stored: str) -> None:
    if stored.startswith("scrypt$19$"):
        stored = stored.replace("$19$1$", "$19$16$")
    with pytest.raises(ConfigurationError) as caught:
        Basic({user: stored})
    assert not stored or stored not in str(caught.value)


def test_a_realm_that_no_header_can_say_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        Basic({}, realm="a\r\nb")
