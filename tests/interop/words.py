"""What a caller says and sees, in nobody's types: each client translates its own. Needs the standard library alone."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Caller", "Event", "Page", "Part", "Say", "Seen", "Webhook", "text_of"]

Part = dict[str, Any]
"""One of `text`, `raw` (base64), `url` and `data`; beside it `type` and `name`, if the part has them."""


@dataclass(frozen=True)
class Seen:
    """A task, or (without an id) a message that is the whole answer, as its caller sees it."""

    id: str
    context: str
    state: str
    note: str = ""
    """The text of the status message."""
    artifacts: dict[str, list[Part]] = field(default_factory=dict[str, list[Part]])
    history: list[str] = field(default_factory=list[str])

    @property
    def parts(self) -> list[Part]:
        return [part for parts in self.artifacts.values() for part in parts]

    @property
    def text(self) -> str:
        return text_of(self.parts)


@dataclass(frozen=True)
class Event:
    """What a stream brings: `kind` is task, message, status or artifact."""

    kind: str
    seen: Seen | None = None
    state: str = ""
    artifact: str = ""
    parts: list[Part] = field(default_factory=list[Part])
    append: bool = False


@dataclass(frozen=True)
class Webhook:
    """A configuration of push notifications; empty is what is not said."""

    task: str
    id: str = ""
    url: str = ""
    token: str = ""
    scheme: str = ""
    credentials: str = ""


@dataclass(frozen=True)
class Say:
    """What the caller says: a new task in a context or in none, or a word more to `task`.

    A webhook that comes with it names no task.
    """

    text: str
    parts: tuple[Part, ...] = ()
    task: Seen | None = None
    context: str = ""
    tenant: str = ""
    metadata: dict[str, Any] | None = None
    webhook: Webhook | None = None


@dataclass(frozen=True)
class Page:
    ids: list[str]
    total: int
    token: str


class Caller(Protocol):
    """An official SDK's client, or ours, of one agent over one binding."""

    async def send(self, say: Say, *, wait: bool = True) -> Seen: ...
    def stream(self, say: Say) -> AsyncGenerator[Event, None]: ...
    async def get(self, task_id: str, *, history: int | None = None, tenant: str = "") -> Seen: ...
    async def page(self, context: str, size: int, token: str) -> Page: ...
    async def cancel(self, task_id: str) -> Seen: ...
    def subscribe(self, task_id: str) -> AsyncGenerator[Event, None]: ...
    async def extended_card(self) -> str: ...
    async def push(self, verb: str, webhook: Webhook) -> list[Webhook]:
        """What the operation of this verb (create, get, list, delete) on configurations gives."""
        ...

    async def read(self, body: dict[str, Any]) -> Event:
        """What was posted to a webhook, as the SDK's own types read it."""
        ...

    def name_of(self, error: Exception) -> str | None:
        """The specification's name of the error that the agent answered; None if this is no such error."""
        ...


def text_of(parts: list[Part]) -> str:
    return "".join(part.get("text", "") for part in parts)
