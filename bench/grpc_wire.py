"""Calls of A2A 1.0 over gRPC as bytes on one connection of HTTP/2, the same for every server.

While a call runs, its bytes are only collected, and frames passed over until the one that ends it: reading must cost
less than writing does. What they say is decoded afterwards, by an implementation of HTTP/2 that is not ours.
"""

import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from google.protobuf.json_format import MessageToDict
from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from bench.wire import PATIENCE, Stream
from dragoman import _proto

__all__ = ["HEADERS", "GrpcWire", "Question"]

SERVICE = "lf.a2a.v1"
HEADERS = {"content-type": "application/grpc", "te": "trailers", "a2a-version": "1.0"}
PREFIX = struct.Struct(">BI")
FRAME_HEAD = 9
DATA, RST_STREAM, GOAWAY = 0, 3, 7
END_STREAM = 1
FIRST_STREAM = 1
WIDEST = 2**31 - 1
"""The largest window of HTTP/2: no server waits for us to read."""


@dataclass(frozen=True)
class Question:
    """A request: its method, and its message as it is sent, with its prefix."""

    method: str
    body: bytes

    @property
    def path(self) -> str:
        return f"/{SERVICE}.A2AService/{self.method}"


@dataclass(frozen=True)
class GrpcWire:
    """The gRPC interface of a server, at `host:port` without TLS."""

    address: str

    def send(self, text: str, *, stream: bool = False) -> Question:
        message = {"message_id": "bench", "role": "ROLE_USER", "parts": [{"text": text}]}
        body = _proto.message(f"{SERVICE}.SendMessageRequest")(message=message).SerializeToString()
        return Question("SendStreamingMessage" if stream else "SendMessage", PREFIX.pack(0, len(body)) + body)

    def ask(self, question: Question) -> Any:
        """The result of SendMessage, in the form that it has in JSON."""
        (result,) = self._messages(self._exchange(question))
        return _json("SendMessageResponse", result)

    def size(self, question: Question) -> int:
        """Bytes of the answer to a call, its prefix included."""
        (result,) = self._messages(self._exchange(question))
        return PREFIX.size + len(result)

    def stream(self, text: str) -> Stream:
        """One stream to its end."""
        exchange = self._exchange(self.send(text, stream=True))
        found = [_json("StreamResponse", message) for message in self._messages(exchange)]
        return Stream(exchange.first, exchange.total, found)

    def _exchange(self, question: Question) -> "_Exchange":
        with self._connected() as (connection, h2):
            headers = [(":method", "POST"), (":scheme", "http"), (":path", question.path), (":authority", self.address)]
            h2.send_headers(FIRST_STREAM, [*headers, *HEADERS.items()])
            h2.send_data(FIRST_STREAM, question.body, end_stream=True)
            began = perf_counter()
            connection.sendall(h2.data_to_send())
            return _collected(connection, h2, began)

    @contextmanager
    def _connected(self) -> Generator[tuple[socket.socket, H2Connection]]:
        """A connection on which both sides know each other's settings."""
        host, _, port = self.address.rpartition(":")
        h2 = H2Connection(H2Configuration(header_encoding="utf-8"))
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            h2.initiate_connection()
            h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: WIDEST})
            h2.increment_flow_control_window(WIDEST - h2.inbound_flow_control_window)
            # One acknowledgement for each of our two frames of settings.
            awaited = 2
            while awaited:
                connection.sendall(h2.data_to_send())
                found = h2.receive_data(_received(connection))
                awaited -= sum(isinstance(event, events.SettingsAcknowledged) for event in found)
            connection.sendall(h2.data_to_send())
            yield connection, h2

    def _messages(self, exchange: "_Exchange") -> list[bytes]:
        """Every message of an answer that ended well."""
        status = exchange.headers.get("grpc-status")
        if (exchange.headers.get(":status"), status) != ("200", "0"):
            raise RuntimeError(f"{self.address}: {exchange.headers}")
        found: list[bytes] = []
        at = 0
        while at < len(exchange.body):
            _, length = PREFIX.unpack_from(exchange.body, at)
            at += PREFIX.size + length
            found.append(exchange.body[at - length : at])
        return found


@dataclass(frozen=True)
class _Exchange:
    """One whole answer: seconds to its first message and to its end, headers and trailers, messages with prefixes."""

    first: float
    total: float
    headers: dict[str, str]
    body: bytes


def _collected(connection: socket.socket, h2: H2Connection, began: float) -> _Exchange:
    received = bytearray()
    first, at, ended = 0.0, 0, False
    while not ended:
        received += _received(connection)
        while not ended and at + FRAME_HEAD <= len(received):
            kind, flags = received[at + 3], received[at + 4]
            end = at + FRAME_HEAD + int.from_bytes(received[at : at + 3])
            if end > len(received):
                break
            if kind == DATA and not first:
                first = perf_counter() - began
            ended = (kind <= 1 and bool(flags & END_STREAM)) or kind in {RST_STREAM, GOAWAY}
            at = end
    return _decoded(h2, bytes(received), first, perf_counter() - began)


def _decoded(h2: H2Connection, received: bytes, first: float, total: float) -> _Exchange:
    headers: dict[str, str] = {}
    body: list[bytes] = []
    found = h2.receive_data(received)
    if cut := [event for event in found if isinstance(event, events.StreamReset | events.ConnectionTerminated)]:
        raise RuntimeError(f"The call was cut off: {cut}")
    for event in found:
        if isinstance(event, events.ResponseReceived | events.TrailersReceived):
            headers.update((str(name), str(value)) for name, value in event.headers)
        elif isinstance(event, events.DataReceived):
            body.append(event.data)
    return _Exchange(first, total, headers, b"".join(body))


def _received(connection: socket.socket) -> bytes:
    piece = connection.recv(1 << 18)
    if not piece:
        raise RuntimeError("The connection was closed.")
    return piece


def _json(name: str, message: bytes) -> Any:
    return MessageToDict(_proto.parse(f"{SERVICE}.{name}", message))
