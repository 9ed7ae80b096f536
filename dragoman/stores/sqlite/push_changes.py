"""The writes of configurations: moves are many and are gathered, all else is rare and written at once."""

from datetime import datetime

import msgspec

from dragoman.core.views import to_microseconds
from dragoman.errors import Fenced
from dragoman.ports.call import Scope
from dragoman.ports.push import NewPush, Push, PushMove, PushState
from dragoman.ports.tasks import NewTask
from dragoman.stores.pushes import begun, brought, checked, replaced
from dragoman.stores.record import check
from dragoman.stores.sqlite.cache import Cache
from dragoman.stores.sqlite.heads import Head, Heads
from dragoman.stores.sqlite.push_heads import PushHead
from dragoman.stores.sqlite.push_rows import microseconds, pushed, row_of, selected
from dragoman.stores.sqlite.push_wave import REPLACE
from dragoman.stores.sqlite.wave import Wave

__all__ = ["Brought", "Drop", "Move", "Put", "remove_answers"]


class Brought:
    """The configuration of a new task."""

    def __init__(self, new: NewTask, push: NewPush, now: datetime) -> None:
        self._push = brought(new, push)
        self._terminal = new.task.state.terminal
        self._now = now

    def plan(self, heads: Heads, wave: Wave) -> None:
        """Adds its row to those of the task, whose head is staged."""
        head = heads.find(self._push.task_id)
        assert head is not None
        n = heads.pushes.next_number()
        heads.pushes.stage(n, PushHead(1, direct=False))
        push = begun(self._push, n, self._now, seq=1, terminal=self._terminal)
        wave.pushes.put.append(row_of(push, head.n))


class _OfTask:
    """A change that does not touch the task itself."""

    task_id: str | None

    def committed(self, cache: Cache, _: object, /) -> None:
        pass


class Put(_OfTask):
    def __init__(self, new: NewPush, now: datetime) -> None:
        self.task_id = new.task_id
        self._new = checked(new)
        self._now = now

    def plan(self, heads: Heads, wave: Wave) -> Push:  # noqa: ARG002 -- written at once
        new = self._new
        head = heads.find(new.task_id, new.scope) if new.task_id else None
        if new.task_id and head is None:
            raise Fenced(f"Task {new.task_id} does not exist")
        push = self._put(heads, head)
        row = row_of(push, None if head is None else head.n)
        REPLACE.run(heads.connection, [row])
        heads.pushes.stage(push.n, PushHead(push.epoch, direct=head is None))
        if head is not None and not head.pushed:
            heads.stage(new.task_id, msgspec.structs.replace(head, pushed=True))
        return push

    def _put(self, heads: Heads, head: Head | None) -> Push:
        """The configuration as it will be: in place of another one, or with a number of its own."""
        if head is not None:
            for row in selected(heads.connection, "push.task = ? and push.id = ?", (head.n, self._new.id)):
                return replaced(pushed(row), self._new)
        n = heads.pushes.next_number()
        seq, terminal = (0, False) if head is None else (head.seq, head.state.terminal)
        return begun(self._new, n, self._now, seq=seq, terminal=terminal)


class Drop(_OfTask):
    def __init__(self, task_id: str, scope: Scope, config_id: str) -> None:
        self.task_id = task_id
        self._scope = scope
        self._config_id = config_id

    def plan(self, heads: Heads, wave: Wave) -> None:  # noqa: ARG002 -- written at once
        head = heads.find(str(self.task_id), self._scope)
        if head is None:
            return
        connection = heads.connection
        found = connection.execute("select n from push where task = ? and id = ?", (head.n, self._config_id)).fetchall()
        for (n,) in found:
            connection.execute("delete from push_letter where push = ?", (n,))
            connection.execute("delete from push where n = ?", (n,))
            heads.pushes.stage(n, None)


class Move(_OfTask):
    def __init__(self, move: PushMove) -> None:
        check(move)
        # No two moves of one configuration may share a wave.
        self.task_id = f"push {move.n}"
        self._move = move
        self._row = (
            move.n, move.epoch, move.epoch + move.claim, move.cursor, move.state.value, int(move.whole), move.attempts,
            microseconds(move.failing_since), microseconds(move.not_before), move.trouble,
            move.worker if move.claim else None,
        )  # fmt: skip
        letter = move.letter
        self._letter = None if letter is None else (move.n, letter.seq, to_microseconds(letter.at), letter.trouble)

    def plan(self, heads: Heads, wave: Wave) -> None:
        move = self._move
        head = heads.pushes.find(move.n)
        if head is None or head.epoch != move.epoch:
            raise Fenced(f"Configuration {move.n} is in another epoch than {move.epoch}, or gone")
        if head.direct and move.state is PushState.ENDED:
            heads.pushes.stage(move.n, None)
            wave.pushes.gone.append((move.n, move.epoch))
            return
        if move.claim:
            heads.pushes.stage(move.n, PushHead(move.epoch + 1, head.direct))
        wave.pushes.moved.append(self._row)
        if self._letter is not None:
            wave.pushes.letters.append(self._letter)


def remove_answers(heads: Heads, which: str, *values: object, limit: int = -1) -> int:
    """Removes direct answers, with their dead letters; how many that were."""
    found = heads.connection.execute(
        f"select n from push where task is null and {which} limit ?",  # noqa: S608 -- made of this package's own words only
        (*values, limit),
    ).fetchall()
    for table, column in (("push_letter", "push"), ("push", "n")):
        heads.connection.executemany(f"delete from {table} where {column} = ?", found)  # noqa: S608 -- made of this package's own words only
    for (n,) in found:
        heads.pushes.stage(n, None)
    return len(found)
