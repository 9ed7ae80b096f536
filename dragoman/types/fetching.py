"""How a part that names a file is asked for it: the asking stands here, who fetches is said by those who may."""

from collections.abc import Awaitable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from dragoman.types.content import Part

__all__ = ["Fetched", "Fetcher", "fetcher_now", "fetching"]


class Fetched(bytes):
    """The bytes of a file. `media_type` is what whoever gave them says of them, else what the part says, or None."""

    media_type: str | None

    def __new__(cls, content: bytes, media_type: str | None = None) -> Self:
        made = super().__new__(cls, content)
        made.media_type = media_type
        return made


class Fetcher(Protocol):
    """Gets files, from where and as far as its owner allows."""

    def fetch(self, part: "Part") -> Awaitable[Fetched]:
        """The file that the part carries, or that its URL names."""
        ...


fetching: ContextVar[Fetcher | None] = ContextVar("dragoman_fetching", default=None)
"""Who fetches for the code that runs: set around each handler."""


def fetcher_now() -> Fetcher:
    """Who fetches for this code.

    Raises:
        RuntimeError: nobody does: it is no part of a handler.
    """
    fetcher = fetching.get()
    if fetcher is None:
        raise RuntimeError("only a handler can ask a part for its file; callers say client.fetch(part)")
    return fetcher
