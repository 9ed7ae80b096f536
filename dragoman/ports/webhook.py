"""How a webhook is called. What may be called at all is decided here, at every call anew."""

from typing import Protocol

import msgspec

from dragoman.errors import DragomanError

__all__ = ["AddressRefused", "Answer", "Undelivered", "WebhookClient"]


class AddressRefused(DragomanError):
    """The URL may not be called: its form, its port, or an address that its name stands for. The message says which,
    without secrets.
    """


class Undelivered(DragomanError):
    """Nothing, or not enough, came back: no connection, a reset, a time-out, an answer that is none. A few words."""


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What the receiver said. `retry_after` is how many seconds it asks to wait, if it does."""

    status: int
    retry_after: float | None = None


class WebhookClient(Protocol):
    """Calls webhooks, each within a bounded time. Follows no redirect."""

    async def check(self, url: str) -> None:
        """Looks at a URL as a call would, name resolution included, and connects to nothing.

        Raises:
            AddressRefused: it may not be called.
            Undelivered: its name cannot be resolved now.
        """
        ...

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        """Posts to exactly the address that was checked. The body of the answer is read up to a limit, and dropped.

        Raises:
            AddressRefused: nothing was connected to.
            Undelivered: the receiver may or may not have it.
        """
        ...

    async def close(self) -> None:
        """Ends all connections. May be called again; a later `post` opens new ones."""
        ...
