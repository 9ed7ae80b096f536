"""An I/O error at every single statement of a number of writes or reads, one after the other."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from dragoman.stores.sqlite import SqliteStore, upkeep
from tests.unit.stores.faulty import Faults

__all__ = ["SHARES", "Holds", "Writes", "sweep", "sweep_reads"]

ENDLESS = 1000
SHARES = 4
"""Among how many tests the faults are shared out, so that each is short."""

Holds = tuple[int, Callable[[SqliteStore], Awaitable[None]]]
"""How many tasks a store must hold, and what else must be there and nothing more."""
Writes = Callable[[SqliteStore, Faults], Awaitable[Holds]]
"""Writes, each repeated until it is acknowledged."""


async def _survive(path: Path, write: Writes, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of all writes under these faults, and a look at what is there before and after a restart."""
    with monkeypatch.context() as patched:
        faults.put_into("connect_writer", patched)
        store = SqliteStore(path, owner="echo", synchronous="off")
        try:
            await faults.insist(store.open)
            tasks, hold = await write(store, faults)
            await hold(store)
        finally:
            await store.close()
    assert upkeep.check(path) == (tasks, ())
    again = SqliteStore(path, owner="echo", synchronous="off")
    await again.open()
    await hold(again)
    await again.close()


async def sweep(
    folder: Path, write: Writes, monkeypatch: pytest.MonkeyPatch, first: int = 1, *, lasting: bool = False
) -> tuple[int, int]:
    """Lets every so many-th statement fail until none is left; how many there are, and how many callers were told."""
    refused = 0
    for number in range(first, ENDLESS, SHARES):
        faults = Faults(number, lasting=lasting)
        await _survive(folder / f"{number}.db", write, faults, monkeypatch)
        refused += faults.refused
        if not faults.fired:
            return number, refused
    raise AssertionError("the faults have no end")


async def sweep_reads(
    store: SqliteStore, reads: Sequence[Callable[[], Awaitable[object]]], monkeypatch: pytest.MonkeyPatch
) -> int:
    """Lets every statement of the reads fail in turn, each time in a store that is opened anew: the caller is told, and
    reads the same as before afterwards. How many statements there are. The store is open, and closed in the end.
    """
    right = [await read() for read in reads]
    await store.close()
    for number in range(1, ENDLESS):
        faults = Faults(number)
        with monkeypatch.context() as patched:
            faults.put_into("connect_reader", patched)
            await store.open()
        assert [await faults.insist(read) for read in reads] == right
        assert faults.refused == faults.fired
        await store.close()
        if not faults.fired:
            return number
    raise AssertionError("the faults have no end")
