"""The contract finds stores that do not keep it: each of these twins lacks one thing, and fails the test for it."""

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from dragoman.errors import Fenced
from dragoman.ports.tasks import Commit, TaskStore
from dragoman.stores import held, open_store
from dragoman.stores.sqlite import cache, changes, wave
from dragoman.testing.store_contract import TaskStoreContract
from dragoman.types.task import TaskState

Promise = Callable[[TaskStore], Awaitable[None]]

ADMIT = held.admit
SUITE = TaskStoreContract()
BLIND = wave.FENCE.replace("task.epoch = was.column3 and ", "")
FENCES: list[Promise] = [SUITE.test_a_change_under_another_epoch_is_fenced, SUITE.test_a_claim_fences_the_writer_before]


def admit_any_epoch(commit: Commit, *, epoch: int, seq: int, state: TaskState, waiting: Collection[int]) -> None:
    ADMIT(commit, epoch=commit.epoch, seq=seq, state=state, waiting=waiting)


def admit_anything(commit: Commit, *, epoch: int, seq: int, state: TaskState, waiting: Collection[int]) -> None:
    pass


def nothing(*_: object) -> None:
    pass


def blind_the_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BLIND != wave.FENCE
    monkeypatch.setattr(wave, "ADVANCE", wave.update("epoch = was.column5, seq = was.column6", 6, BLIND))
    move = "epoch = was.column5, seq = was.column6, state = was.column7, status_at = was.column8"
    monkeypatch.setattr(wave, "MOVE", wave.update(move, 8, BLIND))


async def keeps(promise: Promise, url: str) -> bool:
    store = open_store(url, owner="twin")
    await store.open()
    try:
        await promise(store)
    except (AssertionError, Fenced):
        return False
    finally:
        await store.close()
    return True


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/twin.db?synchronous=off"


@pytest.mark.parametrize("promise", FENCES)
async def test_memory_without_the_epoch_is_found(promise: Promise, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await keeps(promise, "memory")
    monkeypatch.setattr(held, "admit", admit_any_epoch)
    assert not await keeps(promise, "memory")


@pytest.mark.parametrize("promise", FENCES)
async def test_sqlite_without_the_epoch_is_found(promise: Promise, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "admit", admit_any_epoch)
    blind_the_statements(monkeypatch)
    assert not await keeps(promise, url)


@pytest.mark.parametrize("promise", FENCES)
async def test_the_statements_fence_even_if_nothing_else_does(
    promise: Promise, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "admit", admit_anything)
    assert await keeps(promise, url)


@pytest.mark.parametrize(
    "promise",
    [SUITE.test_nothing_follows_a_terminal_state, SUITE.test_a_change_after_another_number_is_fenced],
)
async def test_memory_that_admits_anything_is_found(promise: Promise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "admit", admit_anything)
    assert not await keeps(promise, "memory")


async def test_sqlite_that_does_not_count_is_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wave.Wave, "count", nothing)
    assert not await keeps(SUITE.test_totals_follow_every_change_of_state, url)


async def test_sqlite_whose_cache_misses_a_change_is_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache.Cache, "update", nothing)
    assert not await keeps(SUITE.test_a_change_is_seen_as_soon_as_it_is_made, url)
