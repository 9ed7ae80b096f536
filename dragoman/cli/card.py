"""`dragoman card`: what an agent says about itself."""

from typing import TYPE_CHECKING

import click

from dragoman.cli.options import Command, Group

if TYPE_CHECKING:
    from dragoman.cli.invocation import Invocation

__all__ = ["card"]


@click.group("card", cls=Group, commands_at={"get": (f"{__name__}:_get", "Show the agent card.")})
def card() -> None:
    """Show what an agent says about itself."""


@click.command("get", cls=Command)
@click.pass_context
def _get(ctx: click.Context) -> None:
    """Show the agent card: identity, capabilities, interfaces, security schemes, skills."""
    from dragoman.cli.invocation import perform

    perform(ctx, _show)


async def _show(invocation: "Invocation") -> None:
    from dragoman.cli.reach import card_of
    from dragoman.cli.render import card_lines
    from dragoman.client.wire import encode

    found = await card_of(invocation)
    if invocation.settings.json:
        invocation.out.document(encode(found))
    else:
        invocation.out.lines(card_lines(found))
