"""What is handed on: each event once, those of one task in order and one at a time; the task where some are missing."""

import asyncio
from typing import Any

import pytest

from dragoman.client.receiver import Receiver, ReceiverLimits
from dragoman.errors import TaskNotFoundError, TransportError
from dragoman.types.content import Artifact, Part
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.task import Task, TaskState, TaskStatus
from tests.behaviour.manifest import requirement
from tests.unit.client.receiver.stage import Agent, Json, artifact, headers_of, post, status, task, virtual

LIMITS = ReceiverLimits(patience=2.0)


def words(event: StreamEvent) -> str:
    """An event in short."""
    match event:
        case Task():
            return f"Task {event.state.value}{': ' + event.text if event.text else ''}"
        case TaskArtifactUpdateEvent():
            return str(event.artifact.text)
        case TaskStatusUpdateEvent():
            return str(event.status.state.value)
        case _:
            return str(event.text)


def stored(state: TaskState, text: str, task_id: str = "t-1") -> Task:
    artifacts = (Artifact(artifact_id="a", parts=(Part(text=text),)),) if text else ()
    return Task(id=task_id, context_id="c", status=TaskStatus(state=state), artifacts=artifacts)


class Stage:
    """A receiver that writes down what is handed on."""

    def __init__(self, *, limits: ReceiverLimits = LIMITS) -> None:
        self.agent = Agent()
        self.told: list[str] = []
        self.failures = 0
        self.receiver: Receiver = self.agent.receiver(self.on_event, limits=limits, token="ours", any_task=True)

    async def on_event(self, event: StreamEvent) -> None:
        if self.failures:
            self.failures -= 1
            raise ValueError("not now")
        self.told.append(words(event))

    async def begin(self) -> None:
        """The task is created, which is the first event of its log."""
        assert await self.post(task("SUBMITTED"), 1) == 200

    async def post(self, body: Json, seq: int | None, task_id: str = "t-1") -> int:
        return (await post(self.receiver, body, headers_of("ours", seq, task_id))).status

    def later(self, body: Json, seq: int | None, task_id: str = "t-1") -> "asyncio.Future[int]":
        return asyncio.ensure_future(self.post(body, seq, task_id))


def now() -> float:
    return asyncio.get_running_loop().time()


@requirement("R-4.3.3-02", "R-13.2-07")
@virtual
async def test_events_are_handed_on_as_they_come_in_order() -> None:
    stage = Stage()
    await stage.begin()
    for seq, body in enumerate((status("WORKING"), artifact("a"), artifact("b"), status("COMPLETED")), 2):
        assert await stage.post(body, seq) == 200
    assert stage.told == ["Task submitted", "working", "a", "b", "completed"]
    assert (stage.agent.looks, now()) == (0, 0.0)


@virtual
async def test_an_event_that_comes_too_early_waits_for_those_before_it() -> None:
    stage = Stage()
    await stage.begin()
    late = [stage.later(artifact("4"), 4), stage.later(artifact("3"), 3)]
    await asyncio.sleep(1)
    assert stage.told == ["Task submitted"]
    assert await stage.post(artifact("2"), 2) == 200
    assert [await one for one in late] == [200, 200]
    assert stage.told == ["Task submitted", "2", "3", "4"]
    assert (stage.agent.looks, now()) == (0, 1.0)


@virtual
async def test_what_does_not_come_in_time_is_made_up_for_by_the_task() -> None:
    stage = Stage()
    stage.agent.tasks["t-1"] = stored(TaskState.WORKING, "2 3 4 5")
    stage.agent.numbers["t-1"] = 5
    await stage.begin()
    assert await stage.post(artifact("4"), 4) == 200
    assert now() == 2.0
    assert stage.told == ["Task submitted", "Task working: 2 3 4 5"]
    for seq in (2, 3, 5):
        assert await stage.post(artifact(str(seq)), seq) == 200, "it is in the task"
    assert await stage.post(artifact("6"), 6) == 200
    assert stage.told == ["Task submitted", "Task working: 2 3 4 5", "6"]
    assert (stage.agent.looks, now()) == (1, 2.0)


@virtual
async def test_where_nobody_says_what_is_in_the_task_chunks_are_not_doubled() -> None:
    stage = Stage()
    stage.agent.tasks["t-1"] = stored(TaskState.WORKING, "2 3 4 5")
    await stage.begin()
    assert await stage.post(artifact("4"), 4) == 200
    stage.agent.tasks["t-1"] = stored(TaskState.WORKING, "2 3 4 5 6")
    assert await stage.post(artifact("5"), 5) == 200
    assert await stage.post(artifact("new", append=False), 6) == 200
    assert await stage.post(status("WORKING"), 7) == 200
    assert stage.told == ["Task submitted", "Task working: 2 3 4 5", "Task working: 2 3 4 5 6", "new", "working"]
    assert await stage.post(task("WORKING", "all"), 8) == 200
    assert await stage.post(artifact("9"), 9) == 200
    assert stage.told[5:] == ["Task working: all", "9"]


@virtual
async def test_after_a_task_that_has_ended_nothing_is_handed_on() -> None:
    stage = Stage()
    stage.agent.tasks["t-1"] = stored(TaskState.COMPLETED, "all")
    await stage.begin()
    assert await stage.post(artifact("3"), 3) == 200
    assert await stage.post(status("COMPLETED"), 9) == 200
    assert stage.told == ["Task submitted", "Task completed: all"]


@virtual
async def test_a_whole_task_needs_nothing_before_it_and_covers_it() -> None:
    stage = Stage()
    await stage.begin()
    early = stage.later(artifact("3"), 3)
    await asyncio.sleep(1)
    assert await stage.post(task("WORKING", "all"), 7) == 200
    assert await early == 200
    assert await stage.post(artifact("8"), 8) == 200
    assert stage.told == ["Task submitted", "Task working: all", "8"]
    assert now() == 1.0


@virtual
async def test_the_first_event_of_a_task_that_was_there_before_can_have_any_number() -> None:
    stage = Stage()
    assert await stage.post(artifact("41"), 41) == 200
    assert await stage.post(artifact("42"), 42) == 200
    assert await stage.post(artifact("40"), 40) == 200
    assert stage.told == ["41", "42"]
    assert now() == 0.0


@virtual
async def test_when_the_handler_fails_the_agent_comes_again_and_nothing_overtakes() -> None:
    stage = Stage()
    await stage.begin()
    stage.failures = 2
    assert await stage.post(artifact("2"), 2) == 500
    following = stage.later(artifact("3"), 3)
    await asyncio.sleep(0.5)
    assert await stage.post(artifact("2"), 2) == 500
    assert await stage.post(artifact("2"), 2) == 200
    assert await following == 200
    assert stage.told == ["Task submitted", "2", "3"]


@pytest.mark.parametrize("failing", [TransportError("no way"), TaskNotFoundError()], ids=["unreachable", "forgotten"])
@virtual
async def test_a_task_that_cannot_be_looked_at(failing: Exception) -> None:
    stage = Stage()
    await stage.begin()
    stage.agent.trouble = failing
    first = await post(stage.receiver, artifact("3"), headers_of("ours", 3))
    if isinstance(failing, TransportError):
        assert (first.status, first.headers["retry-after"]) == (503, "5")
        stage.agent.trouble = None
        stage.agent.tasks["t-1"] = stored(TaskState.WORKING, "2 3")
        assert await stage.post(artifact("3"), 3) == 200
        assert stage.told == ["Task submitted", "Task working: 2 3"]
    else:
        assert first.status == 200
        assert stage.told == ["Task submitted", "3"]


@virtual
async def test_without_a_client_what_is_missing_stays_so() -> None:
    told: list[str] = []

    async def on_event(event: StreamEvent) -> None:
        told.append(words(event))

    receiver = Receiver(None, None, on_event, token="ours", any_task=True)
    for seq, body in ((1, task()), (3, artifact("3"))):
        assert (await post(receiver, body, headers_of("ours", seq))).status == 200
    assert told == ["Task working", "3"]


@virtual
async def test_events_of_one_task_come_one_at_a_time_and_of_several_side_by_side() -> None:
    agent = Agent()
    at_work: list[str] = []
    most: list[int] = []

    async def on_event(event: StreamEvent) -> None:
        assert isinstance(event, TaskArtifactUpdateEvent)
        assert event.task_id not in at_work
        at_work.append(event.task_id)
        most.append(len(at_work))
        await asyncio.sleep(1)
        at_work.remove(event.task_id)

    receiver = agent.receiver(on_event, token="ours", any_task=True)
    posts = [
        post(receiver, artifact(str(seq), task_id), headers_of("ours", seq, task_id))
        for seq in (1, 2, 3)
        for task_id in ("t-1", "t-2", "t-3")
    ]
    posts += [post(receiver, artifact("no number", "t-4"), headers_of("ours")) for _ in range(3)]
    assert {reply.status for reply in await asyncio.gather(*posts)} == {200}
    assert max(most) == 4
    assert now() == 3.0


@requirement("R-4.3.3-03", "R-13.2-08")
@virtual
async def test_the_same_delivery_is_handed_on_once_however_often_it_comes() -> None:
    agent = Agent()
    handed: list[StreamEvent] = []

    async def on_event(event: StreamEvent) -> None:
        await asyncio.sleep(1)
        handed.append(event)

    receiver = agent.receiver(on_event)
    token = await agent.watched(receiver)
    for header in ("webhook-id", "idempotency-key"):
        handed.clear()
        headers = {**headers_of(token), header: f"{header}-7"}
        replies = await asyncio.gather(*(post(receiver, artifact("x"), headers) for _ in range(5)))
        assert {reply.status for reply in replies} == {200}
        assert (await post(receiver, artifact("x"), headers)).status == 200
        assert len(handed) == 1


@virtual
async def test_a_delivery_under_way_goes_on_when_who_sent_it_leaves() -> None:
    agent = Agent()
    go = asyncio.Event()
    handed: list[StreamEvent] = []

    async def on_event(event: StreamEvent) -> None:
        await go.wait()
        handed.append(event)

    receiver = agent.receiver(on_event)
    headers = headers_of(await agent.watched(receiver), 1)
    gone = asyncio.ensure_future(post(receiver, task(), headers))
    await asyncio.sleep(15)
    gone.cancel()
    again = asyncio.ensure_future(post(receiver, task(), headers))
    await asyncio.sleep(1)
    assert not again.done(), "it is told only what became of it"
    go.set()
    assert (await again).status == 200
    assert len(handed) == 1


@virtual
async def test_one_agent_cannot_use_up_the_ids_of_another() -> None:
    agent = Agent()
    handed: list[str] = []

    async def on_event(event: StreamEvent) -> None:
        assert isinstance(event, TaskArtifactUpdateEvent)
        handed.append(event.task_id)

    receiver = agent.receiver(on_event)
    one, other = await agent.watched(receiver, "t-1"), await agent.watched(receiver, "t-2")
    assert (await post(receiver, artifact("x", "t-2"), headers_of(other, webhook_id="t-1:1:c"))).status == 200
    assert (await post(receiver, artifact("x", "t-1"), headers_of(one, webhook_id="t-1:1:c"))).status == 200
    assert handed == ["t-2", "t-1"]


@pytest.mark.parametrize(
    "named", ["t-1:x:c", "t-1:", "t-1:5", "t-1:0:c", "t-2:5:c", "t-1:\xb2:c", "t-1:" + "9" * 30 + ":c"]
)
@virtual
async def test_ids_of_other_makers_have_no_order(named: str) -> None:
    stage = Stage()
    await stage.begin()
    assert (await post(stage.receiver, artifact("x"), headers_of("ours", webhook_id=named))).status == 200
    assert await stage.post(artifact("2"), 2) == 200
    assert stage.told == ["Task submitted", "x", "2"]
    assert now() == 0.0


@virtual
async def test_what_is_remembered_is_bounded() -> None:
    stage = Stage(limits=ReceiverLimits(remembered=3, tasks=2, burst=1000))
    for number in range(50):
        assert await stage.post(task(task_id=f"t-{number}"), 1, f"t-{number}") == 200
        for _ in range(3):
            await stage.agent.watched(stage.receiver, f"w-{number}")
            await stage.receiver.unwatch(f"w-{number}")
    receiver: Any = stage.receiver
    intake, watches = receiver._intake, receiver._watches
    assert len(intake._desks) == len(intake._passing) == 2
    assert len(intake._seen._taken) == 3
    assert (len(watches._by_digest), len(watches._by_task)) == (2, 1)
    assert len(stage.told) == 50
