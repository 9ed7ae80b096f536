"""The gRPC client of the gRPC project against a small application: it is particular about frames and trailers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio  # type: ignore[import-untyped]  # grpcio has no types
import pytest

from dragoman.hosts.http2.limits import Allowance, Http2Limits
from tests.unit.hosts.http2.apps import grpc_echo
from tests.unit.hosts.http2.peer import Server, serving


@asynccontextmanager
async def channel(limits: Http2Limits | None = None, **options: int) -> AsyncGenerator[tuple[Any, Server]]:
    async with serving(grpc_echo, http2=limits) as server:
        chosen = [(f"grpc.{name}", value) for name, value in options.items()]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=chosen) as made:
            yield made, server


@pytest.mark.parametrize("size", [0, 5, 70_000, 3_000_000])
async def test_a_message_of_any_size_is_said_back(size: int) -> None:
    async with channel() as (made, _):
        assert await made.unary_unary("/echo/One")(bytes(size)) == bytes(size)


async def test_many_calls_at_once_are_answered() -> None:
    async with channel() as (made, _):
        call = made.unary_unary("/echo/One")
        messages = [b"%d" % number for number in range(400)]
        assert await asyncio.gather(*[call(message) for message in messages]) == messages


async def test_a_stream_of_messages_ends_with_its_status() -> None:
    async with channel() as (made, _):
        call = made.unary_stream("/echo/Many")(b"x" * 3000)
        assert sum([len(message) async for message in call]) == 3000 * 3000
        assert await call.code() == grpc.StatusCode.OK


async def test_trailers_without_a_message_are_an_error_with_its_text() -> None:
    async with channel() as (made, _):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await made.unary_unary("/echo/Fail")(b"")
        assert raised.value.code() == grpc.StatusCode.NOT_FOUND
        assert raised.value.details() == "done"


async def test_a_call_that_the_client_cancels_leaves_the_rest_alone() -> None:
    async with channel() as (made, _):
        cancelled = made.unary_stream("/echo/Many")(b"x" * 100_000)
        await cancelled.read()
        cancelled.cancel()
        assert await made.unary_unary("/echo/One")(b"hi") == b"hi"


async def test_pings_that_measure_the_path_or_keep_it_alive_are_no_flood() -> None:
    limits = Http2Limits(pings=Allowance(20, 0))
    options = {"keepalive_time_ms": 1000, "http2.bdp_probe": 1, "keepalive_permit_without_calls": 1}
    async with channel(limits, **options) as (made, server):
        for _ in range(30):
            messages = made.unary_stream("/echo/Many")(b"x" * 1000)
            assert len([message async for message in messages]) == 1000
        assert len(server.connections) == 1


async def test_a_server_that_closes_gently_finishes_the_calls() -> None:
    async with channel() as (made, server):
        call = made.unary_stream("/echo/Many")(b"x" * 2000)
        await anext(aiter(call))
        server.connections[0].close_gently()
        assert len([message async for message in call]) == 1999
        assert await made.unary_unary("/echo/One")(b"again") == b"again"
        assert len(server.connections) == 2
