"""Any HTTP dialect over any HTTP transport."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.client.channel import ChannelOptions, resuming
from dragoman.client.pacing import seconds_until
from dragoman.client.transport import HttpResponse, HttpTransport, following, read
from dragoman.dialects.base import Dialect, HttpReply, HttpRequest, Target
from dragoman.dialects.sse import EventReader
from dragoman.errors import UnavailableError
from dragoman.operations import SUBSCRIBE_TO_TASK, Operation
from dragoman.types.card import AgentInterface
from dragoman.types.events import StreamEvent
from dragoman.types.requests import ServiceParameters

__all__ = ["HttpChannel"]

METHOD_NOT_ALLOWED = 405


class HttpChannel:
    """The channel to an interface whose dialect is known. The transport stays its owner's to close."""

    def __init__(
        self, interface: AgentInterface, dialect: Dialect, transport: HttpTransport, options: ChannelOptions
    ) -> None:
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
        async with self._sent(encoded) as response:
            return await self._result(operation, response)

    async def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        encoded = self._dialect.encode_request(operation, request, resuming(self._target, after))
        other = _with_other_verb(encoded) if operation is SUBSCRIBE_TO_TASK and encoded.path else None
        if other is not None and self._subscribes_otherwise:
            encoded, other = other, None
        async with self._sent(encoded) as response:
            if response.status != METHOD_NOT_ALLOWED or other is None:
                async for event in self._events(operation, response):
                    yield event
                return
        async with self._sent(other) as response:
            self._subscribes_otherwise = response.status != METHOD_NOT_ALLOWED
            async for event in self._events(operation, response):
                yield event

    async def aclose(self) -> None:
        """Nothing to give back: connections are the transport's."""

    @asynccontextmanager
    async def _sent(self, request: HttpRequest) -> AsyncGenerator[HttpResponse, None]:
        headers = {**self._options.headers, **request.headers}
        url = _joined(self._url, request)
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
                yield self._dialect.decode_event(operation, event.data)

    async def _result(self, operation: Operation, response: HttpResponse) -> Any:
        body = await read(response, self._options.max_reply)
        try:
            return self._dialect.decode_result(operation, HttpReply(response.status, dict(response.headers), body))
        except UnavailableError as error:
            error.retry_after = seconds_until(response.headers.get("retry-after", ""))
            raise


def _with_other_verb(request: HttpRequest) -> HttpRequest:
    """GET for POST and the other way round."""
    if request.method == "POST":
        return msgspec.structs.replace(request, method="GET", body=b"")
    # Some servers refuse a POST without a body, and a body without a type.
    headers = {**request.headers, "content-type": "application/json"}
    return msgspec.structs.replace(request, method="POST", headers=headers, body=b"{}")


def _joined(base: str, request: HttpRequest) -> str:
    """The URL of a request: its path goes under the interface's, and both queries are kept."""
    if request.path in {"", "/"} and not request.query:
        return base
    parts = urlsplit(base)
    path = parts.path if request.path in {"", "/"} else parts.path.rstrip("/") + request.path
    query = "&".join(filter(None, (parts.query, request.query)))
    return parts._replace(path=path, query=query, fragment="").geturl()
