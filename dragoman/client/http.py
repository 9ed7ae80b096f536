"""Any HTTP dialect over any HTTP transport."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.client.channel import ChannelOptions, resuming
from dragoman.client.login.challenges import challenges_in
from dragoman.client.login.placing import Carried
from dragoman.client.login.presenter import answered, streamed
from dragoman.client.pacing import seconds_until
from dragoman.client.shapes import OlderShapes
from dragoman.client.transport import HttpResponse, HttpTransport, following, read
from dragoman.dialects.base import Dialect, HttpReply, HttpRequest, Target
from dragoman.dialects.sse import EventReader
from dragoman.errors import PermissionDeniedError, UnauthenticatedError, UnavailableError
from dragoman.operations import SUBSCRIBE_TO_TASK, Operation
from dragoman.types.card import AgentInterface
from dragoman.types.events import StreamEvent
from dragoman.types.requests import ServiceParameters

__all__ = ["HttpChannel"]

METHOD_NOT_ALLOWED = 405


class HttpChannel:
    """The channel to an interface whose dialect is known. The transport stays its owner's to close."""

    def __init__(
        self,
        interface: AgentInterface,
        dialect: Dialect,
        transport: HttpTransport,
        options: ChannelOptions,
        shapes: OlderShapes | None = None,
    ) -> None:
        """`shapes` is told of answers in older shapes, where older ones are not what was agreed on."""
        self._shapes = shapes
        self._url = interface.url
        self._dialect = dialect
        self._transport = transport
        self._options = options
        self._target = Target(
            tenant=interface.tenant,
            parameters=ServiceParameters(version=dialect.version, extensions=options.extensions),
        )
        # Text and annotations of the specification disagree about the verb, and so do servers.
        self._subscribes_otherwise = False

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
        """Nothing to give back: connections are the transport's."""

    async def _call(self, operation: Operation, encoded: HttpRequest, carried: Carried) -> Any:
        async with self._sent(encoded, carried) as response:
            return await self._result(operation, response)

    async def _stream(
        self, operation: Operation, encoded: HttpRequest, carried: Carried
    ) -> AsyncGenerator[StreamEvent, None]:
        other = _with_other_verb(encoded) if operation is SUBSCRIBE_TO_TASK and encoded.path else None
        if other is not None and self._subscribes_otherwise:
            encoded, other = other, None
        async with self._sent(encoded, carried) as response:
            if response.status != METHOD_NOT_ALLOWED or other is None:
                async for event in self._events(operation, response):
                    yield event
                return
        async with self._sent(other, carried) as response:
            self._subscribes_otherwise = response.status != METHOD_NOT_ALLOWED
            async for event in self._events(operation, response):
                yield event

    @asynccontextmanager
    async def _sent(self, request: HttpRequest, carried: Carried) -> AsyncGenerator[HttpResponse, None]:
        headers = {**self._options.headers, **carried.headers, **request.headers}
        url = _joined(self._url, request, carried.query)
        async with following(self._transport, request.method, url, headers, request.body) as response:
            yield response

    async def _events(self, operation: Operation, response: HttpResponse) -> AsyncIterator[StreamEvent]:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            # An error before the stream began, or a single answer in place of a stream.
            yield await self._result(operation, response)
            return
        reader = EventReader(self._options.max_reply)
        async for chunk in response.body():
            for event in reader.feed(chunk):
                yield self._read(partial(self._dialect.decode_event, operation, event.data))

    def _read(self, decode: Callable[[], Any]) -> Any:
        return decode() if self._shapes is None else self._shapes.read(self._url, decode)

    async def _result(self, operation: Operation, response: HttpResponse) -> Any:
        body = await read(response, self._options.max_reply, self._options.idle_timeout)
        try:
            reply = HttpReply(response.status, dict(response.headers), body)
            return self._read(partial(self._dialect.decode_result, operation, reply))
        except UnavailableError as error:
            error.retry_after = seconds_until(response.headers.get("retry-after", ""))
            raise
        except (UnauthenticatedError, PermissionDeniedError) as error:
            error.challenges = challenges_in(response.headers.get("www-authenticate", ""))
            raise


def _with_other_verb(request: HttpRequest) -> HttpRequest:
    """GET for POST and the other way round."""
    if request.method == "POST":
        return msgspec.structs.replace(request, method="GET", body=b"")
    # Some servers refuse a POST without a body, and a body without a type.
    headers = {**request.headers, "content-type": "application/json"}
    return msgspec.structs.replace(request, method="POST", headers=headers, body=b"{}")


def _joined(base: str, request: HttpRequest, further: str) -> str:
    """The URL of a request: its path goes under the interface's, and all queries are kept."""
    if request.path in {"", "/"} and not request.query and not further:
        return base
    parts = urlsplit(base)
    path = parts.path if request.path in {"", "/"} else parts.path.rstrip("/") + request.path
    query = "&".join(filter(None, (parts.query, request.query, further)))
    return parts._replace(path=path, query=query, fragment="").geturl()
