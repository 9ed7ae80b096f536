"""What is told of deliveries: each attempt, and how all of them stand."""

from typing import Literal

import msgspec

__all__ = ["Attempt", "OriginState", "Outcome", "PusherState"]

Outcome = Literal["delivered", "refused", "failed", "dead"]
"""Accepted; refused for good, so that the configuration goes on after it; to be tried again; given up."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt to deliver something to a webhook, as it ended. Nothing secret is in it."""

    origin: str
    """Scheme, host and port of the URL."""
    outcome: Outcome
    status: int | None
    """What the receiver answered, if it did."""
    trouble: str
    """What went wrong, in a few words; empty for a delivery."""
    seconds: float
    """From its beginning to its end."""
    attempts: int
    """Which attempt of this delivery it was, from 1."""
    age: float
    """Seconds for which the configuration has been behind, as far as this process knows."""


class OriginState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How deliveries to one origin stand in this process."""

    origin: str
    waiting: int
    """Configurations that could be delivered to now."""
    under_way: int
    failures: int
    """Attempts that have failed in a row."""
    closed_for: float
    """Seconds for which the origin is left alone; 0 if it is not."""


class PusherState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How deliveries stand in this process. The store may hold more that is due: memory is bounded."""

    known: int
    """Configurations in memory, caught up or not."""
    waiting: int
    under_way: int
    oldest: float
    """Seconds for which the configuration has been behind that has been so for longest, among those in memory."""
    origins: tuple[OriginState, ...]
