"""Any gRPC dialect over `grpc.aio`, which is in the extra `grpc` and loaded only when a gRPC interface is chosen.

Messages are bytes here, made and read by the dialect; nothing is generated.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import pybase64

from dragoman.client.channel import Channel, ChannelOptions, resuming
from dragoman.client.dialing import Dialer, grpcio, metadata_of
from dragoman.client.login.challenges import challenges_in
from dragoman.client.login.placing import Carried
from dragoman.client.login.presenter import answered, streamed
from dragoman.client.network import Guard
from dragoman.client.pacing import seconds_until
from dragoman.client.trust import Certificate
from dragoman.dialects.base import Dialect, HttpReply, HttpRequest, Target
from dragoman.errors import (
    PermissionDeniedError,
    ReplyMalformed,
    TimedOut,
    TransportError,
    UnauthenticatedError,
    UnavailableError,
)
from dragoman.operations import Operation
from dragoman.types.card import AgentInterface
from dragoman.types.events import StreamEvent
from dragoman.types.requests import ServiceParameters

__all__ = ["GrpcChannel", "open_grpc"]

T = TypeVar("T")

GRACE_SECONDS = 1.0
"""That gRPC has to end a call by itself."""
DETAILS = "grpc-status-details-bin"


def open_grpc(
    interface: AgentInterface,
    dialect: Dialect,
    options: ChannelOptions,
    *,
    verify: bool | ssl.SSLContext = True,
    certificate: Certificate | None = None,
    secure: bool = True,
    guard: Guard | None = None,
) -> Channel:
    """The channel to a gRPC interface. Nothing is sent, and no connection made, before the first call.

    The interface's URL is `host:port`, or has a scheme: `https` and `grpcs` mean TLS, `http` and `grpc` none; its path
    plays no part.

    Args:
        interface: where to, and for which tenant.
        dialect: of gRPC, in the version of the interface.
        options: as for every channel; `max_reply` limits one message.
        verify: False accepts any certificate that is valid in itself; of an `SSLContext` the authorities are taken, or
            that it verifies nothing, but no certificate of the client's own: gRPC cannot read that.
        certificate: the client's own, with its key.
        secure: TLS for an URL without a scheme; whether the card came by `https`.
        guard: says what may be called.

    Raises:
        ConfigurationError: gRPC is not installed, or one of the options' headers cannot be sent over gRPC.
    """
    dialer = Dialer(interface.url, options, verify=verify, certificate=certificate, secure=secure, guard=guard)
    return GrpcChannel(interface, dialect, options, dialer)


class GrpcChannel:
    """The channel to an interface whose dialect is known, over connections of its own.

    `options.idle_timeout` limits a call without a stream as a whole, and in a stream the time between two events.
    """

    def __init__(self, interface: AgentInterface, dialect: Dialect, options: ChannelOptions, dialer: Dialer) -> None:
        self._aio = grpcio().aio
        self._url = interface.url
        self._dialect = dialect
        self._options = options
        self._dialer = dialer
        self._metadata = metadata_of(options.headers)
        self._target = Target(
            tenant=interface.tenant,
            parameters=ServiceParameters(version=dialect.version, extensions=options.extensions),
        )

    async def call(self, operation: Operation, request: Any) -> Any:
        encoded = self._dialect.encode_request(operation, request, self._target)
        return await answered(self._options.presenter, partial(self._call, operation, encoded))

    async def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        encoded = self._dialect.encode_request(operation, request, resuming(self._target, after))
        once = partial(self._stream, operation, encoded)
        async with aclosing(streamed(self._options.presenter, once)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        await self._dialer.aclose()

    async def _call(self, operation: Operation, encoded: HttpRequest, carried: Carried) -> Any:
        metadata = self._all(carried, encoded.headers)
        async with self._dialer.dialed() as channel:
            method = channel.unary_unary(encoded.path)
            call = method(encoded.body, metadata=metadata, timeout=self._options.idle_timeout)
            try:
                body = await self._said(operation, call, self._whole(call))
            except TimedOut:
                await self._dialer.leave(channel)
                raise
        return self._dialect.decode_result(operation, HttpReply(200, {"grpc-status": "0"}, body))

    async def _stream(
        self, operation: Operation, encoded: HttpRequest, carried: Carried
    ) -> AsyncGenerator[StreamEvent, None]:
        metadata = self._all(carried, encoded.headers)
        async with self._dialer.dialed() as channel:
            call = channel.unary_stream(encoded.path)(encoded.body, metadata=metadata)
            try:
                while True:
                    message = await self._said(operation, call, self._next(call))
                    if message is self._aio.EOF:
                        return
                    yield self._dialect.decode_event(operation, message)
            except TimedOut:
                await self._dialer.leave(channel)
                raise
            finally:
                call.cancel()

    def _all(self, carried: Carried, headers: Mapping[str, str]) -> Any:
        own = self._metadata
        if carried.headers:
            own = [(name, value) for name, value in own if name not in carried.headers]
        return (*own, *metadata_of(carried.headers), *metadata_of(headers))

    async def _whole(self, call: Any) -> Any:
        # gRPC's own deadline does not end a call while whoever is called floods the connection.
        try:
            async with asyncio.timeout(self._options.idle_timeout + GRACE_SECONDS):
                return await call
        except TimeoutError as error:
            raise TimedOut(f"Nothing came from {self._url} in time") from error

    async def _next(self, call: Any) -> Any:
        try:
            async with asyncio.timeout(self._options.idle_timeout):
                return await call.read()
        except TimeoutError as error:
            raise TimedOut(f"Nothing came from {self._url} in time") from error

    async def _said(self, operation: Operation, call: Any, answer: Awaitable[T]) -> T:
        """What the agent says, or its error, or ours."""
        try:
            return await answer
        except self._aio.AioRpcError as error:
            raise self._failure(operation, error) from error
        except self._aio.UsageError as error:
            raise TransportError(f"The channel to {self._url} is closed") from error
        except asyncio.CancelledError as error:
            waiter = asyncio.current_task()
            if waiter is None or waiter.cancelling() or not call.cancelled():
                raise
            # Not who waits was cancelled, but the call, together with its channel.
            raise TransportError(f"The channel to {self._url} is closed") from error

    def _failure(self, operation: Operation, error: Any) -> Exception:
        code = error.code()
        text, trailers = error.details() or "", _headers(error.trailing_metadata())
        if code.name == "DEADLINE_EXCEEDED":
            return TimedOut(f"Nothing came from {self._url} in time")
        if "larger than max" in text and "SERVER" not in text:
            return ReplyMalformed(f"The reply is longer than {self._options.max_reply} bytes")
        if _is_broken(code.name, text, trailers):
            return TransportError(f"The connection to {self._url} broke: {text}")
        said = {"grpc-status": str(code.value[0]), "grpc-message": quote(text), **trailers}
        try:
            self._dialect.decode_result(operation, HttpReply(200, said))
        except Exception as failure:  # noqa: BLE001 -- what the dialect makes of it is what is wanted
            return _completed(failure, trailers)
        return ReplyMalformed("The agent's answer is no error and no result", text)


def _completed(failure: Exception, trailers: Mapping[str, str]) -> Exception:
    """The failure with what the metadata say of it, beside the status."""
    if isinstance(failure, UnauthenticatedError | PermissionDeniedError):
        failure.challenges = challenges_in(trailers.get("www-authenticate", ""))
    elif isinstance(failure, UnavailableError):
        failure.retry_after = seconds_until(trailers.get("retry-after", ""))
    return failure


def _is_broken(status: str, text: str, trailers: Mapping[str, str]) -> bool:
    """Whether gRPC itself made up the status because the connection, or the stream, broke.

    It marks that in its words only. An agent that is unavailable by its own word says more than the status.
    """
    if DETAILS in trailers or text.startswith(UnavailableError.__name__):
        return False
    return status in {"UNAVAILABLE", "CANCELLED"} or text.startswith("Stream removed") or "RST_STREAM" in text


def _headers(metadata: Any) -> dict[str, str]:
    """Metadata as a dialect reads them: binary ones as base64, as on the wire."""
    headers: dict[str, str] = {}
    for name, value in metadata or ():
        headers[name] = value if isinstance(value, str) else pybase64.b64encode(value).decode().rstrip("=")
    return headers
