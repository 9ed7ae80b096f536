"""Tokens about which the issuer is asked: which are good, how often it is asked, and what if it does not answer."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from dragoman.auth.claims import Expected
from dragoman.auth.introspection import AT_ONCE, COME_BACK, WAITING, WRONG_FOR, Introspection, Introspector
from dragoman.errors import DragomanError, UnavailableError
from dragoman.outbound.answers import Page
from dragoman.ports.call import Principal
from dragoman.ports.webhook import Undelivered
from dragoman.signing.jws import NotVerified
from tests.unit.auth.tokens import AUDIENCE, ISSUER, token

NOW = 1_800_000_000.0
URL = f"{ISSUER}/introspect"
GOOD: dict[str, Any] = {
    "active": True,
    "sub": "alice",
    "iss": ISSUER,
    "aud": AUDIENCE,
    "scope": "read write",
    "token_type": "Bearer",
    "exp": NOW + 300,
    "iat": NOW,
}
SECRET = "of the agent: 100% & more"


class Issuer:
    """What it says, what it was asked, and a clock beside it."""

    def __init__(self, *, audience: Any = AUDIENCE, keep: float = 60.0, **said: Any) -> None:
        self.said: dict[str, Any] = {name: value for name, value in (GOOD | said).items() if value is not None}
        self.page: Page | DragomanError | None = None
        self.asked: list[tuple[str, Mapping[str, str], str]] = []
        self.gate: asyncio.Event | None = None
        self.begun = asyncio.Semaphore(0)
        self.open = self.most = 0
        self.now = NOW
        self.introspector = Introspector(
            Expected.of([ISSUER], audience),
            Introspection(client_id="agent", client_secret=SECRET, url=URL, keep=keep),
            self.where,
            self.post,
            scheme="oauth2",
            now=lambda: self.now,
        )

    async def where(self) -> str:
        return URL

    async def post(self, url: str, form: Mapping[str, str], authorization: str) -> Page:
        self.asked.append((url, form, authorization))
        self.begun.release()
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            self.open -= 1
        if isinstance(self.page, DragomanError):
            raise self.page
        return self.page or Page(200, {}, json.dumps(self.said).encode())

    async def principal(self, text: str = "opaque") -> Principal:
        return await self.introspector.principal(text)

    async def refuses(self, text: str = "opaque") -> bool:
        try:
            await self.principal(text)
        except NotVerified:
            return True
        return False


async def test_the_issuer_is_asked_as_a_client_and_says_who_calls_and_what_they_may() -> None:
    issuer = Issuer(email="a@x")
    principal = await issuer.principal()
    assert (principal.id, principal.scheme) == (f"{ISSUER} alice", "oauth2")
    assert principal.scopes == {"read", "write"}
    assert principal.claims["email"] == "a@x"
    [(url, form, authorization)] = issuer.asked
    assert (url, form) == (URL, {"token": "opaque", "token_type_hint": "access_token"})
    # As RFC 6749 section 2.3.1 has it: each is encoded as in a form, then both as in RFC 7617.
    assert authorization == "Basic YWdlbnQ6b2YrdGhlK2FnZW50JTNBKzEwMCUyNSslMjYrbW9yZQ=="


@pytest.mark.parametrize(
    "said",
    [
        {"iss": None},
        {"aud": [AUDIENCE, "https://other.example"]},
        {"exp": None, "iat": None},
        {"token_type": None},
        {"token_type": "bearer", "token_use": "access_token"},
        {"scope": None},
    ],
)
async def test_what_an_issuer_need_not_say_is_not_missed(said: dict[str, Any]) -> None:
    assert (await Issuer(**said).principal()).id == f"{ISSUER} alice"


WRONG: dict[str, dict[str, Any]] = {
    "not active": {"active": False},
    "another issuer": {"iss": "https://other.example"},
    "another audience": {"aud": "https://other.example"},
    "no audience": {"aud": None},
    "an audience that is none": {"aud": 7},
    "expired": {"exp": NOW - 60},
    "not yet": {"nbf": NOW + 61},
    "issued later": {"iat": NOW + 61},
    "an end that is text": {"exp": "9999999999"},
    "a proof of possession": {"token_type": "DPoP"},
    "a refresh token": {"token_use": "refresh_token"},
    "nobody": {"sub": None},
    "an empty name": {"sub": ""},
    "a name that is a number": {"sub": 7},
    "a name with control characters": {"sub": "a\nb"},
}


@pytest.mark.parametrize("said", WRONG.values(), ids=list(WRONG))
async def test_what_is_no_good_for_this_agent_is_refused(said: dict[str, Any]) -> None:
    assert await Issuer(**said).refuses()


async def test_where_no_audience_is_expected_the_kind_of_the_token_must_be_told() -> None:
    assert (await Issuer(audience=(), aud=None).principal()).id
    assert await Issuer(audience=(), aud=None, token_type=None).refuses()


async def test_a_client_is_not_mistaken_for_somebody_who_is_called_like_it() -> None:
    client = await Issuer(sub=None, client_id="alice").principal()
    assert client.id == f"client {ISSUER} alice"
    assert (await Issuer(sub="alice", client_id="app").principal()).id == f"{ISSUER} alice"


async def test_an_answer_counts_for_a_minute_and_no_longer_than_the_token() -> None:
    issuer = Issuer(exp=NOW + 30)
    for _ in range(3):
        await issuer.principal()
    assert len(issuer.asked) == 1
    issuer.now += 59
    await issuer.principal()
    assert len(issuer.asked) == 1
    issuer.said["active"] = False
    issuer.now += 1
    assert await issuer.refuses()
    assert len(issuer.asked) == 2
    soon = Issuer(exp=NOW - 50)
    await soon.principal()
    soon.now += 10
    assert await soon.refuses()
    never = Issuer(keep=0)
    await never.principal()
    await never.principal()
    assert len(never.asked) == 2


async def test_a_token_that_was_no_good_is_not_asked_for_again_at_once() -> None:
    issuer = Issuer(active=False)
    for _ in range(3):
        assert await issuer.refuses()
    assert len(issuer.asked) == 1
    issuer.said["active"] = True
    issuer.now += WRONG_FOR
    assert not await issuer.refuses()


@pytest.mark.parametrize("text", ["", "a b", "ü", "a\n", "x" * 20_000, 'a"b', "=", "a,b"])
async def test_what_is_no_token_is_not_asked_for(text: str) -> None:
    issuer = Issuer()
    assert await issuer.refuses(text)
    assert issuer.asked == []


async def test_a_token_that_names_another_issuer_is_not_shown_to_this_one() -> None:
    issuer = Issuer()
    assert await issuer.refuses(token(iss="https://other.example"))
    assert issuer.asked == []
    await issuer.principal(token())
    await issuer.principal(token(iss=None))
    assert len(issuer.asked) == 2


async def test_of_many_calls_with_one_new_token_one_asks_for_all_also_if_it_leaves() -> None:
    issuer = Issuer()
    issuer.gate = asyncio.Event()
    calls = [asyncio.create_task(issuer.principal()) for _ in range(50)]
    await issuer.begun.acquire()
    calls[0].cancel()
    issuer.gate.set()
    _, *others = await asyncio.gather(*calls, return_exceptions=True)
    assert {one.id for one in others if isinstance(one, Principal)} == {f"{ISSUER} alice"}
    assert len(others) == 49
    assert len(issuer.asked) == 1


async def test_the_issuer_is_asked_about_a_few_tokens_at_a_time_and_nobody_waits_without_end() -> None:
    issuer = Issuer()
    issuer.gate = asyncio.Event()
    calls = [asyncio.create_task(issuer.principal(f"token{number}")) for number in range(WAITING)]
    for _ in range(AT_ONCE):
        await issuer.begun.acquire()
    with pytest.raises(UnavailableError) as caught:
        await issuer.principal("one-more")
    assert caught.value.retry_after == COME_BACK
    issuer.gate.set()
    await asyncio.gather(*calls)
    assert (issuer.most, len(issuer.asked)) == (AT_ONCE, WAITING)
    assert (await issuer.principal("one-more")).id


AWAY: dict[str, Page | DragomanError] = {
    "nobody there": Undelivered("No connection"),
    "we are not let ask": Page(401, {}, b'{"error":"invalid_client"}'),
    "it is wrong with itself": Page(503, {}, b""),
    "a good word with a bad status": Page(500, {}, json.dumps(GOOD).encode()),
    "a bad word with a bad status": Page(401, {}, b'{"active":false}'),
    "a redirect": Page(302, {"location": "https://other.example"}, b""),
    "we ask wrongly": Page(400, {}, b'{"error":"invalid_request"}'),
    "no JSON": Page(200, {}, b"<html>"),
    "no object": Page(200, {}, b"[]"),
    "nothing said": Page(200, {}, b"{}"),
    "a word for true": Page(200, {}, b'{"active":"true"}'),
    "a signed answer": Page(200, {}, b"eyJ.eyJ.x"),
    "deep": Page(200, {}, b'{"active":' + b"[" * 100_000),
}


@pytest.mark.parametrize("page", AWAY.values(), ids=list(AWAY))
async def test_that_the_issuer_cannot_say_is_no_refusal_and_is_logged_without_secrets(
    page: Page | DragomanError, caplog: pytest.LogCaptureFixture
) -> None:
    issuer = Issuer()
    issuer.page = page
    with pytest.raises(UnavailableError) as caught:
        await issuer.principal()
    assert caught.value.retry_after == COME_BACK
    assert caplog.records[-1].levelno == logging.WARNING
    assert [secret for secret in ("opaque", SECRET, "100%", "Basic") if secret in caplog.text] == []
    issuer.page = None
    assert (await issuer.principal()).id


async def test_that_it_introspects_no_such_tokens_is_a_refusal() -> None:
    for error in ("unsupported_token_type", "invalid_token"):
        issuer = Issuer()
        issuer.page = Page(400, {}, json.dumps({"error": error}).encode())
        assert await issuer.refuses()


def test_its_secret_is_not_shown() -> None:
    shown = repr(Introspection(client_id="agent", client_secret=SECRET, url=URL))
    assert shown == f"Introspection(client_id='agent', url='{URL}')"
