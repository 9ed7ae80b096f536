"""What has been kept long enough goes: logs of tasks that have ended, tasks, and ids of messages."""

import asyncio

from dragoman.engine.world import World

__all__ = ["Tidying"]

AT_A_TIME = 100
"""How many tasks one change of the store removes: others write in between."""
CHANGES = 20
"""How many changes are made in a row; what is left has time until the next beat."""
SPELL = 1.0
"""Seconds after which no further change is begun: the worker has to beat."""
PAUSE = 300.0
"""Seconds from one round to the next, unless something is kept for a shorter time."""


class Tidying:
    """Looks now and then whether something is to go."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._due = 0.0
        """By the clock of the event loop."""

    async def work(self) -> None:
        """Does what is due, if something can be; called with every beat.

        Raises:
            StoreUnavailable: the rest is done another time.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now < self._due:
            return
        self._due = now + self._pause
        keeping = self._world.keeping
        prune = self._world.store.prune
        for _ in range(CHANGES):
            if loop.time() >= now + SPELL:
                break
            if not await prune(logs_after=keeping.logs, tasks_after=keeping.tasks, limit=AT_A_TIME):
                return
        self._due = now

    @property
    def _pause(self) -> float:
        keeping = self._world.keeping
        shortest = min(time for time in (keeping.keys, keeping.logs, keeping.tasks, PAUSE) if time is not None)
        return shortest / 4
