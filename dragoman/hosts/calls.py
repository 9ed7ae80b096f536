"""Requests answered by the service, alike for all bindings."""

import logging
import math
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.dialects.base import Call, Dialect, HttpReply, HttpRequest, Refusal
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.parameters import extensions_header
from dragoman.engine.feed import DirectFeed, TaskFeed
from dragoman.engine.service import Service
from dragoman.errors import (
    A2AError,
    InternalError,
    PermissionDeniedError,
    StoreUnavailable,
    UnauthenticatedError,
    UnavailableError,
)
from dragoman.hosts.gate import Gate
from dragoman.ports.auth import Credentials, Peer
from dragoman.ports.call import CallContext

__all__ = ["Calls", "Stream", "fields_of"]

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
    `gate` says who calls.
    """

    def __init__(
        self,
        service: Service,
        negotiator: Negotiator,
        activated: Callable[[tuple[str, ...]], tuple[str, ...]],
        first: Callable[[], Any],
        gate: Gate,
    ) -> None:
        self.service = service
        self._gate = gate
        self._negotiator = negotiator
        self._activated = activated
        self._first = first

    async def answer(self, request: HttpRequest, peer: Peer) -> HttpReply | Stream:
        """The whole answer, be it a result or an error, or the stream that is the answer. Raises nothing."""
        try:
            principal = await self._gate.enter(Credentials(request.headers, request.query, peer))
        except Exception as error:  # noqa: BLE001 -- nobody gets in by a defect
            return self.refuse(request, self.public(error))
        dialect, call = self._negotiator.decode(request)
        if isinstance(call, Refusal):
            return dialect.encode_error(call.error, call.reply_to)
        parameters = call.parameters
        extensions = self._activated(parameters.extensions) if parameters.extensions else ()
        named = {extensions_header(dialect.version): ", ".join(extensions)} if extensions else {}
        try:
            await self._first()
            context = CallContext(principal=principal, parameters=parameters, dialect=dialect.key)
            result = await self.service.call(call.operation, call.request, context)
            if call.operation.streams:
                return Stream(dialect, call, result, named)
            reply = dialect.encode_result(call, result)
        except Exception as error:  # noqa: BLE001 -- the one place where defects become InternalError
            public = self.public(error)
            reply = dialect.encode_error(public, call.reply_to)
            reply.headers.update(fields_of(public))
            return reply
        if named:
            reply.headers.update(named)
        return reply

    def refuse(self, request: HttpRequest, error: A2AError) -> HttpReply:
        """The answer to a request that is refused before its body was decoded."""
        dialect, reply_to = self._negotiator.refusing(request)
        reply = dialect.encode_error(error, reply_to)
        reply.headers.update(fields_of(error))
        return reply

    def public(self, error: Exception) -> A2AError:
        """The error as callers may see it. A defect is logged, and is an `InternalError` for them."""
        if isinstance(error, A2AError):
            return error
        if isinstance(error, StoreUnavailable):
            return UnavailableError()
        log.error("a request failed", exc_info=error)
        return InternalError()


def fields_of(error: A2AError) -> dict[str, str]:
    """What the head of an answer says of an error: by what a caller could be known (RFC 9110 section 11.6.1), and when
    to come again (section 10.2.3), if the error says it.
    """
    if isinstance(error, UnauthenticatedError | PermissionDeniedError) and error.challenges:
        return {"www-authenticate": ", ".join(error.challenges)}
    if isinstance(error, UnavailableError) and error.retry_after is not None:
        return {"retry-after": str(max(1, math.ceil(error.retry_after)))}
    return {}
