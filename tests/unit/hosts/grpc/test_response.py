"""What an answer writes, and when."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from dragoman.hosts.grpc.response import Response
from dragoman.hosts.grpc.status import OK, Code, trailers
from dragoman.hosts.reading import Disconnected


class Written:
    def __init__(self) -> None:
        self.events: list[MutableMapping[str, Any]] = []

    async def __call__(self, event: MutableMapping[str, Any]) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event["type"].rpartition(".")[2] for event in self.events]


async def test_no_messages_are_a_head_at_first_and_nothing_later() -> None:
    written = Written()
    response = Response({}, written, 5)
    await response.messages([])
    await response.messages([])
    assert written.kinds == ["start"]


async def test_messages_that_are_ready_together_are_written_together() -> None:
    written = Written()
    response = Response({}, written, 5)
    await response.messages([b"a", b"b"])
    await response.end(OK)
    assert written.kinds == ["start", "body", "body", "trailers"]
    assert written.events[1]["body"] == b"\0\0\0\0\1a\0\0\0\0\1b"


async def test_an_answer_ends_once() -> None:
    written = Written()
    response = Response({}, written, 5)
    await response.whole(b"a", OK)
    await response.end(trailers(Code.DEADLINE_EXCEEDED, "late"))
    assert written.kinds == ["start", "body", "trailers"]
    assert written.events[-1]["headers"] == OK


async def test_a_reader_who_takes_nothing_has_left() -> None:
    async def never(_event: MutableMapping[str, Any]) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Disconnected):
        await Response({}, never, 0.001).messages([])


async def test_a_server_that_says_the_reader_has_gone_is_understood() -> None:
    async def broken(_event: MutableMapping[str, Any]) -> None:
        raise BrokenPipeError

    with pytest.raises(Disconnected):
        await Response({}, broken, 5).end(OK)
