"""The work of `dragoman task`."""

from contextlib import suppress

from dragoman.cli.follow import finish, get, play, poll
from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import Reached, reached
from dragoman.cli.render import page_lines, state_name
from dragoman.client.wire import encode
from dragoman.errors import A2AError, TaskNotCancelableError, TransportError, UnsupportedOperationError
from dragoman.types.requests import CancelTaskRequest, ListTasksRequest, SubscribeToTaskRequest
from dragoman.types.task import Task, TaskState

__all__ = ["cancel", "follow", "show", "show_page"]

_RESUMPTIONS = 3
"""How often in a row a subscription may break before polls take over."""


async def show(invocation: Invocation, task_id: str, history: int | None) -> None:
    """Shows the task as it is, or with `--wait` once it is settled."""
    async with reached(invocation) as agent:
        found = await get(agent, task_id, history)
        invocation.saw(found)
        if invocation.settings.wait and not found.state.settled:
            invocation.early(found.id, found.context_id)
            found = await poll(invocation, agent, task_id, history)
        finish(invocation, found, history=history is not None)


async def show_page(invocation: Invocation, request: ListTasksRequest) -> None:
    """Shows one page of tasks."""
    async with reached(invocation) as agent:
        page = await agent.client.list_tasks(request)
    out = invocation.out
    if not out.json:
        out.lines(page_lines(page, verbose=out.verbose))
    elif out.stream:
        for item in page.tasks:
            out.document(encode(item))
    else:
        out.document(encode(page))


async def cancel(invocation: Invocation, task_id: str) -> None:
    """Cancels the task and shows its state; one that is canceled already is shown all the same."""
    async with reached(invocation) as agent:
        request = CancelTaskRequest(id=task_id, metadata=invocation.settings.metadata)
        try:
            ended = await agent.client.cancel_task(request)
        except TaskNotCancelableError as error:
            ended = await _canceled_before(agent, task_id, error)
        invocation.saw(ended)
        finish(invocation, ended)


async def _canceled_before(agent: Reached, task_id: str, refusal: TaskNotCancelableError) -> Task:
    found: Task | None = None
    with suppress(A2AError, TransportError):
        found = await get(agent, task_id)
    if found is None:
        raise refusal
    if found.state is not TaskState.CANCELED:
        raise TaskNotCancelableError(f"{refusal.message} (it is in {state_name(found.state)})") from refusal
    return found


async def follow(invocation: Invocation, task_id: str) -> None:
    """Follows the task until it is settled, over as many subscriptions as it takes, then by polls."""
    async with reached(invocation) as agent:
        if not agent.card.capabilities.streaming:
            raise UnsupportedOperationError("the agent's card does not declare streaming")
        for _ in range(_RESUMPTIONS):
            try:
                outcome = await play(invocation, agent.client.subscribe_to_task(SubscribeToTaskRequest(id=task_id)))
            except UnsupportedOperationError:
                if invocation.task_id is None:
                    raise
                break
            if outcome.settled:
                break
        if invocation.state is not None and invocation.state.settled and invocation.settings.stream:
            finish(invocation, None)
            return
        finish(invocation, await poll(invocation, agent, task_id, at_once=True), wrapped=invocation.settings.stream)
