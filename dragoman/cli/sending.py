"""The work of `dragoman send`."""

import uuid

from dragoman.cli.follow import finish, play, poll
from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import Reached, reached
from dragoman.types.content import Message, Part, Role
from dragoman.types.requests import SendMessageConfiguration, SendMessageRequest
from dragoman.types.task import Task

__all__ = ["deliver"]


async def deliver(invocation: Invocation, parts: tuple[Part, ...]) -> None:
    """Sends the parts as one message and shows the outcome, after as much waiting as the options ask for."""
    settings = invocation.settings
    message = Message(
        message_id=str(uuid.uuid4()),
        role=Role.USER,
        parts=parts,
        context_id=settings.context_id,
        task_id=settings.task_id,
    )
    request = SendMessageRequest(
        message=message,
        configuration=SendMessageConfiguration(return_immediately=True),
        metadata=settings.metadata,
    )
    async with reached(invocation) as agent:
        if settings.detached:
            answer = await agent.client.send_message(request)
            invocation.saw(answer)
            finish(invocation, answer, wrapped=True)
        elif agent.card.capabilities.streaming:
            await _over_stream(invocation, agent, request)
        else:
            await _over_polls(invocation, agent, request)


async def _over_stream(invocation: Invocation, agent: Reached, request: SendMessageRequest) -> None:
    """A stream serves the wait, and after cuts what makes up for it."""
    events = agent.client.stream(request.message, request_metadata=request.metadata or {})
    outcome = await play(invocation, events)
    if outcome.settled and invocation.settings.stream:
        finish(invocation, None, wrapped=True)
    elif outcome.snapshot is not None:
        finish(invocation, outcome.snapshot, wrapped=True)
    else:
        assert invocation.task_id is not None
        finish(invocation, await poll(invocation, agent, invocation.task_id, at_once=outcome.settled), wrapped=True)


async def _over_polls(invocation: Invocation, agent: Reached, request: SendMessageRequest) -> None:
    answer = await agent.client.send_message(request)
    invocation.saw(answer)
    if isinstance(answer, Task) and not answer.state.settled:
        invocation.early(answer.id, answer.context_id)
        answer = await poll(invocation, agent, answer.id)
    finish(invocation, answer, wrapped=True)
