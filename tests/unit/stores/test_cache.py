"""Tasks in memory beside the SQLite file: never older than what callers know, never too many."""

from dragoman.ports.tasks import Commit, Posted, TurnStart
from dragoman.stores.held import Held, checked_status
from dragoman.stores.memory import MemoryStore
from dragoman.stores.sqlite.cache import Cache
from dragoman.testing.story import Narrator, Story


def story() -> Story:
    return Narrator(MemoryStore()).story()


def seq(cache: Cache, task_id: str) -> int | None:
    held = cache.get(task_id)
    return None if held is None else held.stored().seq


def tell(cache: Cache, commit: Commit) -> None:
    cache.update(commit, checked_status(commit), 10)


def test_changes_are_applied_in_turn() -> None:
    cache, one = Cache(), story()
    cache.put(one.id, Held.created(one.new), 10)
    for text in "abc":
        tell(cache, one.change(one.chunk(text)))
    held = cache.get(one.id)
    assert held is not None
    assert (held.stored().task, held.seq) == (one.expected, 4)


def test_a_change_that_a_reader_brought_already_is_not_applied_twice() -> None:
    cache, one = Cache(), story()
    change = one.change(one.chunk("a"))
    early = Held.created(one.new)
    early.apply(change, None)
    cache.put(one.id, early, 10)
    tell(cache, change)
    assert seq(cache, one.id) is None


def test_a_claim_that_a_reader_brought_already_is_not_applied_twice() -> None:
    cache, one = Cache(), story()
    claim = one.change(claim=True)
    early = Held.created(one.new)
    early.apply(claim, None)
    cache.put(one.id, early, 10)
    tell(cache, claim)
    assert cache.get(one.id) is None


def test_a_message_that_a_reader_brought_already_is_not_put_in_twice() -> None:
    cache, one = Cache(), story()
    posted = Posted(n=1, message=one.new.task.history[0], start=TurnStart())
    early = Held.created(one.new)
    early.post(posted)
    early.apply(one.change(consumed=(1,)), None)
    cache.put(one.id, early, 10)
    cache.post(one.id, posted, 10)
    assert cache.get(one.id) is None


def test_a_change_of_a_task_that_is_not_there_is_no_error() -> None:
    cache, one = Cache(), story()
    tell(cache, one.change(one.chunk("a")))
    cache.drop(one.id)
    assert cache.get(one.id) is None


def test_reads_know_when_they_were_overtaken() -> None:
    cache, one, other = Cache(), story(), "other"
    first, second, third = cache.begin(one.id), cache.begin(one.id), cache.begin(other)
    cache.end(one.id, first)
    tell(cache, one.change(one.chunk("a")))
    assert (first.overtaken, second.overtaken, third.overtaken) == (False, True, False)
    cache.end(one.id, second)
    fresh = cache.begin(one.id)
    assert not fresh.overtaken


def test_the_task_not_used_for_longest_goes_first() -> None:
    narrator = Narrator(MemoryStore())
    cache = Cache(capacity=3)
    stories = [narrator.story() for _ in range(4)]
    for one in stories[:3]:
        cache.put(one.id, Held.created(one.new), 10)
    assert seq(cache, stories[0].id) == 1
    cache.put(stories[3].id, Held.created(stories[3].new), 10)
    assert [seq(cache, one.id) for one in stories] == [1, None, 1, 1]


def test_large_tasks_make_room_for_themselves() -> None:
    narrator = Narrator(MemoryStore())
    cache = Cache(capacity_bytes=10_000)
    first, second = narrator.story(), narrator.story()
    cache.put(first.id, Held.created(first.new), 1_000)
    cache.put(second.id, Held.created(second.new), 1_000)
    cache.update(second.change(second.chunk("a")), None, 5_000)
    assert (seq(cache, first.id), seq(cache, second.id)) == (None, 2)
    cache.update(second.change(second.chunk("a")), None, 5_000)
    assert seq(cache, second.id) is None
    cache.put(first.id, Held.created(first.new), 1_000)
    assert seq(cache, first.id) == 1
