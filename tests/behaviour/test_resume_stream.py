"""Streams that go on where they broke off (docs/reliable.md)."""

from typing import Any

import pytest

from tests.behaviour.agents import chatty, echo, gated, obedient
from tests.behaviour.cells import NO_SERVER_SENT_EVENTS, SUBSCRIPTIONS_ARE_TURNS, without
from tests.behaviour.manifest import requirement
from tests.behaviour.test_idempotency import NAMED, RELIABLE
from tests.behaviour.test_streams import states_in, text_in
from tests.behaviour.wire import Serve, Stream, Wire, message, refused


def after(wire: Wire, number: int | str, **more: str) -> dict[str, str]:
    """Headers of a caller who has this event."""
    name = "a2a-last-event-id" if wire.binding == "GRPC" else "last-event-id"
    return {**NAMED, name: str(number), **more}


def number_of(payload: dict[str, Any]) -> int:
    (event,) = payload.values()
    number = event["metadata"][RELIABLE]["seq"]
    # Protobuf has no other numbers than floats.
    assert number == int(number)
    return int(number)


async def events(stream: Stream, count: int) -> list[dict[str, Any]]:
    return [(await anext(stream)).payload for _ in range(count)]


async def test_a_stream_goes_on_after_the_last_event_that_was_seen(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    said = message("one two three")
    async with wire.send_stream(said, headers=NAMED) as stream:
        gate.release()
        seen = await events(stream, 2)
    task_id = seen[0]["task"]["id"]
    assert text_in(seen) == "one "
    gate.release()
    # By the message again, or by a subscription.
    async with wire.send_stream(said, headers=after(wire, number_of(seen[-1]))) as stream:
        seen += await events(stream, 1)
    gate.release()
    async with wire.subscribe(task_id, headers=after(wire, number_of(seen[-1]))) as stream:
        seen += await events(stream, 1)
        gate.release()
        seen += await stream.payloads()
    assert text_in(seen) == "one two three "
    assert states_in(seen) == ["TASK_STATE_COMPLETED"]
    numbers = [number_of(payload) for payload in seen]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert len(await wire.stored()) == 1


@requirement("R-3.1.2-04")
async def test_a_message_that_comes_again_without_a_number_joins_with_the_task_first(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    said = message("one two")
    async with wire.send_stream(said, headers=NAMED) as stream:
        gate.release()
        await events(stream, 2)
    async with wire.send_stream(said, headers=NAMED) as stream:
        first = (await anext(stream)).payload["task"]
        assert first["artifacts"][0]["parts"] == [{"text": "one "}]
        gate.release()
        gate.release()
        assert text_in(await stream.payloads()) == "two "
    async with wire.send_stream(said, headers=NAMED) as stream:
        (last,) = await stream.payloads()
    assert last["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_what_was_missed_is_there_after_the_end(serve: Serve, store: str) -> None:
    wire = await serve(chatty(30, store=store))
    said = message()
    async with wire.send_stream(said, headers=NAMED) as stream:
        seen = await stream.payloads()
    numbers = [number_of(payload) for payload in seen]
    for index in (0, len(seen) // 2, len(seen) - 2):
        async with wire.send_stream(said, headers=after(wire, numbers[index])) as stream:
            assert await stream.payloads() == seen[index + 1 :]
        async with wire.subscribe(seen[0]["task"]["id"], headers=after(wire, numbers[index])) as stream:
            assert await stream.payloads() == seen[index + 1 :]


@without(SUBSCRIPTIONS_ARE_TURNS)
@requirement("R-3.1.6-03")
async def test_after_the_end_of_an_ended_task_there_is_nothing_to_subscribe_to(serve: Serve) -> None:
    wire = await serve(echo())
    async with wire.send_stream(headers=NAMED) as stream:
        seen = await stream.payloads()
    for number in (number_of(seen[-1]), number_of(seen[-1]) + 1, 0):
        with refused("UNSUPPORTED_OPERATION"):
            async with wire.subscribe(seen[0]["task"]["id"], headers=after(wire, number)):
                pass


@pytest.mark.parametrize("number", [0, 99, "9" * 30, "abc", "-1", "1.5"])
async def test_a_number_that_says_nothing_gives_the_task(serve: Serve, number: int | str) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    async with wire.subscribe(task["id"], headers=after(wire, number)) as stream:
        assert (await anext(stream)).payload["task"]["id"] == task["id"]
        gate.release()
        gate.release()
        assert text_in(await stream.payloads()) == "one "


async def test_a_number_may_be_said_as_protobuf_has_it(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    gate.release()
    gate.release()
    async with wire.subscribe(task["id"], headers=after(wire, "1.0")) as stream:
        assert number_of((await anext(stream)).payload) == 2


async def test_a_number_is_for_the_task_it_is_of(serve: Serve) -> None:
    wire = await serve(echo())
    async with wire.send_stream(headers=after(wire, 1)) as stream:
        seen = await stream.payloads()
    assert "task" in seen[0]
    assert text_in(seen) == "hello"


async def test_who_does_not_name_the_extension_sees_no_numbers_in_metadata(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    async with wire.send_stream("one") as plain:
        first = (await anext(plain)).payload["task"]
        async with wire.subscribe(first["id"], headers=NAMED) as named:
            task = (await anext(named)).payload
            for _ in range(2):
                gate.release()
            with_numbers, without_numbers = await named.payloads(), await plain.payloads()
    assert [number_of(payload) for payload in [task, *with_numbers]]
    assert "metadata" not in first
    assert all("metadata" not in event for payload in without_numbers for event in payload.values())
    assert "metadata" not in await wire.get(first["id"], headers=NAMED)


@without(NO_SERVER_SENT_EVENTS)
async def test_the_number_is_the_id_of_the_server_sent_event(serve: Serve) -> None:
    wire = await serve(chatty(5))
    async with wire.send_stream(headers=NAMED) as stream:
        seen = [event async for event in stream]
    assert [event.id for event in seen] == [str(number_of(event.payload)) for event in seen]


@without(NO_SERVER_SENT_EVENTS)
async def test_a_plain_reader_of_server_sent_events_goes_on_too(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    async with wire.send_stream("one two") as stream:
        gate.release()
        first, chunk = await anext(stream), await anext(stream)
    gate.release()
    gate.release()
    async with wire.subscribe(first.payload["task"]["id"], headers={"last-event-id": chunk.id or ""}) as stream:
        rest = await stream.payloads()
    assert text_in(rest) == "two "


async def test_a_stream_that_waits_for_an_answer_goes_on_with_it(serve: Serve) -> None:
    wire = await serve(obedient())
    async with wire.send_stream("ask", headers=NAMED) as stream:
        asked = await stream.payloads()
    answer = message("red", taskId=asked[0]["task"]["id"])
    async with wire.send_stream(answer, headers=NAMED) as stream:
        seen = await stream.payloads()
    async with wire.send_stream(answer, headers=after(wire, number_of(seen[0]))) as stream:
        assert await stream.payloads() == seen[1:]
    assert number_of(seen[0]) > number_of(asked[-1])
