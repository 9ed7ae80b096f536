"""Messages that come twice: direct answers are given once, streams go on."""

import asyncio

from dragoman.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE
from dragoman.ports.call import CallContext
from dragoman.ports.tasks import TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.content import Message, Part, Role
from dragoman.types.reliable import RELIABLE, number_of
from dragoman.types.requests import SendMessageRequest, ServiceParameters
from dragoman.types.task import Task
from tests.unit.engine.stage import CALL, Stage, send, staged, texts
from tests.unit.engine.test_recognition import MANY, NAMED


class Direct(ScriptedAgent):
    """Answers directly, when it is let; counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.direct = Message(message_id="", role=Role.AGENT, parts=(Part(text="42"),))
        self.asked = 0
        self.failing = 0
        self.let = asyncio.Event()

    async def answer(self, skill: str, request: SendMessageRequest, call: CallContext) -> Message:
        self.asked += 1
        await self.let.wait()
        if self.failing:
            self.failing -= 1
            raise RuntimeError("broken")
        return await super().answer(skill, request, call)


async def test_a_direct_answer_is_given_once(each_store: TaskStore) -> None:
    agent = Direct()
    async with staged(each_store, agent) as stage:
        asking = [asyncio.create_task(stage.call(SEND_MESSAGE, send(), NAMED)) for _ in range(MANY)]
        await asyncio.sleep(0)
        agent.let.set()
        answers = await asyncio.gather(*asking)
        answers.append(await stage.call(SEND_MESSAGE, send(), NAMED))
    assert agent.asked == 1
    assert answers == [answers[0]] * len(answers)
    assert isinstance(answers[0], Message)
    assert answers[0].text == "42"


async def test_a_direct_answer_is_known_to_a_stream_too(stage: Stage, agent: ScriptedAgent) -> None:
    agent.direct = Message(message_id="a", role=Role.AGENT, parts=(Part(text="42"),))
    answer = await stage.call(SEND_MESSAGE, send(), NAMED)
    agent.direct = Message(message_id="b", role=Role.AGENT, parts=(Part(text="43"),))
    feed = await stage.call(SEND_STREAMING_MESSAGE, send(), NAMED)
    assert [event async for batch in feed for _, event in batch] == [answer]


async def test_who_waited_for_an_answer_that_did_not_come_asks_again() -> None:
    agent = Direct()
    async with staged(MemoryStore(), agent) as stage:
        agent.failing = 1
        asking = [asyncio.create_task(stage.call(SEND_MESSAGE, send(), NAMED)) for _ in range(3)]
        agent.let.set()
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [RuntimeError, Message, Message]
    assert agent.asked == 2


async def test_strangers_are_answered_each() -> None:
    agent = Direct()
    agent.let.set()
    async with staged(MemoryStore(), agent) as stage:
        await asyncio.gather(*(stage.call(SEND_MESSAGE, send(), CALL) for _ in range(3)))
    assert agent.asked == 3


# Streams.


def last(number: int) -> CallContext:
    """A caller who has so many events of the task."""
    return CallContext(parameters=ServiceParameters(extensions=(RELIABLE,), last_event_id=number))


async def test_a_stream_that_is_asked_for_again_joins_the_task(each_stage: Stage, agent: ScriptedAgent) -> None:
    first = await each_stage.call(SEND_STREAMING_MESSAGE, send(), NAMED)
    await anext(first)
    run = await agent.run()
    await run.text("one ")
    await anext(first)
    first.close()
    again = await each_stage.call(SEND_STREAMING_MESSAGE, send(), NAMED)
    ((seq, task),) = await anext(again)
    assert (seq, task.text, number_of(task)) == (2, "one ", 2)
    back = await each_stage.call(SEND_STREAMING_MESSAGE, send(), last(1))
    await run.text("two ")
    await run.end()
    for feed, expected in ((again, ["two ", "completed"]), (back, ["one ", "two ", "completed"])):
        seen = [event async for batch in feed for event in batch]
        # How chunks and ends are put together is the run's business.
        assert "".join(texts([event for _, event in seen])) == "".join(expected)
        assert [number_of(event) for _, event in seen] == [seq for seq, _ in seen]
        feed.close()
    assert len(each_stage.store.created) == 1


async def test_a_number_of_another_stream_hides_nothing_of_a_new_one(stage: Stage, agent: ScriptedAgent) -> None:
    for context in (last(1), CallContext(parameters=ServiceParameters(last_event_id=1))):
        feed = await stage.call(SEND_STREAMING_MESSAGE, send(f"{len(agent.runs)}"), context)
        ((seq, first),) = await anext(feed)
        assert (seq, type(first)) == (1, Task)
        await (await agent.run()).end()
        assert texts([event async for batch in feed for _, event in batch]) == ["completed"]
        feed.close()
