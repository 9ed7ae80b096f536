"""The route as ASGI: requests in, notices to the receiver, and what became of them as status."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

from dragoman.client.receiver.limits import ReceiverLimits
from dragoman.client.receiver.refusal import Refused
from dragoman.client.receiver.watch import Watch

__all__ = ["Admission", "Route"]

log = logging.getLogger("dragoman.client")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LONGEST_LENGTH = 18


class _Disconnected(Exception):
    """The agent left before its notification was whole."""


class Admission(Protocol):
    """What the route asks of the receiver."""

    def admit(self, headers: Mapping[str, str]) -> Watch | None:
        """Whose request it is; raises `Refused` if it is none that is to be read."""
        ...

    async def take(self, watch: Watch | None, headers: Mapping[str, str], body: bytes) -> None:
        """Ends when the notification has been handed on; raises `Refused`, or what the handler raises."""
        ...


class Route:
    """An ASGI application that takes a notification at whatever path it is asked: where it is mounted decides."""

    def __init__(self, admission: Admission, limits: ReceiverLimits) -> None:
        self._admission = admission
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._taken(scope, receive)
        except _Disconnected:
            return
        except Refused as refused:
            await _write(send, refused.status, refused.why, _headers_of(refused, scope))
        except Exception:  # whatever the handler raises, the agent is to come again
            log.exception("the handler of a notification failed")
            await _write(send, 500, "the handler failed", {})
        else:
            await _write(send, 200, "", {})

    async def _taken(self, scope: Scope, receive: Receive) -> None:
        if scope["method"] != "POST":
            raise Refused(405, "notifications are posted")
        headers = _request_headers(scope)
        watch = self._admission.admit(headers)
        body = await self._body(headers, receive)
        await self._admission.take(watch, headers, body)

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        limit = self._limits.max_body
        stated = headers.get("content-length", "")
        if stated.isdecimal() and (len(stated) > LONGEST_LENGTH or int(stated) > limit):
            raise _too_long(limit)
        try:
            async with asyncio.timeout(self._limits.body_timeout):
                return await _whole(receive, limit)
        except TimeoutError:
            raise Refused(408, "the body did not come in time") from None


async def _whole(receive: Receive, limit: int) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Disconnected
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_long(limit)
        more = message.get("more_body", False)
    return bytes(body)


def _too_long(limit: int) -> Refused:
    return Refused(413, f"a notification may have {limit} bytes")


def _request_headers(scope: Scope) -> dict[str, str]:
    """Header fields by lower-case name; several of one name are joined (RFC 9110 section 5.3)."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _headers_of(refused: Refused, scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    if refused.retry_after is not None:
        headers["retry-after"] = str(math.ceil(refused.retry_after))
    if refused.status == 405:  # noqa: PLR2004 -- says what would be allowed (RFC 9110 section 15.5.6)
        headers["allow"] = "POST"
    elif refused.status == 401:  # noqa: PLR2004 -- says how to do better (RFC 9110 section 15.5.2)
        headers["www-authenticate"] = "A2A-Notification-Token"
    if refused.status in {408, 413} and scope.get("http_version", "1.1") < "2":
        # What of the body is still to come is not wanted any more.
        headers["connection"] = "close"
    return headers


async def _write(send: Send, status: int, text: str, headers: Mapping[str, str]) -> None:
    body = text.encode()
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    fields.append((b"content-length", b"%d" % len(body)))
    if body:
        fields.append((b"content-type", b"text/plain; charset=utf-8"))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
