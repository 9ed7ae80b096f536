"""Small ASGI applications."""

import asyncio
from typing import Any

from dragoman.hosts.binding import Receive, Scope, Send

__all__ = ["echo", "flood", "forever", "grpc_echo", "hello", "never", "read"]


async def read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        body += bytes(message["body"])
        if not message["more_body"]:
            return body


async def _whole(send: Send, body: bytes, status: int = 200) -> None:
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Does not look at the body."""
    await _whole(send, b"hello")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await _whole(send, await read(receive))


async def never(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers `/quick`; for anything else waits until the client is gone, reading nothing before."""
    if scope["path"] == "/quick":
        await _whole(send, b"quick")
        return
    gone = asyncio.Event()
    await gone.wait()


async def forever(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers `/quick`; for anything else waits until the client is gone."""
    if scope["path"] == "/quick":
        await _whole(send, b"quick")
        return
    while (await receive())["type"] != "http.disconnect":
        pass


async def flood(scope: Scope, receive: Receive, send: Send) -> None:
    """As many bytes as the path says."""
    await _whole(send, b"x" * int(scope["path"][1:]))


async def grpc_echo(scope: Scope, receive: Receive, send: Send) -> None:
    """As a gRPC server would: `/echo/One` says the message back, `/echo/Many` as often as its length,
    `/echo/Fail` has trailers and nothing else."""
    body = await read(receive)
    start: dict[str, Any] = {"type": "http.response.start", "status": 200, "trailers": True}
    await send(start | {"headers": [(b"content-type", b"application/grpc")]})
    method = scope["path"].rpartition("/")[2]
    times = {"One": 1, "Many": len(body) - 5, "Fail": 0}[method]
    for _ in range(times):
        await send({"type": "http.response.body", "body": body, "more_body": True})
    status = (b"grpc-status", b"5" if method == "Fail" else b"0")
    await send({"type": "http.response.trailers", "headers": [status, (b"grpc-message", b"done")]})
