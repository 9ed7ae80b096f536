"""SendStreamingMessage: what comes in which order, and when it ends."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from dragoman import Agent, TaskContext
from tests.behaviour.agents import chatty, direct, echo, gated, obedient
from tests.behaviour.cells import NO_SERVER_SENT_EVENTS, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused

Payloads = list[dict[str, Any]]


def text_in(payloads: Payloads) -> str:
    """The text of all artifact chunks, in order."""
    parts = [
        part for each in payloads if "artifactUpdate" in each for part in each["artifactUpdate"]["artifact"]["parts"]
    ]
    return "".join(part.get("text", "") for part in parts)


def states_in(payloads: Payloads) -> list[str]:
    return [each["statusUpdate"]["status"]["state"] for each in payloads if "statusUpdate" in each]


@requirement("R-3.1.2-01", "R-3.1.2-02", "R-3.1.2-04", "R-3.1.2-05", "R-3.5.2-01", "R-11.7-02")
async def test_a_stream_is_the_task_then_its_updates_then_the_end(serve: Serve, store: str) -> None:
    wire = await serve(chatty(20, store=store))
    async with wire.send_stream() as stream:
        payloads = await stream.payloads()
    first = payloads[0]["task"]
    assert first["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    assert "artifacts" not in first
    assert first["history"][0]["parts"] == [{"text": "hello"}]
    assert all(set(each) <= {"statusUpdate", "artifactUpdate"} for each in payloads[1:])
    assert text_in(payloads) == "".join(f"{number} " for number in range(20))
    assert states_in(payloads)[-1:] == ["TASK_STATE_COMPLETED"]
    assert "statusUpdate" in payloads[-1]
    updates = [update for each in payloads[1:] for update in each.values()]
    assert {(update["taskId"], update["contextId"]) for update in updates} == {(first["id"], first["contextId"])}
    done = await wire.get(first["id"])
    assert done["artifacts"][0]["parts"] == [{"text": text_in(payloads)}]


async def test_chunks_open_continue_and_close_one_artifact(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    async with wire.send_stream("one two") as stream:
        payloads = [(await anext(stream)).payload]
        for _ in range(3):
            gate.release()
        payloads += await stream.payloads()
    chunks = [each["artifactUpdate"] for each in payloads if "artifactUpdate" in each]
    assert len({chunk["artifact"]["artifactId"] for chunk in chunks}) == 1
    assert not chunks[0].get("append")
    assert all(chunk.get("append") for chunk in chunks[1:])
    assert [bool(chunk.get("lastChunk")) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


@requirement("R-3.1.2-06")
async def test_each_chunk_arrives_before_the_agent_goes_on(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    async with wire.send_stream("one two three") as stream:
        seen: Payloads = [(await anext(stream)).payload]
        for word in ("one ", "two ", "three "):
            gate.release()
            while not text_in(seen).endswith(word):
                seen.append((await anext(stream)).payload)
        gate.release()
        seen += await stream.payloads()
    assert text_in(seen) == "one two three "


@requirement("R-3.1.2-03")
async def test_a_direct_answer_is_the_whole_stream(serve: Serve) -> None:
    wire = await serve(direct())
    async with wire.send_stream("hi") as stream:
        payloads = await stream.payloads()
    assert [list(each) for each in payloads] == [["message"]]
    assert payloads[0]["message"]["parts"] == [{"text": "you said hi"}]


@without(NO_SERVER_SENT_EVENTS)
async def test_the_id_of_an_event_is_its_number_in_the_task(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    async with wire.send_stream("one two") as stream:
        ids = [(await anext(stream)).id]
        for _ in range(3):
            gate.release()
        ids += [event.id async for event in stream]
    numbers = [int(number or "none") for number in ids]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert numbers[0] >= 1


@requirement("R-3.1.2-07")
async def test_a_stream_that_cannot_begin_is_a_plain_error(serve: Serve) -> None:
    wire = await serve(obedient())
    done = await wire.send("done")
    with refused("UNSUPPORTED_OPERATION"):
        async with wire.send_stream(message("more", taskId=done["id"])):
            pass
    with refused("TASK_NOT_FOUND"):
        async with wire.send_stream(message("more", taskId="unknown")):
            pass
    with refused("INVALID_PARAMS"):
        async with wire.send_stream(message(parts=[])):
            pass


@requirement("R-3.1.2-07")
async def test_a_stream_with_an_odd_media_type_is_a_plain_error(serve: Serve) -> None:
    agent = Agent("Reader", "Reads text.", store="memory")

    @agent.skill(tags=["demo"], input_modes=["text/plain"])
    async def read(task: TaskContext) -> str:
        return task.text

    wire = await serve(agent)
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        async with wire.send_stream(message(parts=[{"url": "https://x.example/a", "mediaType": "image/png"}])):
            pass


async def test_a_sent_stream_ends_when_the_agent_asks(serve: Serve) -> None:
    wire = await serve(obedient())
    async with wire.send_stream("ask") as stream:
        payloads = await stream.payloads()
    assert states_in(payloads)[-1] == "TASK_STATE_INPUT_REQUIRED"
    assert payloads[-1]["statusUpdate"]["status"]["message"]["parts"] == [{"text": "What colour?"}]


async def test_a_follow_up_may_be_streamed(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    task = await wire.send("ask")
    async with wire.send_stream(message("red", taskId=task["id"])) as stream:
        payloads = await stream.payloads()
    assert payloads[0]["task"]["id"] == task["id"]
    assert text_in(payloads) == "got red"
    assert states_in(payloads)[-1] == "TASK_STATE_COMPLETED"


@requirement("R-3.5.2-05")
async def test_a_caller_who_leaves_does_not_disturb_the_task(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    async with wire.send_stream("one two three") as stream:
        task_id = (await anext(stream)).payload["task"]["id"]
    for _ in range(4):
        gate.release()
    done = await wire.settled(task_id)
    assert done["artifacts"][0]["parts"] == [{"text": "one two three "}]


async def test_progress_is_told_but_not_kept_in_the_history(serve: Serve) -> None:
    agent = Agent("Worker", "Tells how it goes.", store="memory")

    @agent.skill(tags=["demo"])
    async def work(task: TaskContext) -> AsyncIterator[str]:
        await task.status("half way")
        yield "done"

    wire = await serve(agent)
    async with wire.send_stream() as stream:
        payloads = await stream.payloads()
    notes = [each["statusUpdate"]["status"] for each in payloads if "statusUpdate" in each]
    told = [note["message"]["parts"] for note in notes if "message" in note]
    assert told == [[{"text": "half way"}]]
    task = await wire.get(payloads[0]["task"]["id"])
    assert [entry["role"] for entry in task["history"]] == ["ROLE_USER"]


async def test_many_streams_at_once_do_not_mix(serve: Serve) -> None:
    wire = await serve(echo())

    async def one(text: str) -> bool:
        async with wire.send_stream(text) as stream:
            return text_in(await stream.payloads()) == text

    assert all(await asyncio.gather(*(one(f"text {number}") for number in range(30))))


@without(NO_SERVER_SENT_EVENTS)
async def test_an_idle_stream_is_kept_alive_by_comments(serve: Serve) -> None:
    agent, gate = gated(keep_alive=0.01)
    wire = await serve(agent)
    async with wire.send_stream("one") as stream:
        await anext(stream)
        reading = asyncio.create_task(stream.payloads())
        await stream.alive.wait()
        gate.release()
        gate.release()
        payloads = await reading
    assert text_in(payloads) == "one "
    assert all(comment.startswith(":") for comment in stream.comments)
