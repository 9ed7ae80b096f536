"""Requests answered by the service, alike for all bindings."""

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.dialects.base import Call, Dialect, HttpReply, HttpRequest, Refusal
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.parameters import extensions_header
from dragoman.engine.feed import DirectFeed, TaskFeed
from dragoman.engine.service import Service
from dragoman.errors import A2AError, InternalError, StoreUnavailable, UnavailableError
from dragoman.ports.call import CallContext

__all__ = ["Calls", "Stream"]

log = logging.getLogger("dragoman.hosts")


class Stream(msgspec.Struct, frozen=True):
    """An operation that streams: a feed, which must be closed, and the dialect that says its events."""

    dialect: Dialect
    call: Call
    feed: TaskFeed | DirectFeed
    headers: dict[str, str]
    """For the head of the answer, beside those of the binding; names are lower case."""


class Calls:
    """From a request that has been read to what has to be written.

    `activated` says which of the extensions that a caller names are in force; `first` is awaited before each call.
    """

    def __init__(
        self,
        service: Service,
        negotiator: Negotiator,
        activated: Callable[[tuple[str, ...]], tuple[str, ...]],
        first: Callable[[], Any],
    ) -> None:
        self.service = service
        self._negotiator = negotiator
        self._activated = activated
        self._first = first

    async def answer(self, request: HttpRequest) -> HttpReply | Stream:
        """The whole answer, be it a result or an error, or the stream that is the answer. Raises nothing."""
        dialect, call = self._negotiator.decode(request)
        if isinstance(call, Refusal):
            return dialect.encode_error(call.error, call.reply_to)
        parameters = call.parameters
        extensions = self._activated(parameters.extensions) if parameters.extensions else ()
        named = {extensions_header(dialect.version): ", ".join(extensions)} if extensions else {}
        try:
            await self._first()
            context = CallContext(parameters=parameters, dialect=dialect.key)
            result = await self.service.call(call.operation, call.request, context)
            if call.operation.streams:
                return Stream(dialect, call, result, named)
            reply = dialect.encode_result(call, result)
        except Exception as error:  # noqa: BLE001 -- the one place where defects become InternalError
            return dialect.encode_error(self.public(error), call.reply_to)
        if named:
            reply.headers.update(named)
        return reply

    def refuse(self, request: HttpRequest, error: A2AError) -> HttpReply:
        """The answer to a request that is refused before its body was read."""
        return self._negotiator.choose(request).encode_error(error, None)

    def public(self, error: Exception) -> A2AError:
        """The error as callers may see it. A defect is logged, and is an `InternalError` for them."""
        if isinstance(error, A2AError):
            return error
        if isinstance(error, StoreUnavailable):
            return UnavailableError()
        log.error("a request failed", exc_info=error)
        return InternalError()
