"""Keys of requests, beats of workers, and what is removed in time. Rare changes, written at once."""

import sqlite3
from datetime import datetime, timedelta
from typing import cast

from dragoman.core.views import to_microseconds
from dragoman.errors import Duplicate
from dragoman.ports.call import Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import Key
from dragoman.stores.pushes import delivering
from dragoman.stores.record import decode_message, encode
from dragoman.stores.sqlite.bulk import TERMINAL
from dragoman.stores.sqlite.cache import Cache
from dragoman.stores.sqlite.heads import Heads
from dragoman.stores.sqlite.push_changes import Put, remove_answers
from dragoman.stores.sqlite.wave import Wave
from dragoman.types.content import Message

__all__ = ["Answered", "Beat", "Prune", "Retire", "claim", "find", "remove"]

ALL = -1
"""No limit."""

_Ended = tuple[int, str, str, str, str, int, int]
"""Number, id, tenant, principal and state of a task, the time of its last status, and whether it is kept."""

_KEPT = """exists (select 1 from push indexed by push_by_task where push.task = task.n and push.state = 'live'
    and (push.whole or push.cursor < task.seq))"""
"""A live configuration is behind."""


def claim(heads: Heads, wave: Wave, scope: Scope, key: Key, now: datetime, *, to: tuple[str, int] | bytes) -> None:
    """Makes the key known with this change: as of what went `to` this task, by its id and its number, or to an answer.

    Raises:
        Duplicate: it is known already, to the database or to the wave.
    """
    name = scope.tenant, scope.principal, key.message_id
    staged = wave.known.get(name)
    if staged is not None:
        digest, known_task, known_answer = cast("tuple[str, str, bytes]", staged[:3])
        raise _duplicate(known_task, digest, known_answer)
    known = find(heads.connection, scope, key.message_id, now)
    if known is not None:
        raise known
    (task_id, n), answer = (("", 0), to) if isinstance(to, bytes) else (to, b"")
    wave.known[name] = (key.digest, task_id, answer, to_microseconds(key.expires), n)


def find(connection: sqlite3.Connection, scope: Scope, message_id: str, now: datetime) -> Duplicate | None:
    """What is known of a request with this message id."""
    row = connection.execute(
        "select task, digest, answer from known where tenant = ? and principal = ? and message_id = ? and expires > ?",
        (scope.tenant, scope.principal, message_id, to_microseconds(now)),
    ).fetchone()
    return None if row is None else _duplicate(*row)


def _duplicate(task_id: str, digest: str, answer: bytes) -> Duplicate:
    return Duplicate(task_id, digest, decode_message(answer) if answer else None)


def remove(heads: Heads, wave: Wave, row: tuple[int, str, str, str, str]) -> str:
    """Removes a task and all that belongs to it, given its number, id, tenant, principal and state."""
    n, task_id, tenant, principal, state = row
    heads.connection.execute("delete from push_letter where push in (select n from push where task = ?)", (n,))
    if heads.connection.execute("delete from push where task = ?", (n,)).rowcount:
        heads.pushes.forget()
    for table in ("task", "snapshot", "event", "inbox", "memo", "spared"):
        heads.connection.execute(f"delete from {table} where n = ?", (n,))  # noqa: S608 -- made of this module's own words only
    heads.connection.execute("delete from known where n = ? and n > 0", (n,))
    wave.count(tenant, principal, state, -1)
    heads.stage(task_id, None)
    return task_id


class _Aside:
    """A change of no task."""

    task_id: str | None = ""

    def committed(self, cache: Cache, _: object, /) -> None:
        pass


class Answered(_Aside):
    def __init__(self, scope: Scope, key: Key, answer: Message, push: NewPush | None, now: datetime) -> None:
        self._scope = scope
        self._key = key
        self._answer = encode(answer)
        self._put = None if push is None else Put(delivering(answer, push), now)
        self._now = now

    def plan(self, heads: Heads, wave: Wave) -> None:
        claim(heads, wave, self._scope, self._key, self._now, to=self._answer)
        if self._put is not None:
            self._put.plan(heads, wave)


class Beat(_Aside):
    def __init__(self, worker: str, now: datetime) -> None:
        self._row = worker, to_microseconds(now)

    def plan(self, heads: Heads, wave: Wave) -> None:  # noqa: ARG002 -- written at once
        heads.connection.execute("insert or replace into worker values (?, ?)", self._row)


class Retire(_Aside):
    def __init__(self, worker: str) -> None:
        self._worker = worker

    def plan(self, heads: Heads, wave: Wave) -> None:  # noqa: ARG002 -- written at once
        heads.connection.execute("delete from worker where id = ?", (self._worker,))


def _until(now: datetime, seconds: float | None) -> int | None:
    return None if seconds is None else to_microseconds(now - timedelta(seconds=seconds))


class Prune(_Aside):
    """Goes through the tasks by the time of their ends; a mark says how far the logs are gone already, but for those
    that are spared.
    """

    def __init__(self, now: datetime, logs_after: float | None, tasks_after: float | None, limit: int) -> None:
        self._now = to_microseconds(now)
        self._logs_until = _until(now, logs_after)
        self._tasks_until = _until(now, tasks_after)
        self._limit = limit
        # What is removed for good must not live on in the write-ahead log.
        self.task_id = "" if tasks_after is None else None
        self._removed: list[str] = []

    def plan(self, heads: Heads, wave: Wave) -> int:
        connection = heads.connection
        expired = connection.execute(
            """delete from known where (tenant, principal, message_id) in
               (select tenant, principal, message_id from known where expires <= ? limit ?)""",
            (self._now, self._limit),
        ).rowcount
        gone = 0
        if self._tasks_until is not None:
            rows = self._ended(connection, -1, self._tasks_until, self._limit, f"and not {_KEPT}")
            self._removed = [remove(heads, wave, row[:5]) for row in rows]
            gone = len(rows)
        if self._logs_until is not None and gone < self._limit:
            which = "state = 'dead' and created_at <= ?"
            gone += remove_answers(heads, which, self._logs_until, limit=self._limit - gone)
            gone += self._cut(connection, self._logs_until, self._limit - gone)
        return expired + gone

    def _cut(self, connection: sqlite3.Connection, until: int, limit: int) -> int:
        """Deletes logs, those that ended first at first. The mark goes back where a clock had run ahead."""
        freed = connection.execute(
            f"select n from spared cross join task using (n) where not {_KEPT} limit ?",  # noqa: S608 -- made of this module's own words only
            (limit,),
        ).fetchall()
        limit -= len(freed)
        if limit <= 0:
            rows = []
        else:
            (mark,) = connection.execute("select value from meta where key = 'pruned'").fetchone()
            rows = self._ended(connection, mark, until, limit)
            if len(rows) == limit:
                # The mark is a moment: all that ended in it go together.
                until = rows[-1][5]
                rows = self._ended(connection, mark, until, ALL)
            if until != mark:
                connection.execute("update meta set value = ? where key = 'pruned'", (until,))
        connection.executemany("delete from spared where n = ?", freed)
        connection.executemany("insert or ignore into spared values (?)", [row[:1] for row in rows if row[-1]])
        connection.executemany("delete from event where n = ?", [*freed, *(row[:1] for row in rows if not row[-1])])
        return len(freed) + len(rows)

    @staticmethod
    def _ended(connection: sqlite3.Connection, after: int, until: int, limit: int, which: str = "") -> list[_Ended]:
        """Tasks that ended after the one time and not after the other, in order; from an index alone."""
        return connection.execute(
            f"""select task.n, task.id, task.tenant, task.principal, task.state, task.status_at, {_KEPT}
                from tally cross join task indexed by task_by_state using (tenant, principal, state)
                where tally.tasks > 0 and tally.state in ({TERMINAL}) and task.status_at > ? and task.status_at <= ?
                {which} order by task.status_at limit ?""",  # noqa: S608 -- made of this package's own words only
            (after, until, limit),
        ).fetchall()

    def committed(self, cache: Cache, _: object, /) -> None:
        for task_id in self._removed:
            cache.drop(task_id)
