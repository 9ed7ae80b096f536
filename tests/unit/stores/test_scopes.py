"""Whatever a caller can name is looked for by statements that are bound to the caller's scope, each of them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import Connection

import pytest

from dragoman.ports.call import Scope
from dragoman.ports.push import Push
from dragoman.ports.store import Store
from dragoman.stores import memory, open_store
from dragoman.stores.held import Held
from dragoman.stores.memory import MemoryStore
from dragoman.stores.pushes import Pushes
from dragoman.stores.sqlite import reading
from dragoman.stores.sqlite.heads import Head, Heads
from dragoman.testing.store_contract import PushStoreContract
from dragoman.testing.store_scopes import SCOPED, Things, made
from tests.unit.stores.scoping import BOUND, Statements, forgetful

SUITE = PushStoreContract()
STRANGER = Scope("acme", "bob")
OF_NOBODY = ("begin", "begin immediate", "commit", "rollback")
"""Statements that are about no data."""
OWN = "insert or replace into known "
"""What a stranger stores is the stranger's own; its scope stands in the row."""
CHOOSES_AN_INDEX = "select count(*) from task where context_id = ? and tenant = ? and principal = ?"
"""Nothing of its result is told to anybody."""


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[Store]:
    store = open_store(f"sqlite:///{path}/tasks.db?synchronous=off", owner="echo")
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def contract(path: Path) -> None:
    """What the contract asks of scopes, each of a store of its own."""
    promises = (
        SUITE.test_no_method_shows_what_is_of_another_scope,
        SUITE.test_a_configuration_is_put_into_no_task_of_another_scope,
    )
    for number, promise in enumerate(promises):
        async with opened(path / str(number)) as store:
            await promise(store)


async def test_a_strangers_calls_run_no_statement_that_is_not_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetful(monkeypatch)
    statements = Statements(monkeypatch)
    async with opened(tmp_path / "store") as store:
        things = await made(store)
        for name, call in SCOPED.items():
            statements.run.clear()
            await call(store, STRANGER, things)
            reached = [one for one in statements.run if one.strip() not in OF_NOBODY and OWN not in one]
            assert reached, f"{name} asks the file nothing"
            assert [one for one in reached if not BOUND.search(one)] == [], name


async def test_each_statement_that_loses_its_scope_is_found(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        forgetful(patch)
        statements = Statements(patch)
        await contract(tmp_path / "all")
    bound = dict.fromkeys(one for one in statements.run if BOUND.search(one))
    assert len(bound) > 10
    kept: list[str] = []
    for number, statement in enumerate(bound):
        with pytest.MonkeyPatch.context() as patch:
            forgetful(patch)
            Statements(patch, twin=statement)
            try:
                await contract(tmp_path / str(number))
            except AssertionError:
                continue
            kept.append(statement)
    assert kept == [CHOOSES_AN_INDEX]


async def test_what_the_writer_knows_by_heart_is_bound_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = Heads.find

    def blind(self: Heads, task_id: str, scope: Scope | None = None) -> Head | None:
        return find(self, task_id)

    monkeypatch.setattr(Heads, "find", blind)
    with pytest.raises(AssertionError):
        await contract(tmp_path / "blind")


class Seeing(MemoryStore):
    """Looks at no scope."""

    def _seen(self, task_id: str, scope: Scope) -> Held | None:  # noqa: ARG002 -- that is the fault
        return self._tasks.get(task_id)


class Answering(Pushes):
    """Looks at no scope."""

    def find_answer(self, scope: Scope, config_id: str) -> Push | None:  # noqa: ARG002 -- that is the fault
        return next((push for push in self._all.values() if push.id == config_id), None)


async def test_a_store_in_memory_that_forgets_the_scope_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="get shows"):
        await SUITE.test_no_method_shows_what_is_of_another_scope(Seeing())
    monkeypatch.setattr(memory, "Pushes", Answering)
    with pytest.raises(AssertionError, match="get_push shows"):
        await SUITE.test_no_method_shows_what_is_of_another_scope(MemoryStore())


# Time. A task of another's takes a look at its scope more than one that is not there, and nothing beyond.

A_LOOK = 10
"""Instructions of SQLite's machine, for each statement."""


async def harder(path: Path) -> dict[str, float]:
    """By how many instructions a statement is longer for what is another's than for what is not there."""
    found: dict[str, float] = {}
    with pytest.MonkeyPatch.context() as patch:
        forgetful(patch)
        statements = Statements(patch)
        async with opened(path) as store:
            things = await made(store)
            for name, call in SCOPED.items():
                if name == "answered":
                    continue  # the first time it stores something of one's own
                steps: list[int] = []
                # Each connection reads the tables' names first, and of three any may be taken.
                for things_ in [Things()] * 12 + [things, Things()]:
                    statements.run.clear()
                    before = statements.steps
                    await call(store, STRANGER, things_)
                    steps.append(statements.steps - before)
                found[name] = abs(steps[-2] - steps[-1]) / len(statements.run)
    return found


async def test_what_is_anothers_takes_as_long_to_be_not_found_as_what_is_not_there(tmp_path: Path) -> None:
    assert {name: steps for name, steps in (await harder(tmp_path)).items() if steps > A_LOOK} == {}


async def test_a_store_that_looks_first_and_at_the_scope_then_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = reading.load

    def looked(connection: Connection, task_id: str, scope: Scope | None = None) -> tuple[Held, int] | None:
        found = load(connection, task_id)
        return found if found is not None and found[0].scope == scope else None

    monkeypatch.setattr(reading, "load", looked)
    assert (await harder(tmp_path))["get"] > A_LOOK
