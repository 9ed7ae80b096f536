"""From names to addresses that may be called. Nothing is remembered: each connection asks anew."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from dragoman.outbound.policy import Policy
from dragoman.outbound.url import Target
from dragoman.ports.webhook import Undelivered
from dragoman.threads import LooseThreads

__all__ = ["Resolve", "Resolver"]

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses that a name stands for, as text; OSError if it stands for none, or nobody knows now."""

MOST_TRIED = 4
"""Addresses of one name that a connection is tried to; whoever owns the name could name hundreds of other people's."""


class Resolver:
    """Resolves up to `most` names at a time; further ones wait. Without `resolve`, by the system, in threads."""

    def __init__(self, policy: Policy, resolve: Resolve | None, most: int) -> None:
        self._policy = policy
        self._resolve = resolve
        self._slots = asyncio.Semaphore(most)
        self._most = most
        # Not the loop's own: a lookup may hang for longer than the attempt that wanted it.
        self._threads: LooseThreads | None = None

    async def addresses(self, target: Target) -> tuple[str, ...]:
        """Addresses of the target's name in their plain form, to connect to exactly these; never none.

        Raises:
            AddressRefused: one of all that the name stands for may not be called.
            Undelivered: it stands for none.
        """
        async with self._slots:
            try:
                found = await (self._system(target) if self._resolve is None else self._resolve(target.host))
            except (OSError, UnicodeError):
                found = ()
        if not found:
            raise Undelivered(f"{target.host} stands for no address now")
        return tuple(dict.fromkeys(self._policy.admit(target, found)))[:MOST_TRIED]

    def close(self) -> None:
        """Lets go of the threads, once the look-ups under way have ended; a later one makes new ones."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()

    async def _system(self, target: Target) -> list[str]:
        # With the dot at its end a name is complete: the system appends no domain of its own to it, but does not find
        # it in its list of hosts either. So names that the owner has opened are looked up as they are.
        name = target.host if self._policy.is_named(target) else f"{target.host}."
        look = partial(socket.getaddrinfo, name, None, type=socket.SOCK_STREAM)
        if self._threads is None:
            self._threads = LooseThreads(self._most, "dragoman-names")
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look)
        return [str(where[0]) for *_, where in found]
