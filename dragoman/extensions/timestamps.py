"""When messages and artifacts were made, by the sample extension "timestamp" of the A2A project."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.extensions.contents import with_contents
from dragoman.extensions.extension import Emitted, ExtendedCall, Extension, Request
from dragoman.types.content import Artifact, Message
from dragoman.types.events import TaskArtifactUpdateEvent
from dragoman.types.json import Json
from dragoman.types.requests import SendMessageRequest

__all__ = ["Timestamps"]

_RFC_3339_UTC = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]00:00)", re.ASCII)


def _now() -> datetime:
    return datetime.now(UTC)


class Timestamps(Extension):
    """Messages and artifacts say when they were made, in their metadata: RFC 3339, in UTC.

    The agent stamps what it says in turns whose message came with the extension; what it says of itself, and chunks
    that continue an artifact, stand under the stamp that is there. A caller's messages are stamped by its client. Who
    has stamped something himself is believed; a caller whose stamp is no time is refused.

    Args:
        uri: `IN_USE` is what the project's code has, `DOCUMENTED` what its text has, which says that there is no other.
            The name in the metadata follows it. An agent may declare both.
        required: refuses callers who do not name it.
        now: the clock, in UTC.
    """

    IN_USE = "https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1"
    DOCUMENTED = "https://github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1"

    description = "Messages and artifacts say when they were made."

    def __init__(self, uri: str = IN_USE, *, required: bool = False, now: Callable[[], datetime] = _now) -> None:
        self.uri = uri
        self.required = required
        self.field = f"{uri.removeprefix('https://')}/timestamp"
        """The name of the stamp in the metadata."""
        self._now = now

    def of(self, content: Message | Artifact) -> datetime | None:
        """When it was made, to the microsecond, if it says so in a way that can be read."""
        return _read((content.metadata or {}).get(self.field))

    def on_request(self, request: Request, call: ExtendedCall) -> Request:
        del call
        if isinstance(request, SendMessageRequest):
            metadata = request.message.metadata or {}
            if self.field in metadata and _read(metadata[self.field]) is None:
                wrong = FieldViolation("message.metadata", f"{self.field} is no time of RFC 3339 in UTC")
                raise InvalidParamsError("The message has a timestamp that is none", violations=(wrong,))
        return request

    def on_emit(self, said: Emitted) -> Emitted:
        if isinstance(said, TaskArtifactUpdateEvent) and said.append:
            return said
        return with_contents(said, self._stamped)

    def on_send(self, request: Request, call: ExtendedCall) -> Request:
        del call
        return with_contents(request, self._stamped)

    def _stamped(self, content: Message | Artifact) -> Message | Artifact:
        metadata = content.metadata or {}
        if self.field in metadata:
            return content
        # With an offset instead of the Z, which older readers of ISO 8601 do not know.
        stamp = self._now().astimezone(UTC).isoformat(timespec="milliseconds")
        extensions = tuple(dict.fromkeys((*content.extensions, self.uri)))
        return msgspec.structs.replace(content, metadata={**metadata, self.field: stamp}, extensions=extensions)


def _read(stamp: Json) -> datetime | None:
    if not isinstance(stamp, str) or not _RFC_3339_UTC.fullmatch(stamp):
        return None
    try:
        return datetime.fromisoformat(stamp.upper()).astimezone(UTC)
    except ValueError:
        return None
