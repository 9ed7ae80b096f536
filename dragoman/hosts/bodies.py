"""Bodies that are on their way: how much of them is held, before anybody knows from whom they are."""

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.errors import LimitExceededError
from dragoman.hosts.connections import network_of
from dragoman.ports.auth import Peer

__all__ = ["FREE", "Bodies", "Held"]

FREE = 16 * 1024
"""Bytes of each body that are not counted: whatever others send, short messages come through."""
OF_AN_ADDRESS, IN_ALL = 8, 32
"""How many bodies of the longest that is taken may be held at once."""
SOON = 1.0
"""Seconds after which there may be room again."""


class Bodies:
    """Counts the bytes of bodies that have not come to their end. This machine counts in all alone.

    `limit` is the length of the longest body that is taken; `caller` says from where a request comes.
    """

    def __init__(self, limit: int, caller: Callable[[Mapping[str, Any], Mapping[str, str]], Peer]) -> None:
        self._most = limit * IN_ALL
        self._most_of_an_address = limit * OF_AN_ADDRESS
        self._caller = caller
        self._held = 0
        self._networks: dict[str, int] = {}

    def begin(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> "Held":
        """For a body that does not come in one piece; to be left at its end, whatever that is."""
        return Held(self, network_of(self._caller(scope, headers).address))

    def take(self, network: str, size: int) -> None:
        """
        Raises:
            LimitExceededError: there is no room; nothing is taken.
        """
        own = self._networks.get(network, 0) + size
        if self._held + size > self._most or (network and own > self._most_of_an_address):
            error = LimitExceededError("Too much is being sent at once", details={"limit": "bodies"})
            error.retry_after = SOON
            raise error
        self._held += size
        self._networks[network] = own

    def give_back(self, network: str, size: int) -> None:
        """What was taken is not held any more."""
        if size:
            self._held -= size
            left = self._networks.pop(network) - size
            if left:
                self._networks[network] = left


class Held:
    """What is held of one body."""

    __slots__ = ("_bodies", "_counted", "_network", "_size")

    def __init__(self, bodies: Bodies, network: str) -> None:
        self._bodies = bodies
        self._network = network
        self._size = self._counted = 0

    def grow(self, size: int) -> None:
        """So much more has come. Raises as `Bodies.take`."""
        self._size += size
        more = max(0, self._size - FREE) - self._counted
        if more:
            self._bodies.take(self._network, more)
            self._counted += more

    def leave(self) -> None:
        self._bodies.give_back(self._network, self._counted)
        self._counted = 0
