"""Callers over gRPC whom nobody knows: nothing of what they send is unpacked."""

import gzip

import pytest

from dragoman.auth import ApiKey
from dragoman.hosts.grpc import framing, host
from tests.behaviour.agents import echo
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.manifest import requirement
from tests.unit.hosts.grpc.driver import framed, post

SEND = "/lf.a2a.v1.A2AService/SendMessage"
LARGE = gzip.compress(b"\0" * 17 * 1024 * 1024)


@requirement("R-13.4-13")
async def test_a_message_is_unpacked_for_those_who_may_call(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[int] = []

    def unframe(body: bytes, encoding: str, limit: int) -> bytes:
        unpacked.append(len(body))
        return framing.unframe(body, encoding, limit)

    monkeypatch.setattr(host, "unframe", unframe)
    app = echo(auth=ApiKey(KEYS)).asgi(http2=True)
    coded = {"grpc-encoding": "gzip", "a2a-version": "1.0"}
    stranger = await post(app, SEND, framed(LARGE, 1), headers=coded)
    assert (stranger.code, unpacked) == (16, [])
    known = await post(app, SEND, framed(LARGE, 1), headers=coded | keyed("alice"))
    assert (known.code, unpacked) == (8, [len(LARGE) + 5])
