"""What messages and artifacts are made of (specification sections 4.1.4 to 4.1.9)."""

import enum
from collections.abc import Awaitable

import msgspec
import pybase64
from msgspec import UNSET, UnsetType

from dragoman.types.fetching import Fetched, fetcher_now
from dragoman.types.json import Json, JsonObject

__all__ = ["Artifact", "Message", "Part", "Role", "text_of"]


class Role(enum.Enum):
    """Who sent a message: the client (`USER`) or the agent (`AGENT`)."""

    USER = "user"
    AGENT = "agent"


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One piece of content: exactly one of `text`, `base64` (bytes), `url` or `data` is set.

    Bytes are kept as their base64 text, because most parts pass through without anybody looking inside;
    `raw` decodes on each access. `data` may be any JSON value, `None` included, so its absence is `UNSET`.
    """

    text: str | None = None
    base64: str | None = None
    url: str | None = None
    data: Json | UnsetType = UNSET
    metadata: JsonObject | None = None
    filename: str | None = None
    media_type: str | None = None

    @classmethod
    def from_bytes(cls, raw: bytes, *, media_type: str | None = None, filename: str | None = None) -> "Part":
        """A file part that carries `raw` inline."""
        return cls(base64=pybase64.b64encode(raw).decode(), media_type=media_type, filename=filename)

    @property
    def raw(self) -> bytes | None:
        """The bytes of an inline file, else None."""
        return None if self.base64 is None else pybase64.b64decode(self.base64)

    def fetch(self) -> Awaitable[Fetched]:
        """The bytes of the file: `await part.fetch()`, in a handler on the event loop. What is inline is there at once;
        what a URL names is fetched as the agent's `fetch` allows. In a thread it is `task.fetch(part)`, and for callers
        `client.fetch(part)`.

        Raises:
            FetchRefused: the URL may not be called.
            FetchFailed: it was called, and there is no such file, or none that is short enough.
            RuntimeError: nobody fetches here, or in another form.
            ValueError: the part is no file.
        """
        return fetcher_now().fetch(self)

    @property
    def plain_text(self) -> bool:
        """Whether this part is text and nothing else, so that neighbours of its kind may be joined."""
        return self.text is not None and self.metadata is None and self.filename is None and self.media_type is None


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One unit of communication between client and agent (section 4.1.4)."""

    message_id: str
    role: Role
    parts: tuple[Part, ...]
    context_id: str | None = None
    task_id: str | None = None
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined without a separator."""
        return text_of(self.parts)


class Artifact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An output of a task; `artifact_id` is unique within the task (section 4.1.7)."""

    artifact_id: str
    parts: tuple[Part, ...]
    name: str | None = None
    description: str | None = None
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined without a separator."""
        return text_of(self.parts)


def text_of(parts: tuple[Part, ...]) -> str:
    """The text of all text parts in order, joined without a separator."""
    return "".join(part.text for part in parts if part.text is not None)
