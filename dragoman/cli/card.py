"""`dragoman card`: what an agent says about itself."""

import click

from dragoman.cli.invocation import Invocation, perform
from dragoman.cli.options import Command, Group
from dragoman.cli.reach import card_of
from dragoman.cli.render import card_lines
from dragoman.client.wire import encode

__all__ = ["card"]


@click.group("card", cls=Group, commands_at={"get": (f"{__name__}:_get", "Show the agent card.")})
def card() -> None:
    """Show what an agent says about itself."""


@click.command("get", cls=Command)
@click.pass_context
def _get(ctx: click.Context) -> None:
    """Show the agent card: identity, capabilities, interfaces, security schemes, skills."""

    async def work(invocation: Invocation) -> None:
        found = await card_of(invocation)
        if invocation.settings.json:
            invocation.out.document(encode(found))
        else:
            invocation.out.lines(card_lines(found))

    perform(ctx, work)
