"""What the fault runs serve: handlers that do what the message says, on a store that may kill its process.

`FAULTS_KILL` names a point and a count, `commit-after:7`: there the process dies, as by `kill -9`. Points
are before and after `create`, `commit` and `post` of the store, and before and after the `write` in its transaction.

`FAULTS_TWIN` breaks the store: `rash` says that a change is stored when it is on its way, `forgetful` keeps no keys.
"""

import asyncio
import functools
import inspect
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from dragoman import Agent, TaskContext
from dragoman.errors import StoreError
from dragoman.ports.tasks import Commit, NewTask
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.stores.sqlite.wave import Wave
from tests.simulation.agents import heard, words

__all__ = ["METHODS", "POINTS", "agent", "arm", "fails", "reruns", "resumes", "route"]

METHODS: dict[str, tuple[type, str]] = {
    "create": (SqliteStore, "create"),
    "commit": (SqliteStore, "commit"),
    "post": (SqliteStore, "post"),
    "write": (Wave, "write"),
}
POINTS = tuple(f"{name}-{side}" for name in METHODS for side in ("before", "after"))

agent = Agent("Faults", "Does what it is told, as long as it lives.", max_attempts=50)
_numbers = count(os.getpid() * 1000)


async def _do() -> int:
    await asyncio.sleep(0.01)
    return next(_numbers)


async def _play(task: TaskContext) -> AsyncGenerator[str, None]:
    for word, value in words(task.text):
        if word == "say":
            for number in range(int(value)):
                yield f"{number} "
                await asyncio.sleep(0.005)
        elif said := await _done(task, word, value):
            yield said


async def _done(task: TaskContext, word: str, value: str) -> str:
    """What is to be said of it."""
    match word:
        case "wait":
            await asyncio.sleep(float(value) / 20)
        case "step":
            return f"{value}={await task.step(value, _do)} "
        case "ask":
            return f"({await task.ask(value)}) "
        case "note":
            await task.status("note")
        case "take" | "hear":
            return await heard(task, float(value or 0) / 20)
        case _:
            """The name of the skill, or an answer that begins a turn of its own."""
    return ""


@agent.skill(id="fail", on_crash="fail")
async def fails(task: TaskContext) -> AsyncGenerator[str, None]:
    async for said in _play(task):
        yield said


@agent.skill(id="resume", on_crash="resume")
async def resumes(task: TaskContext) -> AsyncGenerator[str, None]:
    async for said in _play(task):
        yield said


@agent.skill(id="rerun", on_crash="rerun")
async def reruns(task: TaskContext) -> AsyncGenerator[str, None]:
    async for said in _play(task):
        yield said


@agent.router
async def route(text: str) -> str:
    return text.partition(" ")[0]


def _deadly(method: Callable[..., Any], side: str, times: int) -> Callable[..., Any]:
    """The method, at whose call number `times` the process dies before it or after it."""
    calls = count(1)

    def strike(at: str, number: int) -> None:
        if at == side and number == times:
            os.kill(os.getpid(), signal.SIGKILL)

    @functools.wraps(method)
    async def waited(*args: Any, **kwargs: Any) -> Any:
        number = next(calls)
        strike("before", number)
        result = await method(*args, **kwargs)
        strike("after", number)
        return result

    @functools.wraps(method)
    def plain(*args: Any, **kwargs: Any) -> Any:
        number = next(calls)
        strike("before", number)
        result = method(*args, **kwargs)
        strike("after", number)
        return result

    return waited if inspect.iscoroutinefunction(method) else plain


def arm(order: str, methods: Mapping[str, tuple[type, str]]) -> None:
    """Has this process die where the order says, at a point of these methods."""
    point, _, times = order.partition(":")
    name, _, side = point.partition("-")
    owner, method = methods[name]
    setattr(owner, method, _deadly(getattr(owner, method), side, int(times)))


def _break(twin: str) -> None:
    """Takes out of the store what a promise rests on."""
    create, commit = SqliteStore.create, SqliteStore.commit
    on_their_way: set[asyncio.Task[None]] = set()

    async def forget(self: SqliteStore, new: NewTask) -> None:
        await create(self, msgspec.structs.replace(new, key=None))

    async def store(self: SqliteStore, change: Commit) -> None:
        await asyncio.sleep(0.1)
        with suppress(StoreError):
            await commit(self, change)

    async def hurry(self: SqliteStore, change: Commit) -> None:
        if change.claim:
            await commit(self, change)
        else:
            on_their_way.add(asyncio.ensure_future(store(self, change)))

    if twin == "forgetful":
        setattr(SqliteStore, "create", forget)  # noqa: B010 -- what a type checker would not allow
    else:
        setattr(SqliteStore, "commit", hurry)  # noqa: B010 -- as above


if twin := os.environ.get("FAULTS_TWIN"):
    _break(twin)
if order := os.environ.get("FAULTS_KILL"):
    arm(order, METHODS)
