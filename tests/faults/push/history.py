"""What is recorded of a run with webhooks: what was registered, what arrived, and what the store holds in the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from dragoman.ports.push import PushState
from dragoman.types.push import TaskPushNotificationConfig
from tests.faults.history import Kept

__all__ = ["MADE", "Arrival", "Clock", "History", "Registration"]

MADE = "x-made-at"
"""The header in which an attempt says when it was made, in seconds since 1970 and parts of them."""


class Clock:
    """Numbers everything that happens, in its order."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def tick(self) -> int:
        return next(self._numbers)


@dataclass
class Arrival:
    """A notification that a receiver has read to its end."""

    order: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    accepted: int | None = None
    """When the receiver has begun to say 2xx, by the same clock as `order`."""

    @property
    def identity(self) -> str:
        return self.headers.get("webhook-id", "")

    @property
    def made(self) -> float:
        """When it was sent, by the clock of its sender; 0 if it does not say."""
        return float(self.headers.get(MADE, 0))

    @property
    def number(self) -> int:
        """The number of the event in the log of its task; -1 if there is none."""
        _, _, rest = self.identity.partition(":")
        number = rest.partition(":")[0]
        return int(number) if number.isdecimal() else -1


@dataclass
class Registration:
    """A configuration that was acknowledged. Its URL is its own, so that what arrives there is for it.

    The number of its first event is more than `after` and at most one more than `by`: the last number of the log before
    it was asked for, and after it was acknowledged.
    """

    config: TaskPushNotificationConfig
    """With its credentials."""
    dialect: str
    after: int = 0
    by: int = 0
    removed: bool = False
    """Whether somebody wants it away."""
    removed_at: float | None = None
    """When that was acknowledged, in seconds since 1970."""

    @property
    def place(self) -> tuple[str, str]:
        return self.config.task_id, self.config.id


@dataclass
class History:
    """Everything that the checker reads."""

    registrations: dict[str, Registration] = field(default_factory=dict[str, Registration])
    """By the path of the URL."""
    asked: set[str] = field(default_factory=set[str])
    """Paths that were named to the agent, whether it has acknowledged that or not."""
    arrivals: dict[str, list[Arrival]] = field(default_factory=dict[str, list[Arrival]])
    """By the path of the URL, in order."""
    strays: list[str] = field(default_factory=list[str])
    """What reached those whom nobody was to call."""
    rivals: bool = False
    """Whether several processes deliver, of which one that was paused may go on with what another has taken over."""
    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])
    """Tasks as the store holds them."""
    states: dict[tuple[str, str], PushState] = field(default_factory=dict[tuple[str, str], PushState])
    """Configurations as the store holds them, by task and id."""

    def arrived(self, path: str) -> list[Arrival]:
        return self.arrivals.get(path, [])

    @property
    def deliveries(self) -> int:
        """How often a receiver has said 2xx."""
        return sum(one.accepted is not None for some in self.arrivals.values() for one in some)

    @property
    def attempts(self) -> int:
        return sum(map(len, self.arrivals.values()))
