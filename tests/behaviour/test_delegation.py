"""What an agent asks goes up a chain of agents to the caller, and the answer goes down again, to that agent alone."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from dragoman import Agent, AuthRequired, InputRequired, Message, Part, TaskContext, TaskFailed, answer, connect
from dragoman.client import Client, TaskHandle
from dragoman.testing.bridge import AsgiBridge
from dragoman.types import TaskState
from tests.behaviour.manifest import requirement
from tests.unit.hosts.http1.serving import serving

SECRET = "the-token-of-the-caller"


class Desk(msgspec.Struct):
    """The agent at the end, and what it has seen."""

    agent: Agent
    heard: list[str] = []
    begun: list[str] = []
    ended: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


@asynccontextmanager
async def at(agent: Agent) -> AsyncGenerator[str]:
    """The agent on a socket."""
    application = agent.asgi()
    async with AsgiBridge(application), serving(application) as served:
        yield f"http://127.0.0.1:{served.port}"


def desk() -> Desk:
    agent = Agent("Desk", store="memory")
    made = Desk(agent)

    @agent.skill
    async def work(task: TaskContext) -> AsyncGenerator[str]:
        made.begun.append(task.id)
        match task.text:
            case "sign in":
                granted = await task.require_auth("Sign in at ", Part(data={"url": "https://login.example/x"}))
                made.heard.append(granted)
                yield f"signed in {len(granted)}"
            case "twice":
                first = await task.ask("Which city?")
                second = await task.require_auth("Now pay")
                made.heard += [first, second]
                yield f"{first} {second}"
            case "fail":
                raise ValueError
            case "for ever":
                try:
                    await asyncio.Event().wait()
                finally:
                    made.ended.set()
            case _:
                yield f"done {task.text}"

    return made


def passing(name: str, to: str, store: str = "memory") -> Agent:
    """An agent that has all its work done by the one there."""
    agent = Agent(name, store=store)

    @agent.skill
    async def work(task: TaskContext) -> str:
        async with connect(to, poll_interval=0.02) as other:
            return f"{name}: {await task.delegate(other, task.text)}"

    return agent


@asynccontextmanager
async def chain() -> AsyncGenerator[tuple[Client, Desk, Agent]]:
    """The caller of the first of three agents."""
    last = desk()
    async with at(last.agent) as third:
        middle = passing("Middle", third)
        async with at(middle) as second, at(passing("Front", second)) as first, connect(first) as client:
            yield client, last, middle


async def started(client: Client, text: str) -> TaskHandle:
    handle = await client.start(text)
    assert not isinstance(handle, Message)
    return handle


async def test_work_goes_down_and_its_outcome_comes_up() -> None:
    async with chain() as (client, last, _):
        assert await client.ask("this") == "Front: Middle: done this"
    assert len(last.begun) == 1


@requirement("R-7.6.2-01")
async def test_an_authorization_is_asked_for_up_the_chain_and_given_down_it() -> None:
    async with chain() as (client, last, _):
        with pytest.raises(AuthRequired) as raised:
            await client.ask("sign in")
        message = raised.value.task.status.message
        assert message is not None
        assert [part.text or part.data for part in message.parts] == ["Sign in at ", {"url": "https://login.example/x"}]
        assert message.task_id in (None, raised.value.task.id)
        done = await (await raised.value.handle.reply(SECRET)).result()
        assert done.artifacts[0].text == f"Front: Middle: signed in {len(SECRET)}"
    assert last.heard == [SECRET]
    assert len(set(last.begun)) == 1


async def test_questions_and_authorizations_go_one_after_the_other() -> None:
    async with chain() as (client, last, _):
        with pytest.raises(InputRequired, match="Which city") as raised:
            await client.ask("twice")
        assert raised.value.task.state is TaskState.INPUT_REQUIRED
        handle = await raised.value.handle.reply("Oslo")
        with pytest.raises(AuthRequired, match="Now pay"):
            await handle.result()
        done = await (await handle.reply("paid")).result()
        assert done.artifacts[0].text == "Front: Middle: Oslo paid"
    assert last.heard == ["Oslo", "paid"]


async def test_a_value_that_the_owner_gives_goes_down_as_a_message() -> None:
    last = desk()
    async with at(last.agent) as url:
        middle = passing("Middle", url)
        async with connect(middle) as client:
            handle = await started(client, "sign in")
            with pytest.raises(AuthRequired):
                await handle.result()
            await middle.authorize(handle.id, SECRET)
            assert (await handle.granted().result()).artifacts[0].text == f"Middle: signed in {len(SECRET)}"
    assert last.heard == [SECRET]


async def test_where_the_owner_says_that_it_was_granted_nothing_is_sent() -> None:
    last = desk()
    async with at(last.agent) as url:
        middle = passing("Middle", url)
        async with connect(middle) as client:
            handle = await started(client, "sign in")
            with pytest.raises(AuthRequired):
                await handle.result()
            await middle.authorize(handle.id)
            await last.agent.authorize(last.begun[0], "granted")
            assert (await handle.granted().result()).artifacts[0].text == "Middle: signed in 7"
    assert last.heard == ["granted"]


async def test_what_went_on_by_itself_is_not_answered_again() -> None:
    last = desk()
    async with at(last.agent) as url:
        middle = passing("Middle", url)
        async with connect(middle) as client, connect(url) as direct:
            with pytest.raises(AuthRequired) as raised:
                await client.ask("sign in")
            await last.agent.authorize(last.begun[0], "granted")
            await (await direct.task(last.begun[0])).granted().result()
            done = await (await raised.value.handle.reply(SECRET)).result()
            assert done.artifacts[0].text == "Middle: signed in 7"
            told = (await direct.task(last.begun[0])).task.history
    assert SECRET not in str(told)


@pytest.mark.parametrize("out_of_band", [False, True], ids=["by message", "out of band"])
async def test_it_goes_on_after_a_restart_of_the_agent_in_between(tmp_path: Path, *, out_of_band: bool) -> None:
    last, store = desk(), f"sqlite:///{tmp_path / 'tasks.db'}"
    async with at(last.agent) as url:
        async with at(passing("Middle", url, store)) as place, connect(place) as client:
            handle = await started(client, "sign in")
            with pytest.raises(AuthRequired):
                await handle.result()
        middle = passing("Middle", url, store)
        async with at(middle) as place, connect(place, poll_interval=0.02) as client:
            handle = await client.task(handle.id)
            if out_of_band:
                await middle.authorize(handle.id, SECRET)
                handle = handle.granted()
            else:
                handle = await handle.reply(SECRET)
            assert (await handle.result()).artifacts[0].text == f"Middle: signed in {len(SECRET)}"
    assert last.heard == [SECRET]
    assert len(set(last.begun)) == 1


async def test_work_under_way_is_taken_up_again_after_a_restart(tmp_path: Path) -> None:
    last = desk()
    runs: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]

    def resuming() -> Agent:
        store = f"sqlite:///{tmp_path / 'tasks.db'}"
        agent = Agent("Middle", store=store, on_crash="resume", drain_grace=0.0, cancel_grace=0.1)

        @agent.skill
        async def work(task: TaskContext) -> str:
            runs[task.attempt - 1].set()
            return await task.delegate(other, task.text)

        return agent

    async with at(last.agent) as url, connect(url) as other:
        async with at(resuming()) as place, connect(place) as client:
            handle = await started(client, "for ever")
            while not last.begun:
                await handle.refresh()
        assert not last.ended.is_set()
        async with at(resuming()) as place, connect(place) as client:
            await runs[1].wait()
            await (await client.task(handle.id)).cancel()
            await last.ended.wait()
    assert len(last.begun) == 1


async def test_a_chain_is_canceled_down_to_its_end() -> None:
    async with chain() as (client, last, _):
        handle = await started(client, "for ever")
        while not last.begun:
            await handle.refresh()
        assert (await handle.cancel()).state is TaskState.CANCELED
        await last.ended.wait()


async def test_what_fails_below_fails_here_unless_the_handler_sees_to_it() -> None:
    last = desk()
    async with at(last.agent) as url:
        agent = Agent("Careful", store="memory")

        @agent.skill
        async def work(task: TaskContext) -> str:
            async with connect(url) as other:
                with pytest.raises(TaskFailed):
                    await task.delegate(other, "fail")
                return await task.delegate(other, "this instead")

        async with connect(agent) as client:
            assert await client.ask("x") == "done this instead"


async def test_several_at_once_are_told_apart_and_asked_of_once(tmp_path: Path) -> None:
    last = desk()
    agent = Agent("Broad", store=f"sqlite:///{tmp_path / 'tasks.db'}")

    @agent.skill
    async def work(task: TaskContext) -> str:
        async with connect(url) as other:
            both = await asyncio.gather(*(task.delegate(other, word, key=word) for word in ("one", "two")))
            return f"{await task.ask('Good?')}: {', '.join(both)}"

    async with at(last.agent) as url, connect(agent) as client:
        with pytest.raises(InputRequired) as raised:
            await client.ask("x")
        done = await (await raised.value.handle.reply("yes")).result()
    assert done.artifacts[0].text == "yes: done one, done two"
    assert len(last.begun) == 2


async def test_a_direct_answer_is_an_outcome_too() -> None:
    last = Agent("Direct", store="memory")
    calls: list[str] = []

    @last.skill
    async def say(text: str) -> Message:
        calls.append(text)
        return answer(f"said {text}")

    async with at(last) as url:
        agent = Agent("Asker", store="memory")

        @agent.skill
        async def work(task: TaskContext) -> str:
            async with connect(url) as other:
                made = await task.delegate(other, "hi")
            assert (made.task, made.message is not None) == (None, True)
            return f"{made} {await task.ask('And?')}"

        async with connect(agent) as client:
            with pytest.raises(InputRequired) as raised:
                await client.ask("x")
            done = await (await raised.value.handle.reply("so")).result()
    assert done.artifacts[0].text == "said hi so"
    assert calls == ["hi"]


async def test_an_answer_stands_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with chain() as (client, last, _):
        with pytest.raises(AuthRequired) as raised:
            await client.ask("sign in")
        await (await raised.value.handle.reply(SECRET)).result()
    assert last.heard == [SECRET]
    assert SECRET not in caplog.text
