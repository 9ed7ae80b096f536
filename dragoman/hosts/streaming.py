"""Streams, to ASGI: events as they come, signs of life in between, an end when either side has one."""

import asyncio
from collections.abc import AsyncIterator, Callable

from dragoman.errors import A2AError
from dragoman.hosts.attending import until_gone
from dragoman.hosts.binding import Receive, Send
from dragoman.hosts.calls import Stream
from dragoman.hosts.timing import within

__all__ = ["write_stream"]

HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
KEEP_ALIVE = b": keep-alive\n\n"
END_EARLY = b"retry: 1000\n\n"


async def write_stream(
    stream: Stream, *, public: Callable[[Exception], A2AError], stall: float, receive: Receive, send: Send
) -> None:
    """Writes the stream to its end. A reader who leaves, or takes nothing for `stall` seconds, ends it too."""
    feed = stream.feed
    watcher = asyncio.get_running_loop().create_task(until_gone(receive, feed.close))

    async def sent(body: bytes, more: bool) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": more})

    async def write(body: bytes, *, more: bool = True) -> None:
        await within(stall, sent(body, more))

    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in stream.headers.items()]
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
        async for body in _frames(stream, public):
            await write(body)
        if feed.cut:
            await write(END_EARLY)
        await write(b"", more=False)
    except OSError:
        # The time is over, or the server says in this way that the reader is gone.
        return
    finally:
        stream.close()
        watcher.cancel()


async def _frames(stream: Stream, public: Callable[[Exception], A2AError]) -> AsyncIterator[bytes]:
    dialect, call = stream.dialect, stream.call
    try:
        async for batch in stream.feed:
            yield b"".join([dialect.encode_event(call, event, seq) for seq, event in batch]) or KEEP_ALIVE
    except Exception as error:  # noqa: BLE001 -- the stream has begun, so whatever it is goes into it
        yield dialect.encode_stream_error(call, public(error))
