"""What is stored of work that was handed on: nothing is said or asked twice, however often a handler runs."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dragoman import Agent, InputRequired, Message, TaskContext, connect
from dragoman.agent.delegation import Delegation
from dragoman.client import TaskHandle
from dragoman.types import Role, Task, TaskState, TaskStatus
from tests.behaviour.test_delegation import at, desk


async def test_nothing_is_said_twice_however_often_the_handler_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where it is sent: the agent at the other end would know it again."""
    last, said, looked = desk(), list[str](), list[str]()
    agent = Agent("Middle", store="memory")

    @agent.skill
    async def work(task: TaskContext) -> str:
        made = await task.delegate(other, "twice")
        return f"{await task.ask('Is it so?')}: {made} {await task.ask('Sure?')}"

    async with at(last.agent) as url, connect(url, poll_interval=0.02) as other, connect(agent) as client:
        start, look = other.start, other.task

        async def started(content: Message, **options: Any) -> TaskHandle | Message:
            said.append(content.text)
            return await start(content, **options)

        async def looked_at(task_id: str) -> TaskHandle:
            looked.append(task_id)
            return await look(task_id)

        monkeypatch.setattr(other, "start", started)
        monkeypatch.setattr(other, "task", looked_at)
        handle = await client.start("x")
        assert isinstance(handle, TaskHandle)
        for word in ("Oslo", "paid", "yes", "quite"):
            with pytest.raises(InputRequired):
                await handle.result()
            handle = await handle.reply(word)
        assert (await handle.result()).artifacts[0].text == "yes: Oslo paid quite"
    assert said == ["twice", "Oslo", "paid"]
    assert len(looked) == 2, "once for each answer, and not when all was known"


class _Stored:
    """A turn of which steps are stored, as much of it as a delegation uses."""

    def __init__(self, **steps: Any) -> None:
        self.steps: dict[str, Any] = {f"d.{name.replace('_', '-')}": step for name, step in steps.items()}

    def step(self, name: str) -> tuple[bool, Any]:
        return name in self.steps, self.steps.get(name)

    async def remember(self, name: str, result: Any) -> None:
        self.steps[name] = result


async def test_a_question_that_was_answered_before_a_crash_is_not_taken_for_a_new_one() -> None:
    """The other agent may show it a little longer."""
    asked = {"state": "input-required", "timestamp": "2026-01-01T00:00:00Z"}
    waits = Task(id="t", context_id="c", status=msgspec.convert(asked, TaskStatus))
    done = msgspec.structs.replace(waits, status=TaskStatus(state=TaskState.COMPLETED))

    class Handle:
        def __init__(self, after: Task) -> None:
            self.task, self._after = waits, after

        def granted(self) -> "Handle":
            return Handle(done)

        async def settle(self) -> Task:
            self.task = self._after
            return self.task

        def completed(self) -> Task:
            assert self.task is done
            return self.task

    class Other:
        def adopt(self, task_id: str) -> Callable[[], None]:
            assert task_id == "t"
            return lambda: None

        async def task(self, _task_id: str) -> Handle:
            return Handle(waits)

    async def ask(*_: Any) -> Any:
        raise AssertionError("asked again")

    turn: Any = _Stored(task={"task_id": "t"}, question_1=asked, answer_1=True)
    other: Any = Other()
    made = await Delegation(turn, other, ask, name="d", prefix="p").outcome(
        Message(message_id="", role=Role.USER, parts=())
    )
    assert made.task == done
