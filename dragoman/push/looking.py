"""What is due in the store: looked for at the start and with time, and asked for of tasks that go on again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from dragoman.errors import StoreUnavailable
from dragoman.ports.push import Push, PushState
from dragoman.ports.store import Store
from dragoman.push.lines import Lines

__all__ = ["PAGE", "Looking"]

log = logging.getLogger("dragoman.push")

PAGE = 256
"""How many configurations one read brings."""
PAGES = 8
"""How many reads are made in a row."""
PAUSE = 0.05
"""Seconds between one look and the next, however much there is."""
MOST_ASKED = 1_000
"""How many tasks are asked for at once; of others it is found later that they go on."""
AT_A_TIME = 64
"""How many are asked for in a row."""
ROOM = 1_000
"""How many lines make room at once for those that are due, where there is none."""
IDLE = 300.0
"""Seconds for which a line is kept of whose task nothing is heard."""


class Looking:
    """Hands to `found` what is live and due in the store, page by page, again and again from the first to the last;
    `found` says whether there was room for it. When there was none, and `hungry` says that there is some again, the
    next look does not wait for its time.
    """

    def __init__(
        self,
        store: Store,
        lines: Lines,
        worker: Callable[[], str],
        dead_after: float,
        every: float,
        *,
        found: Callable[[Push], bool],
        hungry: Callable[[], bool],
    ) -> None:
        self._store = store
        self._lines = lines
        self._worker = worker
        self._dead_after = dead_after
        self._every = every
        self._found = found
        self._hungry = hungry
        self._place = 0
        self._asked: dict[str, None] = {}
        self._called = asyncio.Event()
        self.more = False
        """Whether there may be more in the store than was taken."""

    def ask(self, task_id: str) -> None:
        """Has the configurations of this task found: it goes on. While there is more in the store than was taken, what
        is behind is found there anyway.
        """
        if len(self._asked) < MOST_ASKED and not self.more:
            self._asked[task_id] = None
            self._called.set()

    def refill(self) -> None:
        """Has the next look made soon, if there is more, and room."""
        if self.more and self._hungry():
            self._called.set()

    async def live(self) -> None:
        """Looks until it is cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._every
        while True:
            try:
                async with asyncio.timeout_at(due):
                    await self._called.wait()
            except TimeoutError:
                self._let_idle_go(loop.time() - IDLE)
            self._called.clear()
            await self._borne(self._answer)
            if loop.time() >= due or (self.more and self._hungry()):
                due = loop.time() + self._every
                await self._borne(self.look)
            await asyncio.sleep(PAUSE)

    async def look(self) -> None:
        """Reads on from where the last look ended.

        Raises:
            StoreUnavailable: what was found until then was handed on.
        """
        self.more = False
        if self._lines.full:
            self._make_room()
        for _ in range(PAGES):
            self._lines.reading()
            page = await self._store.due_pushes(self._worker(), self._dead_after, after=self._place, limit=PAGE)
            self._place = page[-1].n if len(page) == PAGE else 0
            self._hand_on(page)
            if not self._place:
                return
        self.more = True

    async def _borne(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except StoreUnavailable as error:
            log.warning("the store does not say what is to be delivered: %s", error)
        except Exception:
            log.exception("a look for deliveries broke off")

    async def _answer(self) -> None:
        for _ in range(min(len(self._asked), AT_A_TIME)):
            # If it cannot be looked at now, it is found with all others.
            del self._asked[task_id := next(iter(self._asked))]
            stored = await self._store.locate(task_id)
            if stored is not None:
                self._lines.reading()
                page = await self._store.page_pushes(task_id, stored.scope, after=0, limit=PAGE)
                live = [push for push in page if push.state is PushState.LIVE]
                self._hand_on([push for push in live if await self._is_ours(push)])
        if self._asked:
            self._called.set()

    async def _is_ours(self, push: Push) -> bool:
        """Whether this worker has it, or nobody alive: two that deliver to it would do so out of order."""
        worker = self._worker()
        if push.worker == worker:
            return True
        due = await self._store.due_pushes(worker, self._dead_after, after=push.n - 1, limit=1)
        return bool(due) and due[0].n == push.n

    def _hand_on(self, page: "tuple[Push, ...] | list[Push]") -> None:
        for push in page:
            if not self._lines.has_left(push) and not self._found(push):
                self.more = True

    def _make_room(self) -> None:
        """Lets those go that nothing has happened to for longest: if something does, it is found in the store."""
        idle = sorted([line for line in self._lines if line.idle], key=lambda line: line.heard)
        for line in idle[:ROOM]:
            self._lines.remove(line)

    def _let_idle_go(self, before: float) -> None:
        for line in self._lines:
            if line.idle and line.heard < before:
                self._lines.remove(line)
