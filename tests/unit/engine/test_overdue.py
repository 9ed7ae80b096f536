"""Handlers that take too long or say nothing: the task fails with the reason, and there is one end."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.engine import watch
from dragoman.engine.endings import Stop
from dragoman.engine.watch import Watch
from dragoman.errors import TaskNotCancelableError
from dragoman.lineage import current_lineage
from dragoman.operations import CANCEL_TASK
from dragoman.ports.agent import Policy, Turn
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.events import TaskStatusUpdateEvent
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, QUICK, Stage, send


class Loop:
    """Timers under a clock that the test turns."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None], asyncio.TimerHandle]] = []
        self.tasks: list[asyncio.Task[None]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, then: Callable[..., None], *given: Any) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, then, given, asyncio.get_event_loop())
        self.timers.append((when, lambda: then(*given), handle))
        return handle

    def call_later(self, delay: float, then: Callable[..., None], *given: Any) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, then, *given)

    def create_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    def turn(self, seconds: float) -> None:
        end = self.now + seconds
        while due := sorted((when for when, _, handle in self.timers if when <= end and not handle.cancelled())):
            self.now = due[0]
            for timer in [one for one in self.timers if one[0] <= self.now]:
                self.timers.remove(timer)
                if not timer[2].cancelled():
                    timer[1]()
        self.now = end


@pytest.fixture
async def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    fake = Loop()
    # Nobody but the watch sees it.
    stand_in = SimpleNamespace(get_running_loop=lambda: fake, TimerHandle=asyncio.TimerHandle)
    monkeypatch.setattr(watch, "asyncio", stand_in)
    return fake


async def reasons(stage: Stage, task: Task) -> list[object]:
    """Why the task ended, once for each end in its log."""
    events = [entry.event for entry in await stage.log(task.id)]
    ends = [event for event in events if isinstance(event, TaskStatusUpdateEvent) and event.status.state.terminal]
    assert events[-1] is ends[-1]
    return [(end.metadata or {}).get("reason") for end in ends]


@pytest.mark.parametrize(
    ("policy", "reason"), [(Policy(deadline=10), "deadline"), (Policy(idle_timeout=10), "idle-timeout")]
)
async def test_a_handler_that_is_overdue_is_stopped_and_its_task_fails(
    loop: Loop, each_stage: Stage, agent: ScriptedAgent, policy: Policy, reason: str
) -> None:
    agent.policies = policy
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("so far")
    loop.turn(10)
    done = await each_stage.ended(task.id)
    assert (done.state, done.text) == (TaskState.FAILED, "so far")
    assert await reasons(each_stage, task) == [reason]
    assert run.over.is_set()


async def test_an_overdue_handler_that_ignores_its_cancellation_is_abandoned(
    loop: Loop, each_stage: Stage, agent: ScriptedAgent
) -> None:
    agent.policies = Policy(deadline=10)
    task = await each_stage.begin()
    run = await agent.run()
    run.survives = 2
    loop.turn(10)
    await run.cancelled.wait()
    assert (await each_stage.task(task.id)).state is TaskState.WORKING
    loop.turn(QUICK.cancel_grace)
    assert (await each_stage.ended(task.id)).state is TaskState.FAILED
    with pytest.raises(RunOver):
        await run.text("too late")
    assert await reasons(each_stage, task) == ["deadline"]


async def test_what_an_overdue_handler_makes_of_its_cancellation_does_not_count(
    loop: Loop, each_stage: Stage, agent: ScriptedAgent
) -> None:
    agent.policies = Policy(deadline=10)
    task = await each_stage.begin()
    run = await agent.run()
    run.survives = 1
    loop.turn(10)
    await run.cancelled.wait()
    await run.text("tidied up")
    await run.end()
    done = await each_stage.ended(task.id)
    assert (done.state, done.text) == (TaskState.FAILED, "tidied up")


async def test_a_cancellation_of_an_overdue_task_comes_too_late(loop: Loop, stage: Stage, agent: ScriptedAgent) -> None:
    agent.policies = Policy(deadline=10)
    task = await stage.begin()
    run = await agent.run()
    run.survives = 2
    loop.turn(10)
    await run.cancelled.wait()
    with pytest.raises(TaskNotCancelableError):
        await stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    assert await reasons(stage, task) == ["deadline"]
    with pytest.raises(RunOver):
        await run.text("too late")


async def nothing() -> None:
    """Abandons nobody."""


def watching(stops: list[Stop], **policy: Any) -> Watch:
    return Watch(Policy(**policy), 5, stop=stops.append, abandon=nothing)


async def test_who_speaks_now_and_then_is_not_idle(loop: Loop) -> None:
    stops: list[Stop] = []
    watching_ = watching(stops, idle_timeout=10)
    for _ in range(5):
        loop.turn(9)
        watching_.heard()
    assert stops == []
    loop.turn(9.9)
    assert stops == []
    loop.turn(0.2)
    assert stops == [Stop.IDLE_TIMEOUT]
    assert loop.tasks == []
    loop.turn(5)
    assert len(loop.tasks) == 1


async def test_who_speaks_all_the_time_has_a_deadline_nevertheless(loop: Loop) -> None:
    stops: list[Stop] = []
    watching_ = watching(stops, idle_timeout=10, deadline=25)
    for _ in range(6):
        loop.turn(5)
        watching_.heard()
    assert stops == [Stop.DEADLINE]


async def test_a_handler_that_has_ended_is_not_watched(loop: Loop) -> None:
    stops: list[Stop] = []
    watching(stops, idle_timeout=10, deadline=20).close()
    loop.turn(100)
    assert stops == []
    stopped = watching(stops, deadline=1)
    loop.turn(2)
    stopped.close()
    loop.turn(100)
    assert (stops, loop.tasks) == ([Stop.DEADLINE], [])


async def test_waiting_for_the_caller_takes_none_of_the_time(loop: Loop, stage: Stage, agent: ScriptedAgent) -> None:
    agent.policies = Policy(deadline=10, idle_timeout=10)
    task = await stage.begin()
    run = await agent.run()
    loop.turn(9)
    with pytest.raises(RunOver):
        await run.ask("Well?")
    loop.turn(100)
    assert (await stage.ended(task.id)).state is TaskState.INPUT_REQUIRED
    await stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    run = await agent.run()
    loop.turn(9)
    await run.ask("Well?")
    await run.end()
    loop.turn(100)
    assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_each_turn_has_its_own_time(loop: Loop, stage: Stage, agent: ScriptedAgent) -> None:
    agent.policies = Policy(deadline=10)
    task = await stage.begin()
    run = await agent.run()
    loop.turn(9)
    await stage.service.send_message(send("more", immediately=True, task_id=task.id), CALL)
    await run.end()
    run = await agent.run()
    loop.turn(9)
    await run.text("still there")
    loop.turn(2)
    await run.over.wait()
    assert await reasons(stage, task) == ["deadline"]


# What it has begun elsewhere.


async def adopts(run: ScriptedRun, canceled: list[str]) -> None:
    async def adopt(_turn: Turn) -> None:
        lineage = current_lineage()
        assert lineage is not None
        lineage.adopt(lambda: canceled.append("child"))

    await run.do(adopt)


async def test_a_canceled_task_takes_along_what_its_run_has_begun_elsewhere(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    canceled: list[str] = []
    task = await each_stage.begin()
    await adopts(await agent.run(), canceled)
    await each_stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    await each_stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    assert canceled == ["child"]


async def test_so_does_one_that_is_overdue(loop: Loop, each_stage: Stage, agent: ScriptedAgent) -> None:
    canceled: list[str] = []
    agent.policies = Policy(deadline=10)
    task = await each_stage.begin()
    await adopts(await agent.run(), canceled)
    loop.turn(10)
    await each_stage.ended(task.id)
    assert canceled == ["child"]


@pytest.mark.parametrize("how", ["end", "fail", "stop"])
async def test_other_ends_leave_it_alone(stage: Stage, agent: ScriptedAgent, how: str) -> None:
    canceled: list[str] = []
    task = await stage.begin()
    run = await agent.run()
    await adopts(run, canceled)
    if how == "end":
        await run.end()
    elif how == "fail":
        await run.fail(RuntimeError("planned"))
    else:
        await stage.service.close()
        await stage.service.open()
    assert (await stage.ended(task.id)).state.terminal
    assert canceled == []


async def test_two_runs_do_not_share_what_they_have_begun(stage: Stage, agent: ScriptedAgent) -> None:
    canceled: list[str] = []
    first = await stage.begin("one")
    run = await agent.run()

    async def begin_another(_turn: Turn) -> None:
        await stage.begin("two")

    await run.do(begin_another)
    other = await agent.run()
    await adopts(other, canceled)
    await stage.call(CANCEL_TASK, CancelTaskRequest(id=first.id))
    assert canceled == []
    await other.end()
