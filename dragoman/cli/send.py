"""`dragoman send`: one message, then as much waiting as is asked for."""

from collections.abc import Callable, Iterable
from typing import Any, Self, SupportsIndex, TypeVar

import click

from dragoman.cli.options import Command

__all__ = ["Placed", "placed", "send"]

F = TypeVar("F", bound=Callable[..., Any])


class Placed(str):
    """A word of the command line that knows its place, so that options of several kinds keep their order.

    It survives being split at the `=` of `--text=hello`.
    """

    __slots__ = ("place",)
    place: int

    def __new__(cls, word: str, place: int) -> Self:
        made = super().__new__(cls, word)
        made.place = place
        return made

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return [Placed(piece, self.place) for piece in super().split(sep, maxsplit)]


def placed(argv: Iterable[str]) -> list[str]:
    """The same words, each knowing its place."""
    return [Placed(word, place) for place, word in enumerate(argv)]


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
    from dragoman.cli.parts import parts_from

    # What cannot be sent is refused before the client is loaded.
    parts = parts_from({"message": () if message is None else (message,), **words})

    from dragoman.cli.invocation import perform
    from dragoman.cli.sending import deliver

    perform(ctx, lambda invocation: deliver(invocation, parts))
