"""How an agent pushes, as its author says it."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.push.attempt import Attempt

if TYPE_CHECKING:
    from dragoman.push.signer import WebhookSigner

__all__ = ["PushEvent", "PushOptions", "Retry"]

PushEvent = Literal["task", "message", "status", "artifact"]

_HIGHEST_PORT = 65_535


def _positive(name: str, seconds: float) -> None:
    if not 0 < seconds < math.inf:
        raise ConfigurationError(f"push: {name} must be more than 0 seconds")


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """When a delivery that has failed is tried again; seconds.

    The first wait is anything between 0 and `first`, each later one between 0 and twice what was the most before, up to
    `most`. A configuration that fails for `budget` is dead.
    """

    first: float = 1.0
    most: float = 600.0
    budget: float = 86_400.0

    def __post_init__(self) -> None:
        for name in ("first", "most", "budget"):
            _positive(f"retry.{name}", getattr(self, name))


class PushOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How webhooks are called; times in seconds.

    `repr` shows no secrets.
    """

    allow: Sequence[str] = ()
    """What may be called although it is private, or http, or on another port: hosts, `host:port`, addresses, and ranges
    as `10.0.0.0/8`; `http://host:port` opens plain http to it. Each opens what it names, and nothing else.
    """
    insecure: bool = False
    """For development: everything may be called, and a warning is logged."""
    ports: Sequence[int] = (443, 8443)
    """The ports that may be called without being named in `allow`."""
    events: Sequence[PushEvent] = ("task", "message", "status", "artifact")
    """What is delivered."""
    retry: Retry = Retry()
    timeout: float = 15.0
    """For one attempt, from resolving the name to the end of the answer."""
    per_host: int = 8
    """How many deliveries go to one origin at once."""
    in_flight: int = 64
    """How many deliveries are under way at once, besides up to eight times as many that take longer than a second."""
    breaker: int = 5
    """After so many failures in a row an origin is left alone for a while, but for one attempt now and then."""
    key: str | None = None
    """The secret that configurations are encrypted with in the store. Default: a key that is made once and kept in a
    file of its own beside the store's; for a store in memory, as long as the process.
    """
    signing: "WebhookSigner | None" = None
    """Signs each delivery."""
    on_attempt: Callable[[Attempt], None] | None = None
    """Told of each attempt, after it; must be quick. What it raises is logged."""
    max_per_task: int = 16
    """How many configurations a task may have."""

    def __post_init__(self) -> None:
        _positive("timeout", self.timeout)
        for name in ("per_host", "in_flight", "breaker", "max_per_task"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"push: {name} must be 1 or more")
        if wrong := [port for port in self.ports if not 1 <= port <= _HIGHEST_PORT]:
            raise ConfigurationError(f"push: there is no port {wrong[0]}")
        if wrong_events := [event for event in self.events if event not in get_args(PushEvent)]:
            known = ", ".join(get_args(PushEvent))
            raise ConfigurationError(f"push: events are among {known}, not {wrong_events[0]!r}")
        if self.key is not None and not self.key:
            raise ConfigurationError("push: the key is empty; leave it out to have one made")

    def __repr__(self) -> str:
        return f"PushOptions(allow={self.allow!r}, insecure={self.insecure!r}, ports={self.ports!r}, ...)"
