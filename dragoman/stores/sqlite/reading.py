"""The reads: what tasks look like from a connection that cannot write. Each sees one moment of the database."""

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from dragoman.core.lifecycle import fold
from dragoman.core.views import listed, to_microseconds
from dragoman.errors import StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry, Page, Posted, Query, Stored
from dragoman.stores.held import Held
from dragoman.stores.record import decode_entries, decode_letter, decode_memo, decode_start, decode_task
from dragoman.stores.sqlite.schema import transaction
from dragoman.types.task import Task, TaskState

__all__ = ["load", "read_claimable", "read_entries", "read_page"]

Value = int | str
_Row = tuple[int, str, str, str, str, int, bytes, int, int, int, str, int, int, bytes, bytes]

log = logging.getLogger("dragoman.stores")

ENTRIES_BYTES = 1_000_000
"""How much of a log one read brings, as it is stored; more only if one piece of it is larger."""

_TASK = """
    select task.n, task.id, tenant, principal, skill, turn, start, epoch, task.seq, posted, worker, attempt,
    snapshot.seq, body, artifacts from task join snapshot using (n)
"""


def load(connection: sqlite3.Connection, task_id: str, scope: Scope | None = None) -> tuple[Held, int] | None:
    """A task, with a scope only one of it, with all that belongs to it but the log, and how many bytes its records
    are.
    """
    where, values = "id = ?", [task_id]
    if scope is not None:
        where, values = f"{where} and tenant = ? and principal = ?", [task_id, scope.tenant, scope.principal]
    with transaction(connection, "begin"):
        row = connection.execute(f"{_TASK} where {where}", values).fetchone()
        return None if row is None else _held(connection, row)


_UNSETTLED = ", ".join(f"'{state.value}'" for state in TaskState if not state.settled)
_UNFINISHED = f"""(tenant, principal, state) in
    (select tenant, principal, state from tally where tasks > 0 and state in ({_UNSETTLED}))"""  # noqa: S608 -- made of this module's own words only
"""The tasks that are not settled, found by the states that the tally counts."""
_ORDER = "worker = '', status_at, id"
# Chosen before the large columns are looked at: a long queue is read at every look for tasks.
_CLAIMABLE = f"""{_TASK} where n in
    (select n from task where {_UNFINISHED} and worker not in (select id from worker where beat_at > ?)
     order by {_ORDER} limit ?) order by {_ORDER}"""  # noqa: S608 -- made of this module's own words only


def read_claimable(connection: sqlite3.Connection, alive_since: datetime, limit: int) -> tuple[Stored, ...]:
    """Tasks that nobody works on: those of the dead first, then those that are queued."""
    with transaction(connection, "begin"):
        return _readable(connection, connection.execute(_CLAIMABLE, (to_microseconds(alive_since), limit)).fetchall())


def _readable(connection: sqlite3.Connection, rows: Sequence[_Row]) -> tuple[Stored, ...]:
    """The tasks whose records can be read. One that is damaged must not stop the server from serving the others."""
    found: list[Stored] = []
    for row in rows:
        try:
            found.append(_held(connection, row)[0].stored())
        except StoreUnavailable as error:
            log.error("a task is left alone: %s", error)  # noqa: TRY400 -- the traceback would say nothing more
    return tuple(found)


def read_entries(
    connection: sqlite3.Connection, task_id: str, scope: Scope, after: int, limit: int
) -> tuple[Entry, ...]:
    found: list[Entry] = []
    size = 0
    with transaction(connection, "begin"):
        rows = connection.execute(
            """select body from event join task using (n)
               where id = ? and tenant = ? and principal = ? and last > ? order by last""",
            (task_id, scope.tenant, scope.principal, after),
        )
        for (body,) in rows:
            found += [entry for entry in decode_entries(body) if entry.seq > after]
            size += len(body)
            if len(found) >= limit or (found and size >= ENTRIES_BYTES):
                break
        rows.close()
    return tuple(found[:limit])


def read_page(connection: sqlite3.Connection, query: Query, scope: Scope) -> Page:
    where, values = _matching(query, scope)
    before = ""
    place: list[Value] = []
    if query.before is not None:
        before = "and (status_at, id) < (?, ?)"
        place = [to_microseconds(query.before[0]), query.before[1]]
    with transaction(connection, "begin"):
        index = _index(connection, query, scope)
        rows = connection.execute(
            f"""select task.n, task.seq, snapshot.seq, body, {"artifacts" if query.artifacts else "x''"}
                from task indexed by {index} join snapshot using (n) where {where} {before}
                order by status_at desc, id desc limit ?""",  # noqa: S608 -- made of this module's own words only
            [*values, *place, query.limit + 1],
        ).fetchall()
        total = _total(connection, query, scope)
        tasks = tuple(_listed(connection, row, artifacts=query.artifacts) for row in rows[: query.limit])
    return Page(tasks=tasks, total=total, more=len(rows) > query.limit)


def _matching(query: Query, scope: Scope) -> tuple[str, list[Value]]:
    tests = ["tenant = ? and principal = ?"]
    values: list[Value] = [scope.tenant, scope.principal]
    if query.context_id is not None:
        tests.append("context_id = ?")
        values.append(query.context_id)
    if query.state is not None:
        tests.append("state = ?")
        values.append(query.state.value)
    if query.since is not None:
        tests.append("status_at >= ?")
        values.append(to_microseconds(query.since))
    return " and ".join(tests), values


def _index(connection: sqlite3.Connection, query: Query, scope: Scope) -> str:
    """The index that finds the page with the fewest steps.

    The index by context is not in order: all of the context is read and sorted. A large context is found sooner by
    going through everything in order until the page is full.
    """
    ordered = "task_in_order" if query.state is None else "task_by_state"
    if query.context_id is None:
        return ordered
    (in_context,) = connection.execute(
        "select count(*) from task where context_id = ? and tenant = ? and principal = ?",
        (query.context_id, scope.tenant, scope.principal),
    ).fetchone()
    return "task_by_context" if in_context**2 <= query.limit * _tallied(connection, query, scope) else ordered


def _tallied(connection: sqlite3.Connection, query: Query, scope: Scope) -> int:
    """How many tasks of the scope are in the state, or in any."""
    chosen = "" if query.state is None else "and state = ?"
    state = [] if query.state is None else [query.state.value]
    (tasks,) = connection.execute(
        f"select coalesce(sum(tasks), 0) from tally where tenant = ? and principal = ? {chosen}",  # noqa: S608 -- made of this module's own words only
        [scope.tenant, scope.principal, *state],
    ).fetchone()
    return int(tasks)


def _total(connection: sqlite3.Connection, query: Query, scope: Scope) -> int:
    if query.context_id is None and query.since is None:
        return _tallied(connection, query, scope)
    where, values = _matching(query, scope)
    index = "" if query.context_id is None else "indexed by task_by_context"
    (total,) = connection.execute(
        f"select count(*) from task {index} where {where}",  # noqa: S608 -- made of this module's own words only
        values,
    ).fetchone()
    return int(total)


def _listed(connection: sqlite3.Connection, row: tuple[int, int, int, bytes, bytes], *, artifacts: bool) -> Task:
    n, seq, snapshot_seq, body, artifacts_body = row
    task = decode_task(body, artifacts_body)
    if snapshot_seq < seq:
        later, _ = _later(connection, n, snapshot_seq, status_only=not artifacts)
        task = fold(task, [(entry.event, entry.received) for entry in later])
    return listed(task, artifacts=artifacts)


def _held(connection: sqlite3.Connection, row: _Row) -> tuple[Held, int]:
    try:
        return _built(connection, row)
    except StoreUnavailable as error:
        raise StoreUnavailable(f"Task {row[1]}: {error}") from error


def _built(connection: sqlite3.Connection, row: _Row) -> tuple[Held, int]:
    n, _, tenant, principal, skill, turn, start, epoch, seq, posted, worker, attempt, base, body, artifacts = row
    tail: list[Entry] = []
    size = len(body) + len(artifacts)
    if base < seq:
        tail, tail_size = _later(connection, n, base)
        size += tail_size
    stored = Stored(
        task=decode_task(body, artifacts),
        seq=seq,
        epoch=epoch,
        scope=Scope(tenant, principal),
        skill=skill,
        turn=turn,
        start=decode_start(start),
        worker=worker,
        attempt=attempt,
    )
    held = Held(stored, tail=tail)
    held.posted = posted
    for number, letter in _letters(connection, n):
        size += len(letter)
        found = decode_letter(letter)
        held.inbox[number] = Posted(n=number, message=found.message, start=found.start)
    for (memo_body,) in connection.execute("select body from memo where n = ? order by written", (n,)):
        size += len(memo_body)
        memo = decode_memo(memo_body)
        held.memos[memo.turn, memo.kind, memo.key] = memo
    return held, size


def _letters(connection: sqlite3.Connection, n: int) -> Iterable[tuple[int, bytes]]:
    return connection.execute("select number, body from inbox where n = ? order by number", (n,))


def _later(connection: sqlite3.Connection, n: int, after: int, *, status_only: bool = False) -> tuple[list[Entry], int]:
    """The entries after a snapshot, and the bytes of their records; only runs with statuses where that is enough."""
    chosen = "and has_status" if status_only else ""
    rows = connection.execute(
        f"select body from event where n = ? and last > ? {chosen} order by last",  # noqa: S608 -- made of this module's own words only
        (n, after),
    ).fetchall()
    return [entry for (body,) in rows for entry in decode_entries(body)], sum(len(body) for (body,) in rows)
