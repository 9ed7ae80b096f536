"""The answer to one gRPC call, to ASGI: head, messages, trailers."""

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from dragoman.hosts.binding import Send
from dragoman.hosts.grpc.framing import GZIP, frame
from dragoman.hosts.grpc.status import Fields, fields
from dragoman.hosts.reading import Disconnected
from dragoman.hosts.timing import within

__all__ = ["Response"]

HEAD: Fields = [(b"content-type", b"application/grpc"), (b"grpc-accept-encoding", b"identity, gzip")]
COMPRESSED_HEAD: Fields = [*HEAD, (b"grpc-encoding", b"gzip")]


class Response:
    """Begins with the first thing that is written, and ends once; what comes after the end is dropped.

    Messages are compressed for a caller who compresses its own, as far as that makes them smaller.

    Raises, whatever is called:
        Disconnected: the caller has left, or takes nothing for `stall` seconds.
    """

    def __init__(self, request_headers: Mapping[str, str], send: Send, stall: float) -> None:
        self.metadata: Mapping[str, str] = {}
        """For the head; to be set before anything is written."""
        self._gzip = _reads_gzip(request_headers)
        self._send = send
        self._stall = stall
        self._begun = False
        self._ended = False

    async def messages(self, messages: Sequence[bytes]) -> None:
        """Writes these messages together; without any, the head alone."""
        await self._bounded(self._messages(messages))

    async def end(self, trailers: Fields) -> None:
        """Says how the call ended."""
        if not self._ended:
            self._ended = True
            await self._bounded(self._last(b"", trailers))

    async def whole(self, message: bytes, trailers: Fields) -> None:
        """The answer to a call that has one message."""
        self._ended = True
        await self._bounded(self._last(frame(message, gzip=self._gzip), trailers))

    async def _bounded(self, writing: Coroutine[Any, Any, None]) -> None:
        try:
            await within(self._stall, writing)
        except OSError as error:
            # The time is over, or the server says in this way that the caller is gone.
            raise Disconnected from error

    async def _messages(self, messages: Sequence[bytes]) -> None:
        if not self._begun:
            await self._begin()
        if messages:
            body = b"".join([frame(message, gzip=self._gzip) for message in messages])
            await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def _last(self, body: bytes, trailers: Fields) -> None:
        if not self._begun:
            await self._begin()
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
        await self._send({"type": "http.response.trailers", "headers": trailers, "more_trailers": False})

    async def _begin(self) -> None:
        self._begun = True
        head = COMPRESSED_HEAD if self._gzip else HEAD
        headers = [*head, *fields(self.metadata)] if self.metadata else head
        await self._send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": True})


def _reads_gzip(headers: Mapping[str, str]) -> bool:
    """Whether the caller compresses, and says nothing against getting the same back."""
    return headers.get("grpc-encoding") == GZIP and GZIP in headers.get("grpc-accept-encoding", GZIP)
