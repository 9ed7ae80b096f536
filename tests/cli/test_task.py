"""`task get|cancel|list|subscribe`, and how polls are paced."""

import asyncio
import itertools
from typing import Any

import pytest

from dragoman.cli.waiting import delays, until_settled
from dragoman.errors import ReplyMalformed, TaskNotFoundError, TransportError, UnavailableError
from dragoman.types.task import Task, TaskState, TaskStatus
from tests.cli.program import Program
from tests.cli.scripted import Json, Refused, ScriptedAgent, Step, always, done, state

HISTORY: list[Json] = [{"messageId": f"m-{n}", "role": "ROLE_USER", "parts": [{"text": f"said {n}"}]} for n in range(4)]
ARTIFACTS: list[Json] = [{"artifactId": "a-1", "parts": [{"text": "result"}]}]


@pytest.mark.row("A2ACLI_TASK_GET_001")
async def test_get_shows_state_artifacts_and_history(bound: ScriptedAgent, program: Program) -> None:
    task = bound.add("COMPLETED", "t-1", artifacts=ARTIFACTS, history=HISTORY)
    text, document = await asyncio.gather(
        program.run("task", "get", "t-1", "--history", "2"), program.run("task", "get", "t-1", "-o", "json")
    )
    assert text.code == document.code == 0
    shown = text.fields
    assert shown["State"] == ["TASK_STATE_COMPLETED"]
    assert shown["Artifact"] == ["a-1"]
    assert shown["Text"] == ["result", "said 2", "said 3"]
    assert document.json == task
    lengths = {str(request.params.get("historyLength")) for request in bound.calls("GetTask")}
    assert lengths == {"2", "None"}


@pytest.mark.row("A2ACLI_TASK_CANCEL_001")
async def test_cancel_reports_the_state_and_can_be_repeated(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    first = await program.run("task", "cancel", "t-1", "--metadata", '{"why": "enough"}')
    second = await program.run("task", "cancel", "t-1", "-o", "json")
    assert first.code == second.code == 0
    assert first.fields["State"] == ["TASK_STATE_CANCELED"]
    assert second.json["status"]["state"] == "TASK_STATE_CANCELED"
    assert agent.calls("CancelTask")[0].params["metadata"] == {"why": "enough"}


@pytest.mark.row("A2ACLI_TASK_CANCEL_001")
async def test_what_is_over_cannot_be_canceled(agent: ScriptedAgent, program: Program) -> None:
    agent.add("COMPLETED", "t-1")
    ran = await program.run("task", "cancel", "t-1", "-o", "json")
    assert ran.code == 1
    assert ran.error["code"] == "TaskNotCancelableError"
    assert ran.error["a2aCode"] == -32002
    assert "TASK_STATE_COMPLETED" in ran.error["message"]


@pytest.mark.row("A2ACLI_TASK_POLL_001")
async def test_get_looks_once_and_with_wait_until_the_end(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    once = await program.run("task", "get", "t-1")
    assert once.fields["State"] == ["TASK_STATE_WORKING"]
    assert len(agent.calls("GetTask")) == 1
    async with program.started("task", "get", "t-1", "--wait", "--poll-interval", "100ms") as running:
        assert await running.line() == "Task ID: t-1"
        agent.add("COMPLETED", "t-1")
        waited = await running.ended()
    assert waited.code == 0
    assert waited.fields["State"][-1] == "TASK_STATE_COMPLETED"
    assert len(agent.calls("GetTask")) > 2


@pytest.mark.row("A2ACLI_TASK_POLL_002")
async def test_polls_keep_their_distance_and_end_at_the_limit(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    ran = await program.run("task", "get", "t-1", "--wait", "--poll-interval", "100ms", "--timeout", "1s", "-o", "json")
    assert ran.code == 5
    assert ran.error["code"] == "A2ACLI_ERR_TIMEOUT"
    assert "task get" in ran.error["hint"]
    assert "--wait t-1" in ran.error["hint"]
    times = [request.at for request in agent.calls("GetTask")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(gaps) >= 2
    assert min(gaps) >= 0.099
    assert max(gaps) < 0.1 * 5 * 1.1 + 0.5
    assert agent.calls("CancelTask") == []


@pytest.mark.row("A2ACLI_TASK_POLL_003")
@pytest.mark.parametrize("name", ["INPUT_REQUIRED", "AUTH_REQUIRED"])
async def test_an_interrupted_task_ends_the_wait(agent: ScriptedAgent, program: Program, name: str) -> None:
    agent.streaming = False
    agent.script = always((state(name, "your turn"),))
    ran = await program.run("send", "go", "--poll-interval", "100ms")
    assert ran.code == 0
    assert ran.fields["State"] == [f"TASK_STATE_{name}"]
    assert len(agent.calls("GetTask")) == 1


@pytest.mark.row("A2ACLI_TASK_POLL_003")
async def test_an_unspecified_state_is_in_flight(agent: ScriptedAgent, program: Program) -> None:
    agent.add("UNSPECIFIED", "t-1")
    once, forever = await asyncio.gather(
        program.run("task", "get", "t-1", "-o", "json"),
        program.run("task", "get", "t-1", "--wait", "--poll-interval", "100ms", "--timeout", "800ms"),
    )
    assert once.json["status"]["state"] == "TASK_STATE_UNSPECIFIED"
    assert forever.code == 5
    async with program.started("task", "get", "t-1", "--wait", "--poll-interval", "100ms") as running:
        await running.line()
        agent.add("COMPLETED", "t-1")
        ran = await running.ended()
    assert ran.code == 0
    assert ran.fields["State"][-1] == "TASK_STATE_COMPLETED"


@pytest.mark.row("A2ACLI_TASK_LIST_001")
async def test_all_pages_together_hold_every_task_once(bound: ScriptedAgent, program: Program) -> None:
    for number in range(6):
        bound.add("COMPLETED" if number % 2 else "WORKING", f"t-{number}")
    token = ""
    seen: list[str] = []
    while True:
        ran = await program.run("task", "list", "--page-size", "4", "-o", "json", "--page-token", token)
        assert ran.code == 0, ran.err
        assert set(ran.json) == {"tasks", "nextPageToken", "pageSize", "totalSize"}
        seen += [task["id"] for task in ran.json["tasks"]]
        token = ran.json["nextPageToken"]
        if not token:
            break
    assert sorted(seen) == sorted(bound.tasks)


@pytest.mark.row("A2ACLI_TASK_LIST_001")
async def test_a_list_is_filtered_by_the_agent(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    agent.add("COMPLETED", "t-2")
    by_state, by_context = await asyncio.gather(
        program.run(
            "task", "list", "--status", "completed", "--since", "2026-01-01T00:00:00Z", "-o", "json", "--stream"
        ),
        program.run("task", "list", "--context-id", "c-t-1"),
    )
    assert [task["id"] for task in by_state.lines] == ["t-2"]
    assert by_context.fields["Task ID"] == ["t-1"]
    assert by_context.fields["Total Size"] == ["1"]
    sent = {request.params.get("status"): request.params for request in agent.calls("ListTasks")}
    assert sent["TASK_STATE_COMPLETED"]["statusTimestampAfter"].startswith("2026-01-01T00:00:00")
    assert sent[None]["contextId"] == "c-t-1"


@pytest.mark.row("A2ACLI_TASK_SUBSCRIBE_001")
async def test_subscribe_follows_to_the_end(bound: ScriptedAgent, program: Program) -> None:
    bound.script = always((state("WORKING", delay=0.3), *done("found", delay=0.8)))
    await program.run("send", "go", "--async")
    (task_id,) = bound.tasks
    live, whole = await asyncio.gather(
        program.run("task", "subscribe", task_id, "-o", "json", "--stream"),
        program.run("task", "subscribe", task_id, "-o", "json"),
    )
    assert live.code == whole.code == 0
    assert "task" in live.lines[0]
    assert live.lines[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert whole.json["artifacts"][0]["parts"] == [{"text": "found"}]


@pytest.mark.row("A2ACLI_TASK_SUBSCRIBE_002")
async def test_a_cut_subscription_is_taken_up_again(agent: ScriptedAgent, program: Program) -> None:
    steps = [Step(0.15, artifact={"artifactId": f"a-{n}", "parts": [{"text": f"{n}"}]}) for n in range(8)]
    agent.script = always((*steps, state("COMPLETED")))
    await program.run("send", "go", "--async")
    (task_id,) = agent.tasks
    agent.cut_after = 2
    ran = await program.run("task", "subscribe", task_id, "-o", "json", "--stream")
    assert ran.code == 0, ran.err
    assert len(agent.calls("SubscribeToTask")) == 2
    assert agent.calls("GetTask") == []
    assert ran.lines[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    last_task = [event["task"] for event in ran.lines if "task" in event][-1]
    after = ran.lines[max(i for i, event in enumerate(ran.lines) if "task" in event) :]
    found = [a["artifactId"] for a in last_task.get("artifacts", [])]
    found += [event["artifactUpdate"]["artifact"]["artifactId"] for event in after if "artifactUpdate" in event]
    assert found == [f"a-{n}" for n in range(8)]


async def test_subscribe_asks_the_card_first(agent: ScriptedAgent, program: Program) -> None:
    agent.streaming = False
    agent.add("WORKING", "t-1")
    ran = await program.run("task", "subscribe", "t-1", "-o", "json")
    assert ran.code == 1
    assert ran.error["code"] == "UnsupportedOperationError"
    assert ran.error["a2aCode"] is None
    assert agent.calls() == []


async def test_polls_that_fail_three_times_in_a_row_end_the_wait(agent: ScriptedAgent, program: Program) -> None:
    agent.streaming = False
    agent.script = always((state("WORKING", delay=60),))
    agent.refuse["GetTask"] = Refused("INTERNAL_ERROR", "broken")
    ran = await program.run("send", "go", "-o", "json", "--poll-interval", "50ms")
    assert ran.code == 1
    assert ran.error["code"] == "InternalError"
    assert len(agent.calls("GetTask")) == 3


# The pace, without a clock.


def test_the_interval_is_the_floor_and_growth_is_bounded() -> None:
    steady = list(itertools.islice(delays(2.0, lambda: 0.0), 8))
    assert steady == [2.0, 3.0, 4.5, 6.75, 10.0, 10.0, 10.0, 10.0]
    late = list(itertools.islice(delays(2.0, lambda: 1.0), 8))
    assert all(a < b <= a * 1.1 + 1e-9 for a, b in zip(steady, late, strict=True))


async def _waited(*answers: TaskState | Exception) -> tuple[Task, list[float]]:
    pending = iter(answers)
    slept: list[float] = []

    async def fetch() -> Task:
        answer = next(pending)
        if isinstance(answer, Exception):
            raise answer
        return Task(id="t", context_id="c", status=TaskStatus(state=answer))

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    def seen(_: Any) -> None: ...

    return await until_settled(fetch, 1.0, seen, sleep), slept


async def test_a_failed_poll_is_repeated() -> None:
    task, slept = await _waited(
        TransportError("cut"), TransportError("cut"), TaskState.UNSPECIFIED, TransportError("cut"), TaskState.REJECTED
    )
    assert task.state is TaskState.REJECTED
    assert len(slept) == 5


async def test_an_agent_out_of_reach_is_polled_for_as_long_as_it_takes() -> None:
    task, slept = await _waited(*[TransportError("cut"), UnavailableError()] * 10, TaskState.COMPLETED)
    assert task.state is TaskState.COMPLETED
    assert len(slept) == 21


async def test_an_agent_is_not_polled_before_it_wants_to_be() -> None:
    busy = UnavailableError()
    busy.retry_after = 30.0
    _, slept = await _waited(busy, TaskState.WORKING, TaskState.COMPLETED)
    assert slept[1] == 30.0
    assert slept[0] < slept[2] < 5


async def test_answers_without_sense_end_the_wait() -> None:
    with pytest.raises(ReplyMalformed):
        await _waited(*[ReplyMalformed("nonsense")] * 3, TaskState.COMPLETED)


async def test_what_the_agent_refuses_is_not_repeated() -> None:
    with pytest.raises(TaskNotFoundError):
        await _waited(TaskNotFoundError(), TaskState.COMPLETED)
