"""`dragoman card`: what an agent says about itself, who has signed it, and what is wrong with it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.options import Command, Group, given_to, settings_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Literal

    from dragoman.cli.invocation import Invocation

__all__ = ["card"]

_COMMANDS = {
    "get": (f"{__name__}:_get", "Show the agent card."),
    "verify": (f"{__name__}:_verify", "Say what the signatures of a card show."),
    "sign": (f"{__name__}:_sign", "Sign a card."),
    "keys": (f"{__name__}:_keys", "Show the public keys that signatures are verified with."),
    "validate": (f"{__name__}:_validate", "Find what is wrong with a card."),
    "diff": (f"{__name__}:_diff", "Tell what has changed between two cards."),
}
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("card", cls=Group, commands_at=_COMMANDS)
def card() -> None:
    """Show what an agent says about itself, sign it, verify it, and find what is wrong with it."""


def _trusting(command: "Callable[..., None]") -> "Callable[..., None]":
    """Adds the options that say whose signatures count."""
    keys = click.option("--keys", multiple=True, type=_FILE, metavar="FILE", help="Public keys that count: a JWK Set.")
    jku = click.option("--jku", multiple=True, metavar="URL", help="Key sets of this https origin or URL count too.")
    return keys(jku(command))


def _perform(ctx: click.Context, work: "Callable[[Invocation], Awaitable[int | None]]") -> None:
    """Runs the work, whose result is the exit code of a run that did its job; None is 0."""
    from dragoman.cli.invocation import Invocation

    ended: list[int | None] = []

    async def noted(invocation: "Invocation") -> None:
        ended.append(await work(invocation))

    code = Invocation(settings_of(given_to(ctx))).execute(noted)
    ctx.exit(code or (ended[0] if ended else 0) or 0)


@click.command("get", cls=Command)
@_trusting
@click.option("--require-signature", is_flag=True, help="Fail unless the card is verified.")
@click.option("--validate", is_flag=True, help="Fail if something is wrong with the card.")
@click.pass_context
def _get(ctx: click.Context, /, **options: "Any") -> None:
    """Show the agent card: identity, capabilities, interfaces, security schemes, skills; and who has signed it."""
    from dragoman.cli.cards import show

    _perform(ctx, lambda invocation: show(invocation, **options))


@click.command("verify", cls=Command)
@_trusting
@click.option("--strict", is_flag=True, help="Only signatures over the form of the specification count.")
@click.pass_context
def _verify(ctx: click.Context, /, **options: "Any") -> None:
    """Say what the signatures of the card show: verified, unverifiable or absent.

    The exit code is 0 if one signature is that of a key that counts, else 1.
    """
    from dragoman.cli.cards import verify

    _perform(ctx, lambda invocation: verify(invocation, **options))


@click.command("sign", cls=Command)
@click.option("--key", required=True, type=_FILE, metavar="FILE", help="Private key (PEM or JWK), or a ring of them.")
@click.option("--jku", metavar="URL", help="Where the public keys are published; told in each signature.")
@click.option("--replace", is_flag=True, help="Leave out the signatures that the card has.")
@click.pass_context
def _sign(ctx: click.Context, key: Path, jku: str | None, replace: bool) -> None:
    """Write the card, signed with every key of the ring that is in use, to standard output."""
    from dragoman.cli.cards import sign

    _perform(ctx, lambda invocation: sign(invocation, key, jku, replace=replace))


@click.command("keys", cls=Command)
@click.option("--key", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="The ring.")
@click.option(
    "--new", type=click.Choice(["ES256", "EdDSA", "RS256"]), help="Make the file with one key if it is not there."
)
@click.pass_context
def _keys(ctx: click.Context, key: Path, new: "Literal['ES256', 'EdDSA', 'RS256'] | None") -> None:
    """Write the JWK Set of a ring's public keys to standard output."""
    from dragoman.cli.cards import keys

    _perform(ctx, lambda invocation: keys(invocation, key, new))


@click.command("validate", cls=Command)
@click.pass_context
def _validate(ctx: click.Context) -> None:
    """Find what is wrong with the card, each with its place as a JSON pointer.

    The exit code is 1 if a problem was found. Advice is no problem.
    """
    from dragoman.cli.cards import validate

    _perform(ctx, validate)


@click.command("diff", cls=Command)
@click.argument("old")
@click.argument("new")
@click.option("--breaking", is_flag=True, help="Only what may break callers of the old card.")
@click.pass_context
def _diff(ctx: click.Context, old: str, new: str, breaking: bool) -> None:
    """Tell what has changed from the card OLD to the card NEW, each named as with -a.

    The exit code is 0 if they say the same, and 1 if there are changes to tell.
    """
    from dragoman.cli.cards import diff

    _perform(ctx, lambda invocation: diff(invocation, old, new, breaking=breaking))
