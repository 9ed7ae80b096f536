"""One schedule: some hosts, some callers, some trouble, all of it from one seed; and what the checker says of it."""

import asyncio
import gc
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import NamedTuple

from dragoman.engine.world import Keeping
from dragoman.errors import A2AError
from dragoman.ports.push import PushState
from dragoman.types.task import TaskState
from tests.faults.checker import Violation, violations
from tests.faults.history import History, Kept
from tests.faults.push.callers import Subscriber
from tests.faults.push.checker import violations as undelivered
from tests.simulation.agents import Effects, Remembered, executor, expected, text_of
from tests.simulation.callers import Caller
from tests.simulation.hosts import Host, Surroundings, context_of
from tests.simulation.loop import Deadlock, SeededLoop
from tests.simulation.store import Trouble
from tests.simulation.webhooks import Webhooks, pushing, subscriber

__all__ = ["Outcome", "Twin", "play"]

Twin = Callable[[Surroundings], None]
"""Takes out of the surroundings what a promise rests on."""

SETTLING = 200.0
"""Seconds, once there is no more trouble, within which every task must have come to an end."""
PUSHED = 0.3
"""How often somebody has tasks pushed."""
PROMPTLY = 5.0
"""Less than the time after which a reader asks the log without a hint."""


class Outcome(NamedTuple):
    """What became of a schedule."""

    seed: int
    violations: tuple[Violation, ...]
    tasks: int
    events: int
    crashes: int
    stops: int
    pauses: int
    takeovers: int
    fenced: int
    duplicates: int
    answers: int
    erased: int
    pruned: int
    deliveries: int


class _Defects(logging.Handler):
    """What the engine reports as broken, other than a store that does not answer."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.msg.startswith("the store does not answer"):
            reason = "" if record.exc_info is None else f": {record.exc_info[1]!r}"
            self.found.append(record.getMessage() + reason)


def play(seed: int, twin: Twin | None = None) -> Outcome:
    """Plays the schedule of this seed. The same seed gives the same schedule, as long as the code is the same.

    What was running when it ended stays in memory; a process that has played ends with `os._exit`.
    """
    random = Random(seed)
    loop = SeededLoop.of(random)
    found: list[Violation] = []
    with _listening() as defects:
        schedule = _Schedule(loop, random, twin)
        try:
            loop.run_until_complete(schedule.run())
        except Deadlock as error:
            found.append(Violation("no end", "", str(error)))
        except (AssertionError, A2AError) as error:
            found.append(Violation("surprise", "", repr(error)))
        found += [Violation("defect", "", defect) for defect in (*defects.found, *loop.broken)]
        found += violations(schedule.history)
        found += schedule.wrong_results()
        found += schedule.wrong_deliveries()
        outcome = schedule.outcome(seed, found)
        _ended.append(loop)
        del schedule
    return outcome


class _Schedule:
    def __init__(self, loop: SeededLoop, random: Random, twin: Twin | None) -> None:
        calm = random.random() < 0.25
        self._loop = loop
        self._random = random
        self.around = Surroundings(loop, random, 0.0 if calm else random.choice((0.0, 0.2, 1.0)), executor(Effects()))
        self.around.skews = random.random() < 0.3
        self.around.slots = random.choice((None, None, 1))
        self.around.keeping = Keeping(logs=random.choice((None, 3600.0, 4.0)))
        self._webhooks = Webhooks(loop, random) if random.random() < PUSHED else None
        if self._webhooks is not None:
            self.around.pushes = partial(pushing, self._webhooks, self.around)
        if twin is not None:
            twin(self.around)
        self.around.store.trouble = Trouble(slow=0.5) if calm else _trouble(random)
        self._hosts = [Host(f"host-{n}", self.around) for n in range(random.randint(1, 3))]
        self._results: dict[str, dict[int, Remembered]] = defaultdict(lambda: defaultdict(Remembered))
        self._stops = not calm and random.random() < 0.3
        self.history = History(promptly=PROMPTLY if calm else None, erased=self.around.store.erased)
        self._callers: list[Caller | Subscriber] = [
            Caller(f"caller-{n}", self._hosts, random, self.history, calm=calm) for n in range(random.randint(1, 4))
        ]
        if self._webhooks is not None:
            self._callers.append(subscriber("subscriber", self._hosts, random, self._webhooks, self.around.store))

    async def run(self) -> None:
        """Plays it, and lets it come to rest."""
        loop, around = self._loop, self.around
        starting = [loop.create_task(host.start(), context=context_of("supervisor")) for host in self._hosts]
        living = [
            loop.create_task(caller.live(), context=context_of(f"caller-{n}")) for n, caller in enumerate(self._callers)
        ]
        stopping = loop.create_task(self._stop_some(), context=context_of("operator"))
        await asyncio.gather(*living)
        self._stops = False
        around.store.trouble = Trouble()
        if self._webhooks is not None:
            self._webhooks.healed = True
        until = loop.time() + SETTLING
        while loop.time() < until and not await self._settled():  # noqa: ASYNC110 -- of virtual time, and there is nobody who would tell
            await asyncio.sleep(1.0)
        await asyncio.gather(*starting, stopping)
        self.history.quiet = True
        self.history.kept = await around.store.kept()
        self.history.committed = around.store.committed
        if self._webhooks is not None:
            await self._webhooks.look(self.history.kept, around.store)
        for task_id, held in self.history.kept.items():
            for turn in range(1, len(held.task.history) + 1):
                for memo in await around.store.inner.memos(task_id, turn):
                    self._results[task_id][turn].add(memo)

    async def _stop_some(self) -> None:
        """Stops a host in order now and then, as who rolls out a new version does."""
        while self._stops:
            await asyncio.sleep(self._random.choice((1.0, 10.0, 60.0)))
            await self._random.choice(self._hosts).stop()

    async def _settled(self) -> bool:
        kept = (await self.around.store.kept()).values()
        settled = all(held.task.state.settled and not (held.waiting and held.task.state.terminal) for held in kept)
        live = await self.around.store.inner.read_pushes(PushState.LIVE, after=0, limit=1_000)
        return settled and not any(push.due for push in live)

    def outcome(self, seed: int, found: list[Violation]) -> Outcome:
        """What became of it, counted."""
        around, history = self.around, self.history
        acknowledged = [one for one in history.acknowledged if one.known_again]
        return Outcome(
            seed,
            tuple(found),
            tasks=len(history.kept),
            events=history.events,
            crashes=around.crashes,
            stops=around.stops,
            pauses=around.pauses,
            takeovers=around.store.takeovers,
            fenced=around.store.fenced,
            duplicates=len(acknowledged) - len(set(acknowledged)),
            answers=len(history.answered),
            erased=len(history.erased),
            pruned=around.store.pruned,
            deliveries=0 if self._webhooks is None else self._webhooks.history.deliveries,
        )

    def wrong_deliveries(self) -> list[Violation]:
        """What should have been pushed, and was not so."""
        if self._webhooks is None or not self.history.quiet:
            return []
        return undelivered(self._webhooks.history)

    def wrong_results(self) -> list[Violation]:
        """Tasks that were completed, and not with what was asked for."""
        found: list[Violation] = []
        for task_id, held in self.history.kept.items():
            if held.task.state is TaskState.COMPLETED:
                wanted = expected(held.task.history, self._results[task_id])
                text = text_of(held.task)
                if not re.fullmatch(wanted, text):
                    found.append(Violation("right result", task_id, f"{text!r} instead of {wanted!r}"))
            elif held.task.state is TaskState.FAILED and not _may_fail(held):
                found.append(Violation("right reason", task_id, f"{held.entries[-1].event} of {held.task.history}"))
        return found


def _may_fail(held: Kept) -> bool:
    """Whether its skill, and what was asked of it, may have failed the task for the reason that it says."""
    plans = [message.text.split() for message in held.task.history]
    skill = plans[0][0]
    match (held.entries[-1].event.metadata or {}).get("reason"):
        case "worker-lost":
            return skill == "fail"
        case "attempts-exhausted":
            return skill != "fail"
        case "deadline":
            return skill == "late"
        case None:
            return any("break" in plan for plan in plans)
        case _:
            return False


def _trouble(random: Random) -> Trouble:
    return Trouble(
        slow=random.choice((0.0, 0.5)),
        unavailable=random.choice((0.0, 0.0, 0.02, 0.1)),
        crash=random.choice((0.0, 0.02, 0.05)),
        pause=random.choice((0.0, 0.02, 0.05)),
    )


@contextmanager
def _listening() -> Generator[_Defects]:
    """Takes the engine's log. Garbage is collected in between schedules only, so that chance alone decides."""
    log = logging.getLogger("dragoman")
    defects = _Defects()
    before = log.propagate, log.handlers
    log.propagate, log.handlers = False, [defects]
    gc.disable()
    try:
        yield defects
    finally:
        log.propagate, log.handlers = before
        gc.collect()
        gc.freeze()


_ended: list[SeededLoop] = []
"""Whoever died in a schedule must never go on, not even to clean up, as the coroutines of dropped tasks would."""
