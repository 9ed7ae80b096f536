"""Every cell over HTTP/2, on a real socket: all of them at once on one connection, and over HTTP/1.1 beside it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import h2.connection
import h2.events

from dragoman.dialects.base import HttpReply
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import echo
from tests.behaviour.cells import CELLS, OVER_HTTP, Cell
from tests.behaviour.forms import FORMS, Asked, Wish
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import message
from tests.unit.hosts.grpc.driver import unframed
from tests.unit.hosts.http1.serving import Caller, serving


class Connection:
    """A caller's side of one HTTP/2 connection."""

    def __init__(self, caller: Caller) -> None:
        self._reader, self._writer = caller
        self._state = h2.connection.H2Connection()
        self._state.initiate_connection()

    async def ask(self, requests: Sequence[Asked]) -> list[HttpReply]:
        """The answers to requests that are all in flight together; trailers stand among the headers."""
        streams = [self._begin(request) for request in requests]
        replies = {stream: HttpReply(0, {}) for stream in streams}
        bodies = {stream: bytearray() for stream in streams}
        left = set(streams)
        while left:
            self._writer.write(self._state.data_to_send())
            data = await self._reader.read(1 << 16)
            assert data, "the server closed the connection"
            for event in self._state.receive_data(data):
                match event:
                    case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                        fields = {name.decode(): value.decode() for name, value in event.headers}
                        status = int(fields.pop(":status", replies[event.stream_id].status))
                        headers = {**replies[event.stream_id].headers, **fields}
                        replies[event.stream_id] = HttpReply(status, headers)
                    case h2.events.DataReceived():
                        bodies[event.stream_id] += event.data
                        self._state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    case h2.events.StreamEnded():
                        left.discard(event.stream_id)
                    case _:
                        assert not isinstance(event, h2.events.StreamReset), event
        return [HttpReply(replies[stream].status, replies[stream].headers, bytes(bodies[stream])) for stream in streams]

    def _begin(self, request: Asked) -> int:
        stream = self._state.get_next_available_stream_id()
        target = f"{request.path or '/'}{'?' + request.query if request.query else ''}"
        fields = [(":method", request.method), (":scheme", "http"), (":authority", "agent.example"), (":path", target)]
        fields += [(name, value) for name, value in request.headers.items() if name != "host"]
        self._state.send_headers(stream, fields, end_stream=not request.body)
        if request.body:
            self._state.send_data(stream, request.body, end_stream=True)
        return stream


def asked(cell: Cell, operation: str) -> Asked:
    form = FORMS[cell]
    path = "/" if cell.binding == "JSONRPC" else ""
    params: dict[str, Any] = {"message": message(f"hello from {cell.key}")}
    return form.request(Wish(path, operation, params, form.headers({}), {}, ""))


def events_in(cell: Cell, request: Asked, reply: HttpReply) -> list[dict[str, Any]]:
    """The events of a stream that has ended."""
    form = FORMS[cell]
    if cell.binding == "GRPC":
        return [form.event(request, found, error=False) for found in unframed(reply.body)]
    blocks = [block for block in reply.body.split(b"\n\n") if block and not block.startswith(b":")]
    return [form.event(request, block.partition(b"data:")[2], error=False) for block in blocks]


@requirement("R-5.1-01", "R-10.1-01")
async def test_every_cell_is_answered_on_one_connection_of_http_2() -> None:
    app = echo().asgi(http2=True)
    async with AsgiBridge(app), serving(app) as served, served.caller() as caller:
        connection = Connection(caller)
        single = [asked(cell, "SendMessage") for cell in CELLS]
        streamed = [asked(cell, "SendStreamingMessage") for cell in CELLS]
        replies = await connection.ask([*single, *streamed])
    for cell, request, reply in zip(CELLS, single, replies, strict=False):
        task = FORMS[cell].result(request, reply)["task"]
        assert task["artifacts"][0]["parts"] == [{"text": f"hello from {cell.key}"}], cell.key
    for cell, request, reply in zip(CELLS, streamed, replies[len(CELLS) :], strict=True):
        events = events_in(cell, request, reply)
        assert "task" in events[0], cell.key
        assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED", cell.key


async def test_the_same_port_speaks_http_1_1_too() -> None:
    app = echo().asgi(http2=True)
    async with AsgiBridge(app), serving(app) as served:
        for cell in OVER_HTTP:
            request = asked(cell, "SendMessage")
            lines = [f"{request.method} {request.path} HTTP/1.1", "connection: close"]
            lines += [f"{name}: {value}" for name, value in request.headers.items()]
            lines += [f"content-length: {len(request.body)}", "", ""]
            async with asyncio.timeout(10):
                said = await served.said("\r\n".join(lines).encode() + request.body)
            assert said.startswith(b"HTTP/1.1 200"), cell.key
            assert f"hello from {cell.key}".encode() in said
