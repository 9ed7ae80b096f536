"""What a hostile input is, and the good call that each of them is a bad one of."""

import json
from typing import Any

import msgspec

from tests.behaviour.callers import KEYS
from tests.faults.hostile.wire import HTTP2, over_http1, over_http2

__all__ = ["KEY", "Case", "Cases", "message", "posted", "requested", "rpc", "sent"]

KEY = KEYS["alice"]


class Case(msgspec.Struct, frozen=True):
    """What is sent, and what has to come of it."""

    expected: str
    pieces: tuple[bytes, ...]
    http2: bool = False
    preface: bytes = HTTP2

    def outcome(self, port: int) -> str:
        return over_http2(port, self.preface, *self.pieces) if self.http2 else over_http1(port, *self.pieces)


def requested(
    method: str = "POST",
    target: str = "/message:send",
    body: bytes = b"",
    *lines: str,
    known: bool = True,
    sized: bool = True,
    kind: str = "application/json",
) -> bytes:
    """A request that ends its connection; the head ends where `lines` do."""
    head = [f"{method} {target} HTTP/1.1", "host: agent.example", "connection: close", "a2a-version: 1.0"]
    head += [f"x-api-key: {KEY}"] if known else []
    head += [f"content-type: {kind}"] if kind else []
    head += [f"content-length: {len(body)}"] if sized else []
    return "\r\n".join([*head, *lines, "", ""]).encode("latin-1") + body


def message(**members: Any) -> dict[str, Any]:
    return {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}], **members}


def sent(text: str = "hello", **members: Any) -> bytes:
    """A message that is sent over HTTP+JSON."""
    return requested(body=json.dumps({"message": message(parts=[{"text": text}], **members)}).encode())


def posted(body: bytes, *lines: str, **how: Any) -> bytes:
    return requested("POST", "/message:send", body, *lines, **how)


def rpc(body: bytes | dict[str, Any], *lines: str, **how: Any) -> bytes:
    """The same over JSON-RPC."""
    return requested("POST", "/", body if isinstance(body, bytes) else json.dumps(body).encode(), *lines, **how)


Cases = dict[str, Case]
"""By what is wrong with them."""
