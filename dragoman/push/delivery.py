"""What goes to a webhook, and who makes it."""

from datetime import datetime
from typing import Protocol

from dragoman.errors import DragomanError
from dragoman.ports.push import Push
from dragoman.types.events import StreamEvent

__all__ = ["Delivery", "PreparePush", "Undeliverable"]


class Undeliverable(DragomanError):
    """Nothing can ever be delivered to this configuration: it cannot be read. The message says why, without secrets."""


class Delivery:
    """A request that is ready to be sent; its `repr` shows nothing of it."""

    __slots__ = ("body", "headers", "url")

    def __init__(self, url: str, headers: dict[str, str], body: bytes) -> None:
        self.url = url
        self.headers = headers
        self.body = body


class PreparePush(Protocol):
    """Makes requests in the dialect of a configuration."""

    def whole(self, dialect: str) -> bool:
        """Whether what is posted in this dialect is always the task as it is, and never a single event."""
        ...

    def request(self, push: Push, event: StreamEvent, seq: int, at: datetime) -> Delivery:
        """The delivery of this event, which has this number in the log of its task (0: a direct answer), at this time.

        Raises:
            Undeliverable: the configuration cannot be read any more.
        """
        ...
