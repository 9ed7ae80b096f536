"""What must hold of a store's file beyond what the database engine sees to itself."""

import sqlite3
from collections.abc import Iterator

from dragoman.core.lifecycle import fold
from dragoman.core.views import position, to_microseconds
from dragoman.errors import StoreUnavailable
from dragoman.stores.record import (
    decode_entries,
    decode_letter,
    decode_memo,
    decode_message,
    decode_start,
    decode_task,
)
from dragoman.stores.sqlite.bulk import TERMINAL
from dragoman.stores.sqlite.push_rows import pushed, selecting

__all__ = ["damage", "violations"]

# What each statement finds is a violation: of which task, and what is wrong.
_RULES = (
    "select id, 'has no snapshot' from task where n not in (select n from snapshot)",
    """select id, 'has a snapshot of ' || snapshot.seq || ', and stands at ' || task.seq
       from task join snapshot using (n) where snapshot.seq > task.seq""",
    f"""select id, 'has ended at ' || task.seq || ', with a snapshot of ' || snapshot.seq
        from task join snapshot using (n) where state in ({TERMINAL}) and snapshot.seq < task.seq""",  # noqa: S608 -- made of this package's own words only
    """select id, 'has ' || first || ' to ' || last || ' in its log after ' || before
       from (select n, first, last, lag(last, 1, 1) over (partition by n order by last) as before from event)
       join task using (n) where first <> before + 1 or last < first""",
    """select id, 'has a log up to ' || max(last) || ', and stands at ' || seq
       from task join event using (n) group by n having max(last) <> seq""",
    f"""select id, 'stands at ' || seq || ' and has no log' from task
        where seq > 1 and state not in ({TERMINAL}) and n not in (select n from event)""",  # noqa: S608 -- made of this package's own words only
    """select id, 'has epoch ' || event_epoch || ' in its log after ' || before
       from (select n, epoch as event_epoch, lag(epoch, 1, 1) over (partition by n order by last) as before from event)
       join task using (n) where event_epoch < before""",
    """select id, 'has epoch ' || max(event.epoch) || ' in its log, and is in ' || task.epoch
       from task join event using (n) group by n having max(event.epoch) > task.epoch""",
    """select id, 'has message ' || max(number) || ' in its inbox, of ' || posted
       from task join inbox using (n) group by n having max(number) > posted""",
    *(
        f"select '', 'rows of {table} belong to no task: ' || count(*) from {table} "  # noqa: S608 -- made of this module's own words only
        "where n not in (select n from task) having count(*) > 0"
        for table in ("snapshot", "event", "inbox", "memo", "spared")
    ),
    """select '', tasks || ' tasks are counted as ' || counted || ' in state ' || state from (
           select tenant, principal, state, sum(is_task) as tasks, sum(counted) as counted from (
               select tenant, principal, state, 1 as is_task, 0 as counted from task
               union all select tenant, principal, state, 0, tasks from tally)
           group by tenant, principal, state) where tasks <> counted""",
    """select task, 'is known by a key and is not there' from known
       where task <> '' and task not in (select id from task)""",
    """select known.task, 'is known by a key under the number of another' from known join task on task.id = known.task
       where known.n <> task.n""",
    "select task, 'and an answer are known by one key, or neither' from known where (task = '') = (answer = x'')",
    """select '', 'configuration ' || id || ' belongs to no task' from push
       where task is not null and task not in (select n from task)""",
    """select '', 'dead letters of no configuration: ' || count(*) from push_letter
       where push not in (select n from push) having count(*) > 0""",
    """select '', 'configuration ' || id || ' has no task, and no answer' from push
       where task is null and answer = x''""",
    """select task.id, 'and an answer are of one configuration, ' || push.id
       from push join task on task.n = push.task where answer <> x''""",
    """select task.id, 'is not in the scope of its configuration ' || push.id from push join task on task.n = push.task
       where push.tenant <> task.tenant or push.principal <> task.principal""",
    """select task.id, 'stands at ' || task.seq || ', and its configuration ' || push.id || ' at ' || cursor
       from push join task on task.n = push.task where cursor > task.seq""",
    f"""select coalesce(task.id, ''), 'configuration ' || push.id || ' is counted among what is '
           || case when due then 'due' else 'not due' end
       from push left join task on task.n = push.task
       where due <> (push.state = 'live' and (push.task is null or whole or cursor < task.seq
                     or task.state in ({TERMINAL})))""",  # noqa: S608 -- made of this package's own words only
    f"""select id, 'has not ended, and its log is spared' from task
        where n in (select n from spared) and state not in ({TERMINAL})""",  # noqa: S608 -- made of this package's own words only
)


def damage(connection: sqlite3.Connection) -> list[str]:
    """What the database engine finds wrong with its own pages and indexes, up to 100 lines."""
    found = [str(line) for (line,) in connection.execute("pragma integrity_check")]
    return [] if found == ["ok"] else found


def violations(connection: sqlite3.Connection) -> Iterator[str]:
    """What does not hold of the tasks, one line each; the connection is in a transaction, the file undamaged."""
    for rule in _RULES:
        for task_id, wrong in connection.execute(rule):
            yield f"task {task_id} {wrong}" if task_id else str(wrong)
    tasks = connection.execute(
        """select n, id, context_id, state, status_at, task.seq, start, snapshot.seq, body, artifacts
           from task join snapshot using (n)"""
    )
    for row in tasks:
        try:
            _read_all(connection, row)
        except (StoreUnavailable, ValueError) as error:
            yield f"task {row[1]}: {error}"
    yield from _damaged_records(connection)


def _damaged_records(connection: sqlite3.Connection) -> Iterator[str]:
    """Those of what is kept beside the tasks."""
    for message_id, answer in connection.execute("select message_id, answer from known where answer <> x''"):
        try:
            decode_message(answer)
        except StoreUnavailable as error:
            yield f"answer to message {message_id}: {error}"
    for row in selecting(connection, "1 order by push.n", ()):
        try:
            pushed(row)
        except (StoreUnavailable, ValueError, OverflowError) as error:
            yield f"configuration {row[2]}: {error}"


def _read_all(
    connection: sqlite3.Connection, row: tuple[int, str, str, str, int, int, bytes, int, bytes, bytes]
) -> None:
    """Reads every record of a task, and compares with them what stands in columns.

    Raises:
        StoreUnavailable: a record cannot be read.
        ValueError: a column says something else.
    """
    n, task_id, context_id, state, status_at, _, start, snapshot_seq, body, artifacts = row
    decode_start(start)
    task = decode_task(body, artifacts)
    log = connection.execute("select first, last, body from event where n = ? order by last", (n,))
    for first, last, events in log:
        entries = decode_entries(events)
        if [entry.seq for entry in entries] != list(range(first, last + 1)):
            raise ValueError(f"the entries filed as {first} to {last} are others")
        if first > snapshot_seq:
            task = fold(task, [(entry.event, entry.received) for entry in entries])
    told = task.id, task.context_id, task.state.value, to_microseconds(position(task)[0])
    if told != (task_id, context_id, state, status_at):
        raise ValueError(f"its columns and its records differ: {(task_id, context_id, state, status_at)} and {told}")
    for (letter,) in connection.execute("select body from inbox where n = ?", (n,)):
        decode_letter(letter)
    for (memo,) in connection.execute("select body from memo where n = ?", (n,)):
        decode_memo(memo)
