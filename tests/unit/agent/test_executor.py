"""Handlers, whatever their form, driven by the engine."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pydantic
import pytest

from dragoman.agent import executor as executor_module
from dragoman.agent.context import Fail, Reject, TaskContext
from dragoman.agent.executor import SkillExecutor
from dragoman.agent.skill import Skill
from dragoman.agent.threads import BlockingTaskContext
from dragoman.errors import ContentTypeNotSupportedError, InvalidParamsError
from dragoman.operations import CANCEL_TASK
from dragoman.ports.tasks import Commit
from dragoman.stores.memory import MemoryStore
from dragoman.types.card import AgentSkill
from dragoman.types.content import Artifact, Message, Part
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, Stage, message, send, settle, staged


def made(handler: Callable[..., Any], *, tasks: bool = True) -> Skill:
    card = AgentSkill(id=handler.__name__, name=handler.__name__, description="", tags=())
    return Skill.of(handler, card, tasks=tasks)


def skilled(
    *handlers: Callable[..., Any], router: Callable[..., Any] | None = None, modes: tuple[str, ...] | None = None
) -> SkillExecutor:
    skills = [made(handler) for handler in handlers]
    return SkillExecutor(
        {skill.card.id: skill for skill in skills}, None if router is None else made(router, tasks=False), modes
    )


async def sent(handler: Callable[..., Any], *parts: Part) -> Task:
    """The settled task of a handler."""
    async with staged(MemoryStore(), skilled(handler)) as stage:
        request = send()
        if parts:
            request = send_parts(*parts)
        task = await stage.service.send_message(request, CALL)
        assert isinstance(task, Task)
        return task


def send_parts(*parts: Part) -> Any:
    request = send()
    return msgspec.structs.replace(request, message=msgspec.structs.replace(request.message, parts=parts))


async def cancel(stage: Stage, task_id: str) -> Task:
    task = await stage.call(CANCEL_TASK, CancelTaskRequest(id=task_id))
    assert isinstance(task, Task)
    return task


async def test_the_four_forms_say_the_same() -> None:
    async def stream(text: str) -> AsyncIterator[str]:
        for letter in text:
            yield letter

    async def coroutine(text: str) -> str:
        return text

    def generator(text: str) -> Iterator[str]:
        yield from text

    def function(text: str) -> str:
        return text

    for handler in (stream, coroutine, generator, function):
        task = await sent(handler)
        assert (task.state, task.text, len(task.artifacts)) == (TaskState.COMPLETED, "hello", 1), handler.__name__


async def test_what_is_not_text_becomes_an_artifact_of_its_own() -> None:
    class Model(pydantic.BaseModel):
        deep: list[int]

    async def many(task: TaskContext) -> AsyncIterator[Any]:
        yield {"a": 1}
        yield Model(deep=[1])
        yield Part(url="https://x.example/file")
        yield b"bytes"
        yield Artifact(artifact_id="mine", parts=(Part(text="whole"),), name="named")

    task = await sent(many)
    data, model, url, raw, whole = task.artifacts
    assert data.parts[0].data == {"a": 1}
    assert model.parts[0].data == {"deep": [1]}
    assert url.parts[0].url == "https://x.example/file"
    assert raw.parts[0].raw == b"bytes"
    assert (whole.artifact_id, whole.name) == ("mine", "named")
    assert len({artifact.artifact_id for artifact in task.artifacts}) == 5


@pytest.mark.parametrize(("error", "state"), [(Reject, TaskState.REJECTED), (Fail, TaskState.FAILED)])
@pytest.mark.parametrize("threaded", [False, True])
async def test_reject_and_fail_tell_the_caller_why(error: type[Exception], state: TaskState, *, threaded: bool) -> None:
    async def looped(text: str) -> str:
        raise error("not today")

    def in_thread(text: str) -> str:
        raise error("not today")

    task = await sent(in_thread if threaded else looped)
    assert task.state is state
    assert task.status.message is not None
    assert task.status.message.text == "not today"


async def test_a_router_picks_by_function_or_id_and_a_task_keeps_its_skill() -> None:
    async def first(task: TaskContext) -> str:
        return f"first {task.skill}"

    async def second(task: TaskContext) -> str:
        return f"second {task.skill}"

    def route(text: str) -> Any:
        return second if text == "by function" else text

    async with staged(MemoryStore(), skilled(first, second, router=route)) as stage:
        for text, expected in (("by function", "second second"), ("first", "first first"), ("second", "second second")):
            task = await stage.service.send_message(send(text), CALL)
            assert isinstance(task, Task)
            assert task.text == expected


async def test_data_that_does_not_fit_is_refused_before_a_task_is_made() -> None:
    class Order(pydantic.BaseModel):
        lines: list[int]

    async def order(order: Order) -> str:
        return str(sum(order.lines))

    async with staged(MemoryStore(), skilled(order)) as stage:
        with pytest.raises(InvalidParamsError) as refused:
            await stage.service.send_message(send_parts(Part(text="see"), Part(data={"lines": [1, "x"]})), CALL)
        assert [violation.field for violation in refused.value.violations] == ["message.parts[1].data.lines[1]"]
        with pytest.raises(InvalidParamsError) as refused:
            await stage.service.send_message(send(), CALL)
        assert [violation.field for violation in refused.value.violations] == ["message.parts"]
        assert stage.store.created == []
        task = await stage.service.send_message(send_parts(Part(data={"lines": [1, 2]})), CALL)
        assert isinstance(task, Task)
        assert task.text == "3"


async def test_media_types_are_enforced_only_where_they_are_stated() -> None:
    async def anything(text: str) -> str:
        return "taken"

    picture = Part(url="https://x.example/a", media_type="image/png")
    assert (await sent(anything, picture)).text == "taken"
    for modes, fits in ((("image/*",), True), (("*/*",), True), (("image/png; q=1",), True), (("text/plain",), False)):
        async with staged(MemoryStore(), skilled(anything, modes=modes)) as stage:
            if fits:
                await stage.service.send_message(send_parts(picture), CALL)
                continue
            with pytest.raises(ContentTypeNotSupportedError, match=r"parts\[0\] is image/png"):
                await stage.service.send_message(send_parts(picture), CALL)


async def test_a_direct_answer_makes_no_task() -> None:
    async def answer(said: Message) -> Message:
        return message(f"re: {said.text}")

    async with staged(MemoryStore(), skilled(answer)) as stage:
        told = await stage.service.send_message(send(), CALL)
        assert isinstance(told, Message)
        assert (told.text, told.role.value) == ("re: hello", "agent")
        assert told.context_id
        assert stage.store.created == []


async def asking_in_gather(task: TaskContext) -> None:
    await asyncio.gather(task.ask("a?"), task.ask("b?"))


async def asking_in_a_task(task: TaskContext) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(task.ask("a?"))


async def asking_in_a_thread(task: TaskContext) -> None:
    await asyncio.to_thread(asyncio.run, task.ask("a?"))


def asking_from_another_thread(task: BlockingTaskContext) -> None:
    raised: list[BaseException] = []

    def other() -> None:
        try:
            task.ask("a?")
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    raise raised[0]


@pytest.mark.parametrize(
    "handler", [asking_in_gather, asking_in_a_task, asking_in_a_thread, asking_from_another_thread]
)
async def test_a_question_outside_the_handler_itself_is_an_error(
    handler: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert (await sent(handler)).state is TaskState.FAILED
    assert "a question ends the run" in caplog.text


async def test_a_question_in_the_body_of_a_task_group_parks() -> None:
    async def body(task: TaskContext) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.Event().wait())
            return await task.ask("well?")

    async with staged(MemoryStore(), skilled(body)) as stage:
        task = await stage.begin()
        assert (await stage.ended(task.id)).state is TaskState.INPUT_REQUIRED


async def test_a_thread_can_tell_ask_and_step() -> None:
    calls: list[int] = []

    def work(task: BlockingTaskContext) -> Iterator[str]:
        yield "one "
        task.status("going on")
        calls.append(0) if task.step("once", lambda: len(calls)) is None else None
        task.step("count", calls.append, 1)
        yield f"{task.ask('More?')} {task.text}"

    async with staged(MemoryStore(), skilled(work)) as stage:
        task = await stage.begin()
        assert (await stage.ended(task.id)).state is TaskState.INPUT_REQUIRED
        await stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
        done = await stage.ended(task.id)
    assert (done.state, done.text) == (TaskState.COMPLETED, "one yes hello")
    assert calls == [1]


async def test_a_step_awaits_what_its_function_gives_to_await() -> None:
    async def charge(amount: int) -> int:
        await asyncio.sleep(0)
        return amount

    async def work(task: TaskContext) -> str:
        return f"{await task.step('direct', charge, 1)} {await task.step('wrapped', lambda: charge(2))}"

    assert (await sent(work)).text == "1 2"


async def test_a_thread_that_waits_for_the_store_when_its_task_is_taken_away_is_let_go() -> None:
    raised: list[BaseException] = []
    reached, over = threading.Event(), threading.Event()

    def work(task: BlockingTaskContext) -> None:
        reached.wait(10)
        try:
            task.step("point", int)
        except BaseException as error:
            raised.append(error)
            raise
        finally:
            over.set()

    async with staged(MemoryStore(), skilled(work)) as stage:
        task = await stage.begin()
        stored = await stage.stored(task.id)
        await stage.store.inner.commit(Commit(task_id=task.id, epoch=stored.epoch, after=stored.seq, claim=True))
        reached.set()
        assert await asyncio.to_thread(over.wait, 5)
    assert [type(error) for error in raised] == [asyncio.CancelledError]


async def test_a_handler_that_waited_for_a_thread_does_not_begin_once_canceled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor_module, "MAX_THREADS", 1)
    begun: list[str] = []
    go = threading.Event()

    def work(text: str) -> str:
        begun.append(text)
        go.wait(10)
        return text

    async with staged(MemoryStore(), skilled(work)) as stage:
        first = await stage.begin("first")
        second = await stage.begin("second")
        await settle()
        assert (await cancel(stage, second.id)).state is TaskState.CANCELED
        go.set()
        assert (await stage.ended(first.id)).text == "first"
        third = await stage.begin("third")
        await stage.ended(third.id)
    assert begun == ["first", "third"]


async def test_a_cancellation_reaches_a_handler_that_waits_for_room() -> None:
    seen: list[str] = []

    async def flood(task: TaskContext) -> AsyncIterator[str]:
        try:
            while True:
                yield "x" * 70_000
        except asyncio.CancelledError:
            seen.append("cancelled")
            yield "tidied up"
            raise
        finally:
            seen.append("over")

    async with staged(MemoryStore(), skilled(flood)) as stage:
        stage.store.hold()
        task = await stage.begin()
        await stage.store.held()
        await settle()
        canceling = asyncio.create_task(cancel(stage, task.id))
        await settle()
        stage.store.release()
        canceled = await canceling
        assert seen == ["cancelled", "over"]
        assert canceled.text.endswith("tidied up")


async def test_a_generator_is_closed_when_what_it_yields_is_no_content(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    async def odd(text: str) -> AsyncIterator[Any]:
        try:
            yield object()
        finally:
            seen.append("closed")

    assert (await sent(odd)).state is TaskState.FAILED
    assert seen == ["closed"]
    assert "not content" in caplog.text
