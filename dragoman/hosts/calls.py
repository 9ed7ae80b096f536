"""Requests answered by the service, alike for all bindings."""

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.correlation import correlate, correlation
from dragoman.dialects.base import Call, Dialect, HttpReply, HttpRequest, Refusal
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.parameters import extensions_header
from dragoman.engine.extended import ExtendedFeed
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
from dragoman.hosts.account import Account
from dragoman.hosts.cards import CallerCards
from dragoman.hosts.gate import Gate
from dragoman.operations import GET_EXTENDED_AGENT_CARD
from dragoman.ports.auth import Credentials, Peer
from dragoman.ports.call import CallContext, Principal

__all__ = ["Calls", "Stream", "fields_of"]

log = logging.getLogger("dragoman.hosts")

REQUEST_ID = "x-request-id"


class Stream(msgspec.Struct, frozen=True):
    """An operation that streams, to be closed at its end: a feed, and the dialect that says its events."""

    dialect: Dialect
    call: Call
    feed: TaskFeed | DirectFeed | ExtendedFeed
    headers: dict[str, str]
    """For the head of the answer, beside those of the binding; names are lower case."""
    leave: Callable[[], None]
    """Gives back the place that it takes among the open streams."""

    def close(self) -> None:
        self.feed.close()
        self.leave()


class Calls:
    """From a request that has been read to what has to be written.

    `activated` says which of the extensions that a caller names are in force; `first` is awaited before each call.
    `gate` says who calls, and how many streams they may have open; `account` is told of each. `base` tells the base URL
    that a caller uses, from what is known of the connection and from the headers.
    """

    def __init__(
        self,
        service: Service,
        negotiator: Negotiator,
        activated: Callable[[tuple[str, ...]], tuple[str, ...]],
        first: Callable[[], Any],
        *,
        gate: Gate,
        account: Account,
        base: Callable[[Mapping[str, Any], Mapping[str, str]], str],
    ) -> None:
        self.service = service
        self._gate = gate
        self._account = account
        self._base = base
        self._cards = CallerCards(gate.schemes)
        self._negotiator = negotiator
        self._activated = activated
        self._first = first

    async def answer(
        self,
        request: HttpRequest,
        peer: Peer,
        about: Mapping[str, Any],
        *,
        unpack: Callable[[bytes], bytes] | None = None,
    ) -> HttpReply | Stream:
        """The whole answer, be it a result or an error, or the stream that is the answer. Raises nothing but what
        `unpack` raises, which makes of the body what the dialects read, once it is known who calls.
        """
        _correlate(request.headers)
        try:
            credentials = Credentials(request.headers, request.query, peer)
            principal = await self._gate.enter(credentials)
        except Exception as error:  # noqa: BLE001 -- nobody gets in by a defect
            return self._refusal(request, self.public(error), peer)
        if unpack is not None:
            try:
                request = msgspec.structs.replace(request, body=unpack(request.body))
            except A2AError as error:
                return self._refusal(request, error, peer)
        dialect, call = self._negotiator.decode(request)
        if isinstance(call, Refusal):
            self._account.failed(call.error, CallContext(principal=principal, dialect=dialect.key), peer)
            return dialect.encode_error(call.error, call.reply_to)
        context = CallContext(
            principal=principal, parameters=call.parameters, dialect=dialect.key, credentials=credentials
        )
        card = call.operation is GET_EXTENDED_AGENT_CARD
        if card:
            context = msgspec.structs.replace(context, base=self._base(about, request.headers))
        try:
            answer, result = await self._answered(dialect, call, context, peer)
        except Exception as error:  # noqa: BLE001 -- the one place where defects become InternalError
            public = self.public(error)
            self._account.failed(public, context, peer, call)
            reply = dialect.encode_error(public, call.reply_to)
            reply.headers.update(fields_of(public) | self._named(dialect, call))
            return reply
        self._account.allowed(context, peer, call, result)
        return self._cards.kept(request, answer) if card and isinstance(answer, HttpReply) else answer

    async def _answered(
        self, dialect: Dialect, call: Call, context: CallContext, peer: Peer
    ) -> tuple[HttpReply | Stream, Any]:
        """The answer, and what it says."""
        named = self._named(dialect, call)
        await self._first()
        if call.operation.streams:
            stream = await self._opened(dialect, call, context, peer, named)
            return stream, stream.feed
        result = await self.service.call(call.operation, call.request, context)
        reply = dialect.encode_result(call, result)
        if named:
            reply.headers.update(named)
        return reply, result

    def _named(self, dialect: Dialect, call: Call) -> dict[str, str]:
        """How an answer lists the extensions that are in force for the call, if any are."""
        requested = call.parameters.extensions
        extensions = self._activated(requested) if requested else ()
        return {extensions_header(dialect.version): ", ".join(extensions)} if extensions else {}

    async def _opened(
        self, dialect: Dialect, call: Call, context: CallContext, peer: Peer, named: dict[str, str]
    ) -> Stream:
        leave = self._gate.admission.open_stream(context.principal, peer.address)
        try:
            feed = await self.service.call(call.operation, call.request, context)
        except BaseException:
            leave()
            raise
        return Stream(dialect, call, feed, named, leave)

    async def enter(self, binding: str, credentials: Credentials) -> Principal:
        """Who comes by this binding from outside; what is called then is between the binding and the service.

        Raises:
            A2AError: whoever it is may not.
        """
        _correlate(credentials.headers)
        try:
            principal = await self._gate.enter(credentials)
        except Exception as error:
            public = self.public(error)
            self._account.failed(public, CallContext(dialect=binding), credentials.peer)
            raise public from error
        self._account.entered(CallContext(principal=principal, dialect=binding), credentials.peer)
        return principal

    def refuse(self, request: HttpRequest, error: A2AError, peer: Peer) -> HttpReply:
        """The answer to a request that is refused before it is asked who calls."""
        _correlate(request.headers)
        return self._refusal(request, error, peer)

    def _refusal(self, request: HttpRequest, error: A2AError, peer: Peer) -> HttpReply:
        dialect, reply_to = self._negotiator.refusing(request)
        self._account.failed(error, CallContext(dialect=dialect.key), peer)
        reply = dialect.encode_error(error, reply_to)
        reply.headers.update(fields_of(error))
        return reply

    def public(self, error: Exception) -> A2AError:
        """The error as callers may see it. A defect is logged, and is an `InternalError` for them."""
        if isinstance(error, A2AError):
            return error
        if isinstance(error, StoreUnavailable):
            return UnavailableError()
        found = correlation()
        request_id = "" if found is None else found.id
        log.error("a request failed, request id %s", request_id, exc_info=error)
        return InternalError(details={"requestId": request_id} if request_id else None)


def _correlate(headers: Mapping[str, str]) -> None:
    correlate(headers.get("traceparent", ""), headers.get(REQUEST_ID, ""))


def fields_of(error: A2AError) -> dict[str, str]:
    """What the head of an answer says of an error: by what a caller could be known (RFC 9110 section 11.6.1), and when
    to come again (section 10.2.3), if the error says it.
    """
    if isinstance(error, UnauthenticatedError | PermissionDeniedError) and error.challenges:
        return {"www-authenticate": ", ".join(error.challenges)}
    if isinstance(error, UnavailableError) and error.retry_after is not None:
        return {"retry-after": str(max(1, math.ceil(error.retry_after)))}
    return {}
