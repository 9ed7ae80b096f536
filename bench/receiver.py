"""A receiver of webhooks that only counts: `python -m bench.receiver PORT`.

POST is a delivery, answered with 200 and known by its `webhook-id`; GET tells how many different ones have come.
"""

import asyncio
import sys
from typing import cast

import httptools
import uvloop

__all__: list[str] = []


class Receiver(asyncio.Protocol):
    """One connection."""

    _transport: asyncio.Transport

    def __init__(self, known: set[bytes]) -> None:
        self._known = known
        self._parser = httptools.HttpRequestParser(self)
        self._id = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"webhook-id":
            self._id = value

    def on_message_complete(self) -> None:
        if self._parser.get_method() == b"POST":
            self._known.add(self._id)
            self._answer(b"")
        else:
            self._answer(b"%d" % len(self._known))

    def _answer(self, body: bytes) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def main() -> None:
    known: set[bytes] = set()
    server = await asyncio.get_running_loop().create_server(lambda: Receiver(known), "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
