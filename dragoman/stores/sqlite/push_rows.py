"""Configurations of push notifications as rows: written, and read by a connection that cannot write."""

import logging
import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from dragoman.core.views import from_microseconds, to_microseconds
from dragoman.errors import StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, Push, PushState
from dragoman.stores.record import decode_message, decode_status, encode
from dragoman.stores.sqlite.bulk import Row
from dragoman.stores.sqlite.schema import transaction
from dragoman.types.task import TaskState

__all__ = [
    "microseconds", "pushed", "read_due", "read_in_state", "read_letters", "read_of_task", "read_one", "row_of",
    "selected",
    "selecting",
]  # fmt: skip

log = logging.getLogger("dragoman.stores")

_PUSH = """
    select push.n, task.id, push.id, push.tenant, push.principal, dialect, origin, sealed, opened, answer,
    push.created_at, push.worker, push.epoch, cursor, push.state, whole, attempts, failing_since, not_before, trouble,
    task.seq, task.state from push left join task on task.n = push.task where
"""
# Each step finds the next worker in the index, however many configurations each of them has.
_WORKERS = """
    with recursive owner (id) as (
        select min(worker) from push where due
        union all select (select min(worker) from push where due and worker > owner.id) from owner where id is not null)
    select id from owner where id is not null and (id = ? or id not in (select id from worker where beat_at > ?))
"""


def microseconds(time: datetime | None) -> int | None:
    return None if time is None else to_microseconds(time)


def row_of(push: Push, task: int | None) -> Row:
    """The row of a configuration of the task with this number."""
    return (
        push.n, task, push.id, push.scope.tenant, push.scope.principal, push.dialect, push.origin, push.sealed,
        b"" if push.opened is None else encode(push.opened), b"" if push.answer is None else encode(push.answer),
        to_microseconds(push.created), push.worker, push.epoch, push.cursor, push.state.value, int(push.whole),
        push.attempts, microseconds(push.failing_since), microseconds(push.not_before), push.trouble, int(push.due),
    )  # fmt: skip


def selecting(connection: sqlite3.Connection, where: str, values: Iterable[object]) -> sqlite3.Cursor:
    """The rows that `pushed` reads."""
    return connection.execute(_PUSH + where, tuple(values))


def selected(connection: sqlite3.Connection, where: str, values: Iterable[object]) -> list[tuple[Any, ...]]:
    """All these rows."""
    return selecting(connection, where, values).fetchall()


def pushed(row: tuple[Any, ...]) -> Push:
    """The configuration.

    Raises:
        StoreUnavailable: a record of it is damaged.
    """
    n, task_id, config_id, tenant, principal, dialect, origin, sealed, opened, answer = row[:10]
    created_at, worker, epoch, cursor, state, whole, attempts, failing_since, not_before, trouble, seq, task_state = (
        row[10:]
    )
    return Push(
        n=n,
        task_id=task_id or "",
        id=config_id,
        scope=Scope(tenant, principal),
        dialect=dialect,
        origin=origin,
        sealed=sealed,
        opened=decode_status(opened) if opened else None,
        answer=decode_message(answer) if answer else None,
        created=from_microseconds(created_at),
        worker=worker,
        epoch=epoch,
        cursor=cursor,
        state=PushState(state),
        whole=bool(whole),
        attempts=attempts,
        failing_since=None if failing_since is None else from_microseconds(failing_since),
        not_before=None if not_before is None else from_microseconds(not_before),
        trouble=trouble,
        seq=seq or 0,
        terminal=task_state is not None and TaskState(task_state).terminal,
    )


def _readable(rows: Iterable[tuple[Any, ...]]) -> tuple[Push, ...]:
    """Those whose records can be read: one that is damaged must not keep the others from being delivered to."""
    found: list[Push] = []
    for row in rows:
        try:
            found.append(pushed(row))
        except StoreUnavailable as error:
            log.error("configuration %s of task %s is left alone: %s", row[2], row[1], error)  # noqa: TRY400 -- the traceback would say nothing more
    return tuple(found)


def read_one(connection: sqlite3.Connection, task_id: str, scope: Scope, config_id: str) -> Push | None:
    if not task_id:
        where = (
            "push.task is null and push.id = ? and push.tenant = ? and push.principal = ? order by push.n desc limit 1"
        )
        rows = selected(connection, where, (config_id, scope.tenant, scope.principal))
    else:
        where = "task.id = ? and task.tenant = ? and task.principal = ? and push.id = ?"
        rows = selected(connection, where, (task_id, scope.tenant, scope.principal, config_id))
    return pushed(rows[0]) if rows else None


def read_of_task(
    connection: sqlite3.Connection, task_id: str, scope: Scope, after: int, limit: int
) -> tuple[Push, ...]:
    where = "task.id = ? and task.tenant = ? and task.principal = ? and push.n > ? order by push.n limit ?"
    return tuple(map(pushed, selected(connection, where, (task_id, scope.tenant, scope.principal, after, limit))))


def read_due(
    connection: sqlite3.Connection, worker: str, alive_since: datetime, after: int, limit: int
) -> tuple[Push, ...]:
    """What is due to this worker, and to those who have not beaten since; found in an index of what is due alone.
    Beside 100,000 live ones that are not due, finding that nothing is takes 0.2 ms.
    """
    with transaction(connection, "begin"):
        owners = [owner for (owner,) in connection.execute(_WORKERS, (worker, to_microseconds(alive_since)))]
        where = f"""push.n in (select n from push where due and worker in ({", ".join("?" * len(owners))}) and n > ?
                    order by n limit ?) order by push.n"""  # noqa: S608 -- made of this module's own words only
        return _readable(selected(connection, where, (*owners, after, limit)))


def read_in_state(connection: sqlite3.Connection, state: PushState, after: int, limit: int) -> tuple[Push, ...]:
    where = "push.state = ? and push.n > ? order by push.n limit ?"
    return _readable(selected(connection, where, (state.value, after, limit)))


def read_letters(connection: sqlite3.Connection, n: int, limit: int) -> tuple[DeadLetter, ...]:
    rows = connection.execute(
        "select seq, at, trouble from push_letter where push = ? order by number desc limit ?", (n, limit)
    ).fetchall()
    return tuple(DeadLetter(seq=seq, at=from_microseconds(at), trouble=trouble) for seq, at, trouble in rows)
