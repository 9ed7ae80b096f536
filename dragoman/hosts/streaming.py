"""Streams, to ASGI: events as they come, signs of life in between, an end when either side has one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from dragoman.dialects.base import Call, Dialect
from dragoman.engine.feed import DirectFeed, TaskFeed
from dragoman.errors import A2AError
from dragoman.hosts.binding import Receive, Send
from dragoman.hosts.timing import within

__all__ = ["until_gone", "write_stream"]

HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
KEEP_ALIVE = b": keep-alive\n\n"
END_EARLY = b"retry: 1000\n\n"


async def write_stream(
    dialect: Dialect,
    call: Call,
    feed: TaskFeed | DirectFeed,
    *,
    headers: Sequence[tuple[bytes, bytes]],
    public: Callable[[Exception], A2AError],
    stall: float,
    receive: Receive,
    send: Send,
) -> None:
    """Writes the feed to its end. A reader who leaves, or takes nothing for `stall` seconds, ends it too."""
    watcher = asyncio.get_running_loop().create_task(until_gone(receive, feed))

    async def sent(body: bytes, more: bool) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": more})

    async def write(body: bytes, *, more: bool = True) -> None:
        await within(stall, sent(body, more))

    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
        async for body in _frames(dialect, call, feed, public):
            await write(body)
        if feed.cut:
            await write(END_EARLY)
        await write(b"", more=False)
    except OSError:
        # The time is over, or the server says in this way that the reader is gone.
        return
    finally:
        feed.close()
        watcher.cancel()


async def _frames(
    dialect: Dialect, call: Call, feed: TaskFeed | DirectFeed, public: Callable[[Exception], A2AError]
) -> AsyncIterator[bytes]:
    try:
        async for batch in feed:
            yield b"".join([dialect.encode_event(call, event, seq) for seq, event in batch]) or KEEP_ALIVE
    except Exception as error:  # noqa: BLE001 -- the stream has begun, so whatever it is goes into it
        yield dialect.encode_stream_error(call, public(error))


async def until_gone(receive: Receive, feed: TaskFeed | DirectFeed) -> None:
    """Closes the feed when the caller leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    feed.close()
