"""`dragoman send`: one message, then as much waiting as is asked for."""

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import click

from dragoman.cli.follow import finish, play, poll
from dragoman.cli.invocation import Invocation, perform
from dragoman.cli.options import Command
from dragoman.cli.parts import parts_from, placed
from dragoman.cli.reach import Reached, reached
from dragoman.types.content import Message, Part, Role
from dragoman.types.requests import SendMessageConfiguration, SendMessageRequest
from dragoman.types.task import Task

__all__ = ["send"]

F = TypeVar("F", bound=Callable[..., Any])


class _SendCommand(Command):
    """Keeps the order of part options across their kinds."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, placed(args))


def _part_option(name: str, metavar: str, help_text: str) -> Callable[[F], F]:
    return click.option(name, multiple=True, type=click.UNPROCESSED, metavar=metavar, help=help_text)


@click.command("send", cls=_SendCommand)
@click.argument("message", required=False, type=click.UNPROCESSED, metavar="[TEXT]")
@_part_option("--text", "TEXT", "A text part.")
@_part_option("--file", "PATH|URL", "A file part: the bytes of a path, or a URL that is passed on and not fetched.")
@_part_option("--data", "PATH|-", "A data part: a JSON file, or - for standard input.")
@_part_option("--media-type", "TYPE", "Media type of the part right before it; otherwise inferred for files and data.")
@click.pass_context
def send(ctx: click.Context, /, message: Any, **words: Any) -> None:
    """Send a message and wait for the outcome.

    Part options can be repeated and keep their order. The message starts a new task unless --task-id names one.
    """
    parts = parts_from({"message": () if message is None else (message,), **words})
    perform(ctx, lambda invocation: _send(invocation, parts))


async def _send(invocation: Invocation, parts: tuple[Part, ...]) -> None:
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
    """A stream serves the wait; where it ends early, polls go on."""
    streamed = SendMessageRequest(message=request.message, metadata=request.metadata)
    outcome = await play(invocation, agent.client.send_streaming_message(streamed))
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
