"""How much of bodies may be on its way at once, from one address and in all."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from dragoman.errors import LimitExceededError, RequestTooLargeError
from dragoman.hosts.bodies import FREE, Bodies
from dragoman.hosts.reading import Disconnected, read_body
from dragoman.ports.auth import Peer
from tests.behaviour.manifest import requirement

LIMIT = FREE + 100
PART = FREE + 50
"""What is held of each body here; fifty bytes of it are counted."""
Sent = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Place:
    """Bodies of the longest of a hundred bytes, and those who send them in two pieces."""

    def __init__(self) -> None:
        self.bodies = Bodies(100, lambda scope, _: Peer(scope["client"][0]))
        self.reading: list[tuple[asyncio.Task[bytes], Sent]] = []

    async def begin(self, address: str, part: int = PART) -> asyncio.Task[bytes]:
        """The first piece has come, and the other not."""
        events: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        await events.put({"type": "http.request", "body": b"x" * part, "more_body": True})
        scope = {"method": "POST", "client": (address, 1)}
        task = asyncio.create_task(read_body(scope, {}, events.get, LIMIT, 10, bodies=self.bodies))
        self.reading.append((task, events.put))
        for _ in range(3):
            await asyncio.sleep(0)
        return task

    async def fill(self, *addresses: str) -> int:
        """How many of as many as there is room for in all were taken, turn by turn of these addresses."""
        return sum([not (await self.begin(addresses[n % len(addresses)])).done() for n in range(80)])

    async def end(self, event: MutableMapping[str, Any]) -> list[type[BaseException] | int]:
        """All that are left go on with this, and how that ended."""
        ended: list[type[BaseException] | int] = []
        for task, put in self.reading:
            if not task.done():
                await put(event)
                await asyncio.wait([task])
                error = task.exception()
                ended.append(len(task.result()) if error is None else type(error))
            elif not task.cancelled():
                task.exception()
        self.reading.clear()
        return ended


LAST = {"type": "http.request", "body": b"y" * 50}


@requirement("R-13.4-14")
async def test_one_address_may_have_so_much_on_its_way_and_others_as_much() -> None:
    place = Place()
    async with asyncio.timeout(10):
        assert await place.fill("192.0.2.1") == 16
        with pytest.raises(LimitExceededError) as caught:
            await (await place.begin("192.0.2.1"))
        assert (caught.value.details, caught.value.retry_after) == ({"limit": "bodies"}, 1.0)
        assert not (await place.begin("192.0.2.2")).done()
        await place.end({"type": "http.disconnect"})


async def test_there_is_so_much_in_all_also_from_this_machine() -> None:
    place = Place()
    async with asyncio.timeout(10):
        assert await place.fill("127.0.0.1") == 64
        assert (await place.begin("192.0.2.1")).done()
        await place.end({"type": "http.disconnect"})


async def test_short_bodies_come_through_whatever_others_send() -> None:
    place = Place()
    async with asyncio.timeout(10):
        assert await place.fill(*[f"192.0.2.{n}" for n in range(10)]) == 64
        short = await place.begin("192.0.2.1", FREE - 50)
        assert len(await place.end(LAST)) == 65
        assert len(await short) == FREE


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        (LAST, PART + 50),
        ({"type": "http.disconnect"}, Disconnected),
        ({"type": "http.request", "body": b"y" * 51}, RequestTooLargeError),
    ],
)
async def test_what_has_ended_in_whatever_way_is_not_held_any_more(
    event: MutableMapping[str, Any], outcome: object
) -> None:
    place = Place()
    async with asyncio.timeout(10):
        for _ in range(3):
            assert await place.fill("192.0.2.1", "192.0.2.2") == 32
            # Whoever is refused makes room for the others.
            ended = await place.end(event)
            assert ended[-1] == outcome


async def test_who_is_cancelled_holds_nothing_any_more() -> None:
    place = Place()
    async with asyncio.timeout(10):
        for _ in range(3):
            assert await place.fill("192.0.2.1") == 16
            for task, _ in place.reading:
                task.cancel()
            await asyncio.wait([task for task, _ in place.reading])
            place.reading.clear()
