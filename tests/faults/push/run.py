"""A fault run of webhooks: a served agent that is killed again and again while it delivers to receivers with vices;
then what has arrived is checked against what the store holds.
"""

import asyncio
import signal
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dragoman.client.channel import ChannelOptions
from dragoman.client.http import HttpChannel
from dragoman.client.transport import AiohttpTransport
from dragoman.dialects.every import every_dialect
from dragoman.ports.push import PushState
from dragoman.stores.sqlite.schema import connect_beside
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.types.card import AgentInterface
from dragoman.types.reliable import RELIABLE
from scripts.programs import free_port
from tests.faults.checker import Violation
from tests.faults.history import Kept
from tests.faults.process import START_LIMIT, started
from tests.faults.push.agent import POINTS
from tests.faults.push.callers import Calls, Place, Subscriber
from tests.faults.push.checker import covered, violations
from tests.faults.push.history import Clock, History
from tests.faults.push.receivers import Receiver, receiving

__all__ = ["PushFaultRun", "PushReport"]

CALLERS = 10
PATHS = {"JSONRPC": "/", "HTTP+JSON": ""}
SETTLING = 90.0
"""Seconds, after the last fault, for everything to arrive."""
CROWDED = 1500
"""Events to deliver with which no new task is begun."""
QUIET = 0.1
_MADE = "select count(*) from sqlite_schema where name = 'push'"
_BEHIND = (
    "select coalesce(sum(task.seq - cursor), 0) from push join task on task.n = push.task where push.state = 'live'"
)


@dataclass
class PushReport:
    """What happened, and what was wrong."""

    kills: int = 0
    at_points: int = 0
    """How many of the kills were at a named point."""
    pauses: int = 0
    away: float = 0.0
    """Seconds for which one receiver was not there, in one piece."""
    configurations: int = 0
    deleted: int = 0
    events: int = 0
    """How many had to arrive, counted for each configuration."""
    deliveries: int = 0
    """How often a receiver has said 2xx."""
    attempts: int = 0
    """How often a receiver was called."""
    violations: list[Violation] = field(default_factory=list[Violation])


class PushFaultRun:
    """One run in a folder of its own, with one receiver that is away for `away` seconds; of a broken `twin`, if it is
    given. Processes take the time that they take, so the seed is no promise of the same run.
    """

    def __init__(
        self,
        folder: Path,
        seed: int,
        until: Callable[[PushReport, float], bool],
        *,
        away: float,
        twin: str = "",
    ) -> None:
        self._twin = twin
        self._file = folder / "push.db"
        self._log = folder / "push.log"
        self._random = Random(seed)
        self._until = until
        self._away = away
        self._port = free_port()
        self._over = False
        self._clock = Clock()
        self._receivers: Mapping[str, Receiver] = {}
        self.report = PushReport()
        self.history = History()

    async def play(self) -> PushReport:
        """Faults until `until` says so of the report and the seconds, then rest, then the checker."""
        loop = asyncio.get_running_loop()
        async with receiving(self.history, self._clock, self._random) as self._receivers, self._calling() as living:
            leaving = asyncio.ensure_future(self._leave(self._receivers["down"]))
            began = loop.time()
            while not self._until(self.report, loop.time() - began):
                await self._life()
            self._over = True
            await leaving
            await self._rest(living)
        await self._check()
        return self.report

    @asynccontextmanager
    async def _calling(self) -> "AsyncGenerator[Sequence[asyncio.Future[None]]]":
        transport = AiohttpTransport(connect_timeout=2.0, idle_timeout=5.0)
        living = [asyncio.ensure_future(self._caller(number, transport).live()) for number in range(CALLERS)]
        try:
            yield living
        finally:
            for one in living:
                one.cancel()
            await asyncio.wait(living)
            await transport.aclose()

    def _caller(self, number: int, transport: AiohttpTransport) -> Subscriber:
        channels: dict[str, Calls] = {}
        options = ChannelOptions(extensions=(RELIABLE,))
        for dialect in every_dialect():
            if dialect.binding in PATHS:
                url = f"http://127.0.0.1:{self._port}{PATHS[dialect.binding]}"
                interface = AgentInterface(url=url, protocol_binding=dialect.binding, protocol_version=dialect.version)
                channels[dialect.key] = HttpChannel(interface, dialect, transport, options)
        return Subscriber(
            str(number),
            channels,
            [Place(one.name, one.origin) for one in self._receivers.values()],
            Random(self._random.random()),
            self.history,
            seq=self._seq,
            free=self._free,
            stopping=lambda: self._over,
        )

    async def _leave(self, receiver: Receiver) -> None:
        """The receiver goes away, and comes back."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._away / 20)
        began = loop.time()
        await receiver.down()
        await asyncio.sleep(self._away)
        await receiver.up()
        self.report.away = loop.time() - began

    # What the file says beside the server.

    async def _asked(self, query: str, *values: object) -> int:
        def ask() -> int:
            with closing(connect_beside(self._file)) as connection:
                row = connection.execute(query, values).fetchone()
                return 0 if row is None else int(row[0])

        return await asyncio.to_thread(ask)

    async def _seq(self, task_id: str) -> int:
        return await self._asked("select seq from task where id = ?", task_id)

    async def _free(self) -> None:
        async def crowded() -> bool:
            if self._over or not self._file.is_file() or not await self._asked(_MADE):
                return False  # the first server has not come so far
            return await self._asked(_BEHIND) > CROWDED

        while await crowded():  # noqa: ASYNC110 -- it is another process
            await asyncio.sleep(QUIET)

    # The server's lives.

    async def _life(self) -> None:
        """One process, from its start to its violent end."""
        random = self._random
        order = (
            f"{random.choice(POINTS)}:{random.randint(1, random.choice((3, 12, 60)))}" if random.random() < 0.6 else ""
        )
        process = await self._start(order, patient=random.random() < 0.1)
        await self._lived(process, random.uniform(0.05, 1.2))
        if random.random() < 0.2 and process.returncode is None:
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(random.uniform(0.05, 1.0))
            process.send_signal(signal.SIGCONT)
            self.report.pauses += 1
        await self._lived(process, 1.0 if order else 0.1)
        if process.returncode is not None:
            self.report.at_points += 1
        elif random.random() < 0.2:
            # It is to end in order, and has no time to.
            process.terminate()
            await self._lived(process, random.uniform(0.0, 0.3))
        if process.returncode is None:
            process.kill()
        self.report.kills += await process.wait() == -signal.SIGKILL

    async def _lived(self, process: asyncio.subprocess.Process, seconds: float) -> None:
        try:
            await asyncio.wait_for(process.wait(), seconds)
        except TimeoutError:
            return

    async def _start(self, order: str, *, patient: bool = False) -> asyncio.subprocess.Process:
        """A process that takes calls, unless it is told to die before."""
        environment = {
            "PUSH_RECEIVERS": " ".join(one.origin for one in self._receivers.values()),
            "PUSH_PATIENT": "1" if patient else "",
            "PUSH_KILL": order,
            "PUSH_TWIN": self._twin,
        }
        return await started("tests/faults/push/agent.py:agent", self._port, self._file, self._log, environment)

    async def _rest(self, living: "Sequence[asyncio.Future[None]]") -> None:
        """All receivers recover, and the last process is left alone until everything has arrived."""
        for receiver in self._receivers.values():
            receiver.healed = True
        process = await self._start("")
        ended, waiting = await asyncio.wait(living, timeout=SETTLING)
        wrong = self.report.violations
        wrong += [Violation("no end", "", f"a caller waits after {SETTLING} s of rest") for _ in waiting]
        wrong += [Violation("surprise", "", repr(error)) for one in ended if (error := one.exception()) is not None]
        deadline = asyncio.get_running_loop().time() + SETTLING
        while await self._asked("select count(*) from push where due"):
            if asyncio.get_running_loop().time() > deadline:
                wrong.append(Violation("no end", "", f"deliveries go on after {SETTLING} s of rest"))
                break
            await asyncio.sleep(QUIET)
        process.terminate()
        async with asyncio.timeout(START_LIMIT):
            await process.wait()

    # The check.

    async def _check(self) -> None:
        with closing(sqlite3.connect(self._file)) as rows:
            assert rows.execute("pragma integrity_check").fetchone() == ("ok",)
            tasks: list[tuple[str]] = rows.execute("select id from task").fetchall()
        store = SqliteStore(self._file, owner="Webhooks")
        await store.open()
        try:
            for (task_id,) in tasks:
                self.history.kept[task_id] = await _kept(store, task_id)
            for state in PushState:
                for push in await store.read_pushes(state, after=0, limit=1_000_000):
                    self.history.states[push.task_id, push.id] = state
        finally:
            await store.close()
        history, report = self.history, self.report
        report.configurations = len(history.registrations)
        report.deleted = sum(one.removed for one in history.registrations.values())
        report.events, report.deliveries, report.attempts = covered(history), history.deliveries, history.attempts
        report.violations += violations(history)


async def _kept(store: SqliteStore, task_id: str) -> Kept:
    stored = await store.locate(task_id)
    assert stored is not None
    return Kept(stored.task, await store.entries(task_id, stored.scope, 1, 1_000_000), ())
