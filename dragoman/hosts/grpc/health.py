"""The health service of gRPC (`grpc.health.v1`): whether calls are taken, for the server and for each service."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from dragoman._proto import message, parse
from dragoman.engine.service import Service
from dragoman.hosts.attending import until_gone
from dragoman.hosts.binding import Receive
from dragoman.hosts.grpc.response import Response
from dragoman.hosts.grpc.status import Code, Fault

__all__ = ["Health"]

SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3
REQUEST = "grpc.health.v1.HealthCheckRequest"
RESPONSE = "grpc.health.v1.HealthCheckResponse"
WATCHING = 256
"""Who watch at once, in all: nobody is asked who they are."""


class Health:
    """The whole server, whose name is empty, and the `served` services: they serve until the server begins to stop."""

    def __init__(self, service: Service, served: Sequence[str]) -> None:
        self._service = service
        self._names = tuple(dict.fromkeys(("", *served)))
        self._watching = 0

    async def check(self, questions: AsyncIterator[bytes], _receive: Receive, response: Response) -> None:
        name = await _name(questions)
        if name not in self._names:
            raise Fault(Code.NOT_FOUND, "There is no such service here")
        await response.messages([_answer(self._status)])

    async def list(self, questions: AsyncIterator[bytes], _receive: Receive, response: Response) -> None:
        await _only(questions)
        status = message(RESPONSE)(status=self._status)
        listed = message("grpc.health.v1.HealthListResponse")(statuses=dict.fromkeys(self._names, status))
        await response.messages([listed.SerializeToString()])

    async def watch(self, questions: AsyncIterator[bytes], receive: Receive, response: Response) -> None:
        """Says the status now, and what becomes of it; ends when the server stops."""
        if self._watching >= WATCHING:
            raise Fault(Code.RESOURCE_EXHAUSTED, "Too many watch already")
        self._watching += 1
        try:
            await self._watch(await _name(questions) in self._names, receive, response)
        finally:
            self._watching -= 1
        raise Fault(Code.UNAVAILABLE, "The server is stopping")

    async def _watch(self, known: bool, receive: Receive, response: Response) -> None:
        await response.messages([_answer(self._status if known else SERVICE_UNKNOWN)])
        over = asyncio.Event()
        forget = self._service.when_stopping(over.set)
        watcher = asyncio.get_running_loop().create_task(until_gone(receive, over.set))
        try:
            if not self._service.stopping:
                await over.wait()
        finally:
            forget()
            watcher.cancel()
        if known and self._service.stopping:
            await response.messages([_answer(NOT_SERVING)])

    @property
    def _status(self) -> int:
        return NOT_SERVING if self._service.stopping else SERVING


async def _only(questions: AsyncIterator[bytes]) -> bytes:
    """The one message of a call that takes one; what comes after a second is not waited for."""
    found: bytes | None = None
    async for question in questions:
        if found is not None:
            raise Fault(Code.UNIMPLEMENTED, "This method takes one message")
        found = question
    if found is None:
        raise Fault(Code.UNIMPLEMENTED, "This method takes one message")
    return found


async def _name(questions: AsyncIterator[bytes]) -> str:
    try:
        asked: Any = parse(REQUEST, await _only(questions))
    except ValueError as error:
        raise Fault(Code.INTERNAL, "The message is no HealthCheckRequest") from error
    name: str = asked.service
    return name


def _answer(status: int) -> bytes:
    encoded: bytes = message(RESPONSE)(status=status).SerializeToString()
    return encoded
