"""Requests answered by the service, alike for all bindings."""

import logging
from collections.abc import Callable, Mapping
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
from dragoman.ports.auth import Authenticator, Credentials
from dragoman.ports.call import CallContext, Principal

__all__ = ["Calls", "Stream", "challenges_of"]

log = logging.getLogger("dragoman.hosts")

ANYBODY = Principal()


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
    Without an `authenticator` all callers are the anonymous one.
    """

    def __init__(
        self,
        service: Service,
        negotiator: Negotiator,
        activated: Callable[[tuple[str, ...]], tuple[str, ...]],
        first: Callable[[], Any],
        authenticator: Authenticator | None = None,
    ) -> None:
        self.service = service
        self._authenticator = authenticator
        self._negotiator = negotiator
        self._activated = activated
        self._first = first

    async def answer(self, request: HttpRequest) -> HttpReply | Stream:
        """The whole answer, be it a result or an error, or the stream that is the answer. Raises nothing."""
        principal = ANYBODY
        if self._authenticator is not None:
            try:
                principal = await self.principal(request.headers, request.query)
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
            return dialect.encode_error(self.public(error), call.reply_to)
        if named:
            reply.headers.update(named)
        return reply

    async def principal(self, headers: Mapping[str, str], query: str) -> Principal:
        """Who calls; the one place where that is decided, before anything else of a request is looked at.

        Raises:
            A2AError: whoever it is may not call, or it cannot be found out.
        """
        if self._authenticator is None:
            return ANYBODY
        principal = await self._authenticator.authenticate(Credentials(headers, query))
        if not principal.id:
            # Whoever is known has a name: nobody comes by mistake to what anonymous callers have left.
            raise UnauthenticatedError
        return principal

    def refuse(self, request: HttpRequest, error: A2AError) -> HttpReply:
        """The answer to a request that is refused before its body was decoded."""
        dialect, reply_to = self._negotiator.refusing(request)
        reply = dialect.encode_error(error, reply_to)
        reply.headers.update(challenges_of(error))
        return reply

    def public(self, error: Exception) -> A2AError:
        """The error as callers may see it. A defect is logged, and is an `InternalError` for them."""
        if isinstance(error, A2AError):
            return error
        if isinstance(error, StoreUnavailable):
            return UnavailableError()
        log.error("a request failed", exc_info=error)
        return InternalError()


def challenges_of(error: A2AError) -> dict[str, str]:
    """The header that says by what a caller could be known (RFC 9110 section 11.6.1), if the error says it."""
    if isinstance(error, UnauthenticatedError | PermissionDeniedError) and error.challenges:
        return {"www-authenticate": ", ".join(error.challenges)}
    return {}
