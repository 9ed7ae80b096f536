"""Key sets that an issuer publishes: when they are fetched, and what counts when they cannot be."""

import asyncio
import json
import logging
from typing import Any

import pytest

from dragoman.auth import Bearer, Credentials
from dragoman.auth.keys import PublishedKeys
from dragoman.auth.published import FIRST_PAUSE, FRESH, GOOD, PAUSE
from dragoman.errors import UnauthenticatedError, UnavailableError
from dragoman.ports.webhook import Undelivered
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, KEY, OTHER_KEY, bearer
from tests.unit.outbound.receiver import answering, listening

URL = "https://issuer.example/jwks.json"
BOTH = {"keys": [KEY.public_jwk(), OTHER_KEY.public_jwk()]}


class Issuer:
    """What is published, and how often it was asked for; a clock beside it."""

    def __init__(self) -> None:
        self.published: object = JWKS
        self.asked = 0
        self.gate: asyncio.Event | None = None
        self.now = 1000.0
        self.keys = PublishedKeys(URL, fetch=self.fetch, now=lambda: self.now)

    async def fetch(self, url: str) -> bytes:
        assert url == URL
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.published is None:
            raise Undelivered("No connection")
        return json.dumps(self.published).encode()

    async def ids(self, wanted: str = "") -> tuple[str, ...]:
        return (await self.keys.keys(wanted))[0].ids


async def test_keys_are_fetched_once_and_again_when_they_are_old() -> None:
    issuer = Issuer()
    for _ in range(3):
        assert await issuer.ids() == (KEY.id,)
    assert issuer.asked == 1
    issuer.published = BOTH
    issuer.now += FRESH - 1
    assert await issuer.ids() == (KEY.id,)
    issuer.now += 1
    assert await issuer.ids() == (KEY.id, OTHER_KEY.id)
    assert issuer.asked == 2


async def test_a_key_that_is_missed_is_looked_for_but_not_by_everybody_at_once() -> None:
    issuer = Issuer()
    await issuer.ids()
    for number in range(100):
        await issuer.ids(f"made up {number}")
    assert issuer.asked == 2
    issuer.published = BOTH
    assert await issuer.ids(OTHER_KEY.id) == (KEY.id,)
    issuer.now += PAUSE
    assert await issuer.ids(OTHER_KEY.id) == (KEY.id, OTHER_KEY.id)
    for number in range(100):
        await issuer.ids(f"made up {number}")
    assert issuer.asked == 3


async def test_a_key_that_is_new_is_found_at_once_by_all_who_miss_it() -> None:
    issuer = Issuer()
    await issuer.ids()
    issuer.published = BOTH
    issuer.gate = asyncio.Event()
    missing = [asyncio.create_task(issuer.ids(OTHER_KEY.id)) for _ in range(10)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await issuer.ids() == (KEY.id,)
    issuer.gate.set()
    assert set(await asyncio.gather(*missing)) == {(KEY.id, OTHER_KEY.id)}
    assert issuer.asked == 2


async def test_another_set_is_another_edition() -> None:
    issuer = Issuer()
    first = (await issuer.keys.keys())[1]
    assert (await issuer.keys.keys())[1] == first
    issuer.now += FRESH
    assert (await issuer.keys.keys())[1] != first


async def test_while_there_is_no_newer_set_the_last_one_counts_for_a_day(caplog: pytest.LogCaptureFixture) -> None:
    issuer = Issuer()
    await issuer.ids()
    issuer.published = None
    with caplog.at_level(logging.WARNING):
        issuer.now += FRESH
        for _ in range(3):
            assert await issuer.ids() == (KEY.id,)
        assert issuer.asked == 2
        issuer.now += PAUSE
        await issuer.ids()
        assert issuer.asked == 3
    assert "No connection" in caplog.text
    issuer.now += GOOD - FRESH - PAUSE
    assert await issuer.ids() == (KEY.id,)
    issuer.now += 1
    with pytest.raises(UnavailableError):
        await issuer.ids()
    issuer.published = JWKS
    issuer.now += PAUSE
    assert await issuer.ids() == (KEY.id,)


NONE: list[Any] = [None, [], {"keys": 1}, {"keys": [1] * 101}]


@pytest.mark.parametrize("published", NONE)
async def test_without_any_set_nobody_is_let_in_nor_said_to_be_wrong(published: object) -> None:
    issuer = Issuer()
    issuer.published = published
    scheme = Bearer(issuer=ISSUER, audience=AUDIENCE, keys=issuer.keys)
    for _ in range(5):
        with pytest.raises(UnavailableError):
            await scheme.authenticate(Credentials(bearer()))
    assert issuer.asked == 1
    issuer.published = JWKS
    issuer.now += FIRST_PAUSE
    assert (await scheme.authenticate(Credentials(bearer()))).id


async def test_one_fetches_for_all_who_wait() -> None:
    issuer = Issuer()
    issuer.gate = asyncio.Event()
    waiting = [asyncio.create_task(issuer.ids()) for _ in range(10)]
    await asyncio.sleep(0)
    issuer.gate.set()
    assert set(await asyncio.gather(*waiting)) == {(KEY.id,)}
    assert issuer.asked == 1


async def test_nobody_waits_for_a_newer_set_who_has_one() -> None:
    issuer = Issuer()
    await issuer.ids()
    issuer.now += FRESH
    issuer.gate = asyncio.Event()
    fetching = asyncio.create_task(issuer.ids())
    await asyncio.sleep(0)
    assert await issuer.ids() == (KEY.id,)
    issuer.gate.set()
    await fetching
    assert issuer.asked == 2


async def test_when_who_fetches_has_gone_the_next_does_it() -> None:
    issuer = Issuer()
    issuer.gate = asyncio.Event()
    first = asyncio.create_task(issuer.ids())
    second = asyncio.create_task(issuer.ids())
    await asyncio.sleep(0)
    first.cancel()
    issuer.gate.set()
    assert await second == (KEY.id,)
    assert issuer.asked == 2


async def test_a_newer_set_comes_also_if_nobody_waits_for_it_and_the_issuer_is_asked_once() -> None:
    issuer = Issuer()
    await issuer.ids()
    issuer.published = BOTH
    issuer.now += PAUSE
    issuer.gate = asyncio.Event()
    for number in range(5):
        impatient = asyncio.create_task(issuer.ids(f"made up {number}"))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.gather(impatient, return_exceptions=True)
    assert issuer.asked == 2
    issuer.gate.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert await issuer.ids() == (KEY.id, OTHER_KEY.id)
    assert issuer.asked == 2


async def test_a_rotation_at_the_issuer_reaches_the_callers() -> None:
    issuer = Issuer()
    scheme = Bearer(issuer=ISSUER, audience=AUDIENCE, keys=issuer.keys)
    old, new = Credentials(bearer()), Credentials(bearer(key=OTHER_KEY))
    await scheme.authenticate(old)
    with pytest.raises(UnauthenticatedError):
        await scheme.authenticate(new)
    issuer.published = {"keys": [OTHER_KEY.public_jwk()]}
    issuer.now += PAUSE
    await scheme.authenticate(new)
    with pytest.raises(UnauthenticatedError):
        await scheme.authenticate(old)


async def test_keys_come_over_the_network_and_redirects_are_not_followed() -> None:
    body = json.dumps(JWKS).encode()
    good = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    async with listening(answering(good), host="127.0.0.1") as receiver:
        published = PublishedKeys(f"http://127.0.0.1:{receiver.port}/jwks")
        assert (await published.keys())[0].ids == (KEY.id,)
    elsewhere = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n"
    async with listening(answering(good), host="127.0.0.1") as target:
        async with listening(answering(elsewhere % target.port), host="127.0.0.1") as receiver:
            with pytest.raises(UnavailableError):
                await PublishedKeys(f"http://127.0.0.1:{receiver.port}/jwks").keys()
        assert target.connections == 0
