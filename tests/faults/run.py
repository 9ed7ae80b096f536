"""A fault run: a served agent that is killed, paused and cut off, again and again, under callers that write down what
they are told; then what the store holds is checked against it.
"""

import asyncio
import re
import signal
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dragoman.client.channel import ChannelOptions
from dragoman.client.http import HttpChannel
from dragoman.client.transport import AiohttpTransport
from dragoman.dialects.every import every_dialect
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.types.card import AgentInterface
from dragoman.types.reliable import RELIABLE
from dragoman.types.task import TaskState
from scripts.programs import free_port
from tests.faults.agent import POINTS
from tests.faults.callers import Caller
from tests.faults.checker import Violation, violations
from tests.faults.history import History, Kept
from tests.faults.process import START_LIMIT, started
from tests.proxy import Proxy, proxied
from tests.simulation.agents import Remembered, expected, text_of

__all__ = ["FaultRun", "Report"]

CALLERS = 6
SETTLING = 90.0
"""Seconds, after the last fault, for all tasks to come to an end."""


@dataclass
class Report:
    """What happened, and what was wrong."""

    kills: int = 0
    at_points: int = 0
    """How many of the kills were at a named point of a commit."""
    pauses: int = 0
    cuts: int = 0
    tasks: int = 0
    taken_up: int = 0
    """Tasks that were running when their process died."""
    events: int = 0
    violations: list[Violation] = field(default_factory=list[Violation])


class FaultRun:
    """One run in a folder of its own, from a seed; of a broken `twin`, if it is given. Processes take the time that
    they take, so the seed is no promise of the same run.
    """

    def __init__(self, folder: Path, seed: int, until: Callable[[Report, float], bool], twin: str = "") -> None:
        self._twin = twin
        self._file = folder / "faults.db"
        self._log = folder / "server.log"
        self._random = Random(seed)
        self._until = until
        self._port = free_port()
        self._over = False
        self.report = Report()
        self.history = History()

    async def play(self) -> Report:
        """Faults until `until` says so of the report and the seconds, then rest, then the checker."""
        async with AsyncExitStack() as stack:
            proxy = await stack.enter_async_context(proxied("127.0.0.1", self._port))
            transport = AiohttpTransport(connect_timeout=2.0, idle_timeout=5.0)
            stack.push_async_callback(transport.aclose)
            callers = [self._caller(number, proxy, transport) for number in range(CALLERS)]
            living = [asyncio.ensure_future(caller.live()) for caller in callers]
            stack.callback(lambda: [one.cancel() for one in living])
            began = asyncio.get_running_loop().time()
            while not self._until(self.report, asyncio.get_running_loop().time() - began):
                await self._life(proxy)
                self.report.events = self.history.events
            self._over = True
            await self._rest(living)
            self.report.cuts = proxy.cuts
        await self._check()
        return self.report

    def _caller(self, number: int, proxy: Proxy, transport: AiohttpTransport) -> Caller:
        binding, path = (("JSONRPC", "/"), ("HTTP+JSON", ""))[number % 2]
        dialect = next(one for one in every_dialect() if (one.binding, one.version) == (binding, "1.0"))
        interface = AgentInterface(
            url=f"http://{proxy.address}{path}", protocol_binding=binding, protocol_version="1.0"
        )
        channel = HttpChannel(interface, dialect, transport, ChannelOptions(extensions=(RELIABLE,)))
        random = Random(self._random.random())
        return Caller(f"caller-{number}", channel, random, self.history, lambda: self._over)

    # The server's lives.

    async def _life(self, proxy: Proxy) -> None:
        """One process, from its start to its violent end."""
        random = self._random
        order = f"{random.choice(POINTS)}:{random.randint(1, 40)}" if random.random() < 0.5 else ""
        process = await self._start(order)
        for _ in range(random.randint(1, 3)):
            await asyncio.sleep(random.uniform(0.05, 0.6))
            await self._disturb(process, proxy)
        if process.returncode is None and order:
            self.report.at_points += 1
            try:
                await asyncio.wait_for(process.wait(), 1.5)
            except TimeoutError:
                self.report.at_points -= 1
        elif process.returncode is not None:
            self.report.at_points += 1
        if process.returncode is None:
            process.kill()
        await process.wait()
        self.report.kills += 1

    async def _disturb(self, process: asyncio.subprocess.Process, proxy: Proxy) -> None:
        match self._random.choice(("pause", "cut", "freeze", "nothing")):
            case "pause" if process.returncode is None:
                process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(self._random.uniform(0.05, 0.8))
                process.send_signal(signal.SIGCONT)
                self.report.pauses += 1
            case "cut":
                proxy.cut()
            case "freeze":
                proxy.freeze()
                await asyncio.sleep(self._random.uniform(0.05, 0.5))
                proxy.thaw()
            case _:
                """A quiet moment."""

    async def _start(self, order: str) -> asyncio.subprocess.Process:
        """A process that takes calls, unless it is told to die before."""
        environment = {"FAULTS_KILL": order, "FAULTS_TWIN": self._twin}
        return await started("tests/faults/agent.py:agent", self._port, self._file, self._log, environment)

    async def _rest(self, living: "Sequence[asyncio.Future[None]]") -> None:
        """The last process is left alone until all callers have seen the ends of their tasks."""
        process = await self._start("")
        ended, waiting = await asyncio.wait(living, timeout=2.0 if self._twin else SETTLING)
        wrong = self.report.violations
        wrong += [Violation("no end", "", f"a caller waits after {SETTLING} s of rest") for _ in waiting]
        wrong += [Violation("surprise", "", repr(error)) for one in ended if (error := one.exception()) is not None]
        process.terminate()
        async with asyncio.timeout(START_LIMIT):
            await process.wait()

    # The check.

    async def _check(self) -> None:
        rows = sqlite3.connect(self._file)
        try:
            assert rows.execute("pragma integrity_check").fetchone() == ("ok",)
            ids: list[tuple[int, str, int]] = rows.execute("select n, id, attempt from task").fetchall()
            epochs: dict[int, list[int]] = defaultdict(list)
            for n, first, last, epoch in rows.execute("select n, first, last, epoch from event order by n, last"):
                epochs[n] += [epoch] * (last - first + 1)
        finally:
            rows.close()
        store = SqliteStore(self._file, owner="Faults")
        await store.open()
        try:
            for n, task_id, attempt in ids:
                kept = await self._kept(store, task_id, tuple(epochs[n]))
                self.history.kept[task_id] = kept
                self.report.taken_up += attempt > 1 or _lost(kept)
                self.report.violations += await _wrong_result(store, kept)
        finally:
            await store.close()
        self.history.quiet = True
        self.report.tasks = len(ids)
        self.report.events = self.history.events
        self.report.violations += violations(self.history)

    async def _kept(self, store: SqliteStore, task_id: str, epochs: tuple[int, ...]) -> Kept:
        stored = await store.locate(task_id)
        assert stored is not None
        entries = await store.entries(task_id, stored.scope, 1, 1_000_000)
        waiting = tuple([posted.message for posted in await store.inbox(task_id)])
        return Kept(stored.task, entries, epochs, waiting)


def _lost(kept: Kept) -> bool:
    metadata = kept.entries[-1].event.metadata if kept.entries else None
    return (metadata or {}).get("reason") == "worker-lost"


async def _wrong_result(store: SqliteStore, kept: Kept) -> list[Violation]:
    """Whether a task was completed with something else than was asked for."""
    task = kept.task
    if task.state is not TaskState.COMPLETED:
        return []
    turns: dict[int, Remembered] = defaultdict(Remembered)
    for turn in range(1, len(task.history) + 1):
        for memo in await store.memos(task.id, turn):
            turns[turn].add(memo)
    wanted = expected(task.history, turns)
    text = text_of(task)
    return [] if re.fullmatch(wanted, text) else [Violation("right result", task.id, f"{text!r} is not {wanted!r}")]
