"""gRPC without HTTP/2: calls of an application in this process, read while it answers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Self

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.testing.bridge import AsgiApp, AsgiBridge
from tests.unit.hosts.grpc.driver import Line, unframed

__all__ = ["Bridge", "Rpc"]


class Rpc(Line):
    """One call, whose messages are taken one after another."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.path, request.headers)
        self.say(request.body)
        self._taken = 0

    async def next(self) -> bytes | None:
        """The next message; None when the call has ended."""
        while len(found := self._messages) <= self._taken:
            if self.ended:
                return None
            self._news.clear()
            await self._news.wait()
        self._taken += 1
        return found[self._taken - 1]

    @property
    def _messages(self) -> list[bytes]:
        return [] if self._plain else unframed(self.body)

    @property
    def _plain(self) -> bool:
        """Whether the answer is one of HTTP alone."""
        return bool(self._events) and not self._events[0].get("trailers", False)

    @property
    def ended(self) -> bool:
        last = self._events[-1] if self._events else {"type": ""}
        over = self._plain and last["type"] == "http.response.body" and not last.get("more_body", False)
        return over or last["type"] == "http.response.trailers"

    @property
    def reply(self) -> HttpReply:
        """The whole answer; trailers stand among the headers."""
        answer = self.answer
        return HttpReply(answer.status, {**answer.head, **answer.trailers}, answer.body)


class Bridge(AsgiBridge):
    """The bridge to an application, over which gRPC can be spoken too."""

    def __init__(self, app: AsgiApp, **options: Any) -> None:
        super().__init__(app, **options)
        self.app = app

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    async def ask(self, request: HttpRequest) -> HttpReply:
        """The answer to a request: gRPC if its content type says so, else HTTP."""
        if not request.headers.get("content-type", "").startswith("application/grpc"):
            return await self.send(request)
        async with self.rpc(request) as call:
            while await call.next() is not None:
                pass
        return call.reply

    @asynccontextmanager
    async def rpc(self, request: HttpRequest) -> AsyncGenerator[Rpc]:
        """A call while it is answered; leaving is the caller's leaving."""
        call = Rpc(request)
        async with call.open(self.app):
            try:
                yield call
            finally:
                if not call.ended:
                    call.leave()
