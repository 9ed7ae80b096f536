"""Who reads the events of one task beside the handler."""

from dragoman.client.receiver.feed import Feed
from dragoman.client.receiver.limits import ReceiverLimits
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent
from dragoman.types.task import TaskState

__all__ = ["Readers", "state_in"]


def state_in(event: StreamEvent) -> TaskState:
    """The state that the event tells of; UNSPECIFIED if of none."""
    return TaskState.UNSPECIFIED if isinstance(event, Message | TaskArtifactUpdateEvent) else event.status.state


class Readers:
    """The feeds of one task. With `keep`, events wait for the first reader from now on."""

    def __init__(self, limits: ReceiverLimits, *, keep: bool) -> None:
        self._limits = limits
        self._feeds: list[Feed] = []
        self._spare: Feed | None = self.open() if keep else None
        self.state = TaskState.UNSPECIFIED
        """What was last heard of the task's state."""

    def put(self, event: StreamEvent, size: int, seq: int | None) -> None:
        heard = state_in(event)
        if heard is not TaskState.UNSPECIFIED:
            self.state = heard
        for feed in self._feeds:
            feed.put(event, size, seq)

    @property
    def nothing_left(self) -> bool:
        """Whether a reader that begins now would wait for ever."""
        return self.state.terminal and self._spare is None

    def begin(self) -> Feed:
        """A feed for a reader: what waits for one, if anything does, and what comes."""
        feed, self._spare = self._spare, None
        return feed or self.open()

    def give_up(self) -> None:
        """Nobody is waited for any more who would begin to read."""
        if self._spare is not None:
            self.end(self._spare)
            self._spare = None

    def open(self) -> Feed:
        """A feed of what comes."""
        feed = Feed(self._limits.kept_events, self._limits.kept_bytes)
        self._feeds.append(feed)
        return feed

    def end(self, feed: Feed) -> None:
        self._feeds.remove(feed)
