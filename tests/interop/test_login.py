"""Our client logs in by the card of an official SDK's server that stands behind a door of its own."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import TaskHandle, connect
from dragoman.errors import UnauthenticatedError
from dragoman.types import SubscribeToTaskRequest
from tests.interop.stage import ROOT, command, serving

TOKEN, KEY = "token-of-alice", "key of bob & co"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the guarded agent is."""
    log = tmp_path_factory.mktemp("guarded") / "server.log"
    argv = [*command("py-1.3.0", "server")[:-1], "tests.interop.peers.py_1_guarded"]
    with serving(argv, log, dict(os.environ), ROOT) as line:
        yield json.loads(line)["url"]


@pytest.mark.parametrize("auth", [TOKEN, {"key": KEY}], ids=["bearer", "key in the query"])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_who_is_known_by_the_card_can_do_everything(guarded: str, binding: str, version: str, auth: Any) -> None:
    async with connect(guarded, auth=auth, bindings=[binding], versions=[version]) as client:
        assert await client.ask("say hello") == "hello"
        assert [event async for event in client.stream("say hello")]
        task = await client.start("count 100 0.05 up")
        assert isinstance(task, TaskHandle)
        events = client.subscribe_to_task(SubscribeToTaskRequest(id=task.id))
        await anext(events)
        await events.aclose()
        await task.cancel()
        assert (await client.get_extended_agent_card()).name == "Guarded, extended"


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_refusal_by_a_gateway_is_understood_and_made_good_once(guarded: str, binding: str) -> None:
    tokens = iter(["expired", TOKEN])
    async with connect(guarded, auth={"door": lambda _: next(tokens, None)}, bindings=[binding]) as client:
        assert await client.ask("say hello") == "hello"
    async with connect(guarded, auth="wrong", bindings=[binding]) as client:
        with pytest.raises(UnauthenticatedError) as raised:
            await client.ask("say hello")
    assert raised.value.challenges == ('Bearer realm="peers", error="invalid_token"',)


async def test_an_alternative_is_taken_when_the_first_is_refused(guarded: str) -> None:
    async with connect(guarded, auth={"door": "wrong", "key": KEY}) as client:
        assert await client.ask("say hello") == "hello"
