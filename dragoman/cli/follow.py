"""Following a task to where it settles: over a stream where the agent has one, and by polls otherwise."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import Reached
from dragoman.cli.render import Label, event_lines, field, message_lines, state_name, task_lines
from dragoman.cli.waiting import until_settled
from dragoman.client.wire import encode, encode_event
from dragoman.errors import TransportError
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.reliable import unnumbered
from dragoman.types.requests import GetTaskRequest
from dragoman.types.task import Task

__all__ = ["Outcome", "finish", "get", "play", "poll"]


class Outcome(NamedTuple):
    """Where a stream got to: whether the task is settled, and the object that says it all, if one came last."""

    settled: bool
    snapshot: Task | Message | None = None


async def get(agent: Reached, task_id: str, history: int | None = None) -> Task:
    """The task as it is now."""
    return await agent.client.get_task(GetTaskRequest(id=task_id, history_length=history))


async def poll(
    invocation: Invocation,
    agent: Reached,
    task_id: str,
    history: int | None = None,
    *,
    at_once: bool = False,
) -> Task:
    """The task once it is settled, by polls, of which the first is `at_once` or after the interval."""

    def seen(task: Task) -> None:
        invocation.saw(task)
        invocation.out.debug(f"poll: {state_name(task.state)}")

    if at_once:
        task = await get(agent, task_id, history)
        seen(task)
        if task.state.settled:
            return task
    return await until_settled(lambda: get(agent, task_id, history), invocation.settings.poll_interval, seen)


async def play(invocation: Invocation, events: AsyncGenerator[StreamEvent, None]) -> Outcome:
    """Takes the events as they come and shows them where they are to be shown live.

    Stops at a Message or a question; what comes after an end is the whole task, if anything. A stream that breaks or
    ends early is no failure as long as the task is known, since other ways can go on from there.

    Raises:
        A2AError: the agent ended the stream with an error.
        TransportError: the stream broke before the first event.
    """
    outcome = Outcome(settled=False)
    try:
        async with aclosing(events):
            async for event in events:
                outcome = _taken(invocation, unnumbered(event))
                if outcome.settled and not (invocation.state is not None and invocation.state.terminal):
                    break
    except TransportError as error:
        if invocation.task_id is None:
            raise
        invocation.out.debug(f"the stream broke: {error}")
    if not outcome.settled and invocation.task_id is None:
        raise TransportError("the stream ended before it said anything")
    return outcome


def _taken(invocation: Invocation, event: StreamEvent) -> Outcome:
    unknown = invocation.task_id is None
    invocation.saw(event)
    if invocation.settings.stream:
        _show_live(invocation, event)
    if isinstance(event, Message):
        return Outcome(settled=True, snapshot=event)
    assert invocation.task_id is not None
    if invocation.state is not None and invocation.state.settled:
        return Outcome(settled=True, snapshot=event if isinstance(event, Task) else None)
    if unknown and not invocation.settings.stream:
        invocation.early(invocation.task_id, invocation.context_id or "")
    return Outcome(settled=False)


def _show_live(invocation: Invocation, event: StreamEvent) -> None:
    if invocation.settings.json:
        invocation.out.document(encode_event(event))
    else:
        invocation.out.lines(event_lines(event, verbose=invocation.settings.verbose))


def finish(
    invocation: Invocation,
    outcome: Task | Message | None,
    *,
    wrapped: bool = False,
    history: bool = False,
) -> None:
    """Shows how it ended, and how to go on. Without an outcome the events have told it all but the ids again.

    `wrapped` puts a JSON object under its kind, as the answer to a message is.
    """
    if invocation.settings.json:
        if outcome is not None:
            invocation.out.document(encode_event(outcome) if wrapped else encode(outcome))
    elif isinstance(outcome, Task):
        invocation.out.lines(task_lines(outcome, verbose=invocation.settings.verbose, history=history))
    elif isinstance(outcome, Message):
        invocation.out.lines(message_lines(outcome, verbose=invocation.settings.verbose))
    else:
        _show_ids(invocation)
    invocation.closing()


def _show_ids(invocation: Invocation) -> None:
    if invocation.task_id is None or invocation.state is None:
        return
    invocation.out.lines(
        [
            field(Label.TASK_ID, invocation.task_id),
            *([field(Label.CONTEXT_ID, invocation.context_id)] if invocation.context_id else []),
            field(Label.STATE, state_name(invocation.state)),
        ]
    )
