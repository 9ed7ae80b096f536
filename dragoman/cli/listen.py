"""The work of `dragoman task push-config listen`."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from dragoman.cli.follow import finish, get
from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import reached
from dragoman.cli.render import Label, event_lines, field
from dragoman.client.receiver import Receiver
from dragoman.client.wire import encode_event
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.task import Task

__all__ = ["listen_to", "listen_to_any"]

_EVERYWHERE = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 -- what is told from addresses that others can call
_TOKEN_BYTES = 32

Address = tuple[str, int]


async def listen_to(invocation: Invocation, task_id: str, bind: Address, public_url: str | None) -> None:
    """Has the agent push the task here, and shows its events until it has ended."""
    invocation.named = task_id
    ended = asyncio.Event()

    async def show(event: StreamEvent) -> None:
        _show(invocation, event, named=True)
        invocation.saw(event)
        if invocation.state is not None and invocation.state.terminal:
            ended.set()

    async with reached(invocation) as agent:
        receiver = agent.client.receiver(public_url, show)
        async with receiver, _listening(receiver, bind, public_url):
            await receiver.watch(task_id)
            invocation.out.note(f"{Label.URL}: {receiver.url}")
            # What came before is not pushed, the end of a task included.
            task = await get(agent, task_id)
            if not ended.is_set():
                await show(task)
            await ended.wait()
    finish(invocation, None)


async def listen_to_any(invocation: Invocation, bind: Address, public_url: str | None) -> None:
    """Shows what anybody pushes who knows the token, for as long as it takes."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)

    async def show(event: StreamEvent) -> None:
        _show(invocation, event, named=False)

    receiver = Receiver(None, public_url, show, token=token, any_task=True)
    async with receiver, _listening(receiver, bind, public_url):
        lines = [field(Label.URL, receiver.url), field(Label.TOKEN, token)]
        if invocation.out.json:
            for line in lines:
                invocation.out.note(line)
        else:
            invocation.out.lines(lines)
        await asyncio.Event().wait()


@asynccontextmanager
async def _listening(receiver: Receiver, bind: Address, public_url: str | None) -> AsyncGenerator[None, None]:
    host, port = bind
    if host in _EVERYWHERE and public_url is None:
        raise click.UsageError("--bind: agents cannot call every address; say with --public-url which they call")
    serving = receiver.serve(host, port)
    try:
        await serving.__aenter__()
    except OSError as error:
        raise click.UsageError(f"--bind: {host}:{port} cannot be listened on: {error.strerror or error}") from error
    try:
        yield
    finally:
        await serving.__aexit__(None, None, None)


def _show(invocation: Invocation, event: StreamEvent, *, named: bool) -> None:
    """One event; an update of one task among several begins with which it is."""
    out = invocation.out
    if out.json:
        out.stream = True
        out.document(encode_event(event))
        return
    whose = [] if named or isinstance(event, Task | Message) else [field(Label.TASK_ID, event.task_id)]
    out.lines([*whose, *event_lines(event, verbose=out.verbose)])
