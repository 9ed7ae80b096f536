"""The contract finds stores that do not keep it: each of these twins lacks one thing, and fails the test for it."""

import sqlite3
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import Fenced
from dragoman.ports.push import PushMove, PushState
from dragoman.ports.store import Store
from dragoman.ports.tasks import Commit
from dragoman.stores import held, open_store
from dragoman.stores.pushes import Pushes
from dragoman.stores.sqlite import cache, changes, push_heads, push_wave, wave
from dragoman.testing.store_contract import PushStoreContract, TaskStoreContract
from dragoman.types.task import TaskState

Promise = Callable[[Store], Awaitable[None]]

ADMIT = held.admit
MOVED = Pushes.move
WRITTEN = push_wave.PushWave.write
SUITE = TaskStoreContract()
PUSHES = PushStoreContract()
BLIND = wave.FENCE.replace("task.epoch = was.column3 and ", "")
PUSH_FENCES: list[Promise] = [
    PUSHES.test_replacing_fences_who_delivers,
    PUSHES.test_a_claim_gives_a_configuration_to_another_worker_and_fences_the_first,
    PUSHES.test_of_two_who_claim_exactly_one_wins,
]
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


class AnyEpoch(int):
    """Does not differ from any."""

    def __ne__(self, _: object) -> bool:
        return False

    __hash__ = int.__hash__


def find_any_epoch(_heads: push_heads.PushHeads, _n: int) -> push_heads.PushHead:
    return push_heads.PushHead(AnyEpoch(1), direct=False)


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


def move_any_epoch(pushes: Pushes, move: PushMove) -> None:
    found = pushes.in_state(PushState.LIVE, move.n - 1, 1)
    MOVED(pushes, msgspec.structs.replace(move, epoch=found[0].epoch))


@pytest.mark.parametrize("promise", PUSH_FENCES)
async def test_memory_that_moves_configurations_in_any_epoch_is_found(
    promise: Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await keeps(promise, "memory")
    monkeypatch.setattr(Pushes, "move", move_any_epoch)
    assert not await keeps(promise, "memory")


@pytest.mark.parametrize("promise", PUSH_FENCES)
async def test_sqlite_that_moves_configurations_in_any_epoch_is_found(
    promise: Promise, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_heads.PushHeads, "find", find_any_epoch)
    monkeypatch.setattr(push_wave, "MOVE", push_wave.advance("true"))
    assert not await keeps(promise, url)


@pytest.mark.parametrize("promise", PUSH_FENCES)
async def test_the_statements_fence_moves_even_if_nothing_else_does(
    promise: Promise, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_heads.PushHeads, "find", find_any_epoch)
    assert await keeps(promise, url)


def write_nothing_behind(gathered: push_wave.PushWave, connection: sqlite3.Connection) -> None:
    gathered.behind.clear()
    WRITTEN(gathered, connection)


async def test_sqlite_that_does_not_see_its_tasks_go_on_is_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_wave.PushWave, "write", write_nothing_behind)
    assert not await keeps(PUSHES.test_what_is_behind_is_due, url)
