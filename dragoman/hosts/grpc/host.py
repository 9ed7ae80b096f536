"""gRPC calls of the A2A operations (specification section 10), and of what gRPC itself offers beside them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.errors import A2AError, RequestTooLargeError, UnavailableError
from dragoman.hosts.attending import unless_gone, until_gone
from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.bodies import Bodies
from dragoman.hosts.calls import Calls, Stream
from dragoman.hosts.grpc.deadline import timeout_of
from dragoman.hosts.grpc.framing import PREFIX_BYTES, MessageReader, unframe
from dragoman.hosts.grpc.response import Response
from dragoman.hosts.grpc.services import GrpcServices
from dragoman.hosts.grpc.status import OK, Code, Fault, Fields, fields, trailers
from dragoman.hosts.reading import Disconnected, read_body
from dragoman.hosts.timing import within
from dragoman.ports.auth import Peer

__all__ = ["GRPC", "GrpcHost"]

GRPC = "application/grpc"
"""How the content types of gRPC and of its relatives begin."""
CONTENT_TYPES = frozenset({GRPC, "application/grpc+proto"})
TRAILERS = "http.response.trailers"
OF_HTTP = ("content-", "grpc-")
"""How the names of headers begin that are no metadata."""
LATE = trailers(Code.DEADLINE_EXCEEDED, "The deadline is over; what was begun goes on")
PLAIN = {"grpc-status": "0"}
LONGEST_QUESTION = 64 * 1024
"""Bytes that a message to gRPC's own services may have."""


class GrpcHost:
    """Answers the requests whose content type is gRPC's, on connections that can send trailers.

    A caller's deadline ends the call and nothing else: the task goes on. One message may have `max_bytes`. `caller`
    says from where a request comes, `bodies` how much of them may be on its way.
    """

    def __init__(
        self,
        calls: Calls,
        services: GrpcServices,
        max_bytes: int,
        caller: Callable[[Scope, Mapping[str, str]], Peer],
        bodies: Bodies,
    ) -> None:
        self._calls = calls
        self._bodies = bodies
        self._caller = caller
        self._services = services
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, path: str, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Answers one request; one that cannot be gRPC, in plain HTTP.

        Raises:
            Disconnected: the caller left, or takes nothing.
        """
        if (unfit := _unfit(scope, headers)) is not None:
            await _refuse(*unfit, send)
            return
        response = Response(headers, send, self._calls.service.limits.send_stall)
        try:
            seconds = timeout_of(headers)
            work = self._work(scope, path, headers, receive, response)
            await (work if seconds is None else within(seconds, work))
        except Fault as fault:
            await response.end(trailers(fault.code, fault.message))
        except RequestTooLargeError as error:
            await response.end(trailers(Code.RESOURCE_EXHAUSTED, error.message))
        except TimeoutError:
            await response.end(LATE)

    async def _work(
        self, scope: Scope, path: str, headers: dict[str, str], receive: Receive, response: Response
    ) -> None:
        method = self._services.method(path)
        if method is not None:
            async with aclosing(self._questions(headers, receive)) as questions:
                await method(questions, receive, response)
            await response.end(OK)
            return
        answer = await self._answer(scope, path, headers, receive)
        if isinstance(answer, Stream):
            await self._stream(answer, receive, response)
        else:
            await _reply(answer, response)

    async def _answer(self, scope: Scope, path: str, headers: dict[str, str], receive: Receive) -> HttpReply | Stream:
        limit, seconds = self._max_bytes, self._calls.service.limits.body_timeout
        try:
            body = await read_body(scope, headers, receive, limit + PREFIX_BYTES, seconds, bodies=self._bodies)
        except A2AError as error:
            return self._calls.refuse(HttpRequest("POST", path, "", headers), error, self._caller(scope, headers))
        # A message of a few bytes may have millions inside: that is for those who may call.
        unpack = partial(unframe, encoding=headers.get("grpc-encoding", ""), limit=limit)
        request = HttpRequest("POST", path, "", headers, body)
        call = self._calls.answer(request, self._caller(scope, headers), scope, unpack=unpack)
        return await unless_gone(receive, call)

    async def _stream(self, stream: Stream, receive: Receive, response: Response) -> None:
        dialect, call, feed = stream.dialect, stream.call, stream.feed
        response.metadata = stream.headers
        watcher = asyncio.get_running_loop().create_task(until_gone(receive, feed.close))
        ended: A2AError | None = None
        try:
            async for batch in feed:
                await response.messages([dialect.encode_event(call, event, seq) for seq, event in batch])
            if feed.cut:
                ended = UnavailableError("The server ends its streams; subscribe again")
        except Disconnected:
            raise
        except Exception as error:  # noqa: BLE001 -- the stream may have begun; whatever it is, the trailers say it
            ended = self._calls.public(error)
        finally:
            stream.close()
            watcher.cancel()
        await response.end(OK if ended is None else _ending(dialect.encode_error(ended, call.reply_to)))

    async def _questions(self, headers: Mapping[str, str], receive: Receive) -> AsyncGenerator[bytes, None]:
        """The messages of a request as they come; one who says nothing for as long as a body may take has ended it."""
        reader = MessageReader(headers.get("grpc-encoding", ""), LONGEST_QUESTION)
        more = True
        while more:
            try:
                event = await within(self._calls.service.limits.body_timeout, _next(receive))
            except TimeoutError:
                return
            for message in reader.feed(event.get("body", b"")):
                yield message
            more = event.get("more_body", False)
        reader.end()


async def _next(receive: Receive) -> Mapping[str, Any]:
    event = await receive()
    if event["type"] == "http.disconnect":
        raise Disconnected
    return event


def _unfit(scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Why the request cannot be answered in gRPC, as an HTTP status and a sentence; None if it can."""
    kind = headers["content-type"]
    if kind not in CONTENT_TYPES and kind.partition(";")[0].strip() not in CONTENT_TYPES:
        return 415, f"Of gRPC the content types {' and '.join(sorted(CONTENT_TYPES))} are served"
    if scope["method"] != "POST":
        return 405, "gRPC is POST"
    if scope["http_version"] < "2" or TRAILERS not in (scope.get("extensions") or {}):
        return 505, "gRPC needs HTTP/2 with trailers, which this connection has not"
    return None


async def _refuse(status: int, why: str, send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(why)), (b"allow", b"POST")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})


async def _reply(reply: HttpReply, response: Response) -> None:
    status = reply.headers.get("grpc-status")
    if status is None:
        # The path is another binding's, or no dialect of gRPC is served: another dialect refused the content type.
        raise Fault(Code.UNIMPLEMENTED, "There is no such service here")
    if len(reply.headers) > 1:
        response.metadata = {name: value for name, value in reply.headers.items() if not name.startswith(OF_HTTP)}
    if status == "0":
        await response.whole(reply.body, _ending(reply))
    else:
        await response.end(_ending(reply))


def _ending(reply: HttpReply) -> Fields:
    """The trailers of a reply: its status, and its metadata once more, for callers who look for it here."""
    if reply.headers == PLAIN:
        return OK
    return fields({name: value for name, value in reply.headers.items() if not name.startswith("content-")})
