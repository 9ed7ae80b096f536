"""A store as lines of JSON: to be kept, looked through, moved to another machine or another kind of store.

The first line names the form and the owner, the last one counts what is between, so that nothing can be cut off
unseen. Each line between is a task with all that belongs to it, a key that makes a request known again, or a direct
answer that is still to be delivered to a webhook. What a configuration is sealed in stays sealed, as base64. Values
inside are records: they carry the numbers of their own forms. Workers are left out, since they do not move.
"""

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.stores import record
from dragoman.stores.sqlite.changes import shard
from dragoman.types.task import TaskState

__all__ = ["FORM", "Count", "Header", "exported", "imported", "read_header"]

FORM = 2
"""The form that is written, and the highest that is read. 1 knew nothing of push notifications."""


class Header(msgspec.Struct, frozen=True, tag_field="dragoman", tag="store"):
    """The first line."""

    form: int
    owner: str


class Count(msgspec.Struct, frozen=True):
    """How many tasks, keys and direct answers there are."""

    tasks: int = 0
    keys: int = 0
    answers: int = 0


class _Run(msgspec.Struct, frozen=True):
    """Entries that were committed together."""

    first: int
    last: int
    epoch: int
    has_status: bool
    entries: msgspec.Raw


class _Letter(msgspec.Struct, frozen=True):
    number: int
    letter: msgspec.Raw


class _Memo(msgspec.Struct, frozen=True):
    turn: int
    kind: str
    key: str
    memo: msgspec.Raw


class _DeadLetter(msgspec.Struct, frozen=True):
    seq: int
    at: int
    trouble: str


class _Push(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    principal: str
    dialect: str
    origin: str
    sealed: bytes
    created_at: int
    worker: str
    epoch: int
    cursor: int
    state: str
    whole: int
    attempts: int
    failing_since: int | None
    not_before: int | None
    trouble: str
    opened: msgspec.Raw
    answer: msgspec.Raw
    letters: tuple[_DeadLetter, ...]


class _Task(msgspec.Struct, frozen=True):
    """Times are whole microseconds since 1970; an absent record is null."""

    id: str
    tenant: str
    principal: str
    context_id: str
    skill: str
    turn: int
    trace: str
    state: str
    seq: int
    epoch: int
    posted: int
    status_at: int
    created_at: int
    worker: str
    attempt: int
    start: msgspec.Raw
    snapshot_seq: int
    snapshot: msgspec.Raw
    artifacts: msgspec.Raw
    log: tuple[_Run, ...]
    inbox: tuple[_Letter, ...]
    memos: tuple[_Memo, ...]
    pushes: tuple[_Push, ...] = ()


class _Key(msgspec.Struct, frozen=True):
    tenant: str
    principal: str
    message_id: str
    digest: str
    task: str
    expires: int
    answer: msgspec.Raw


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line after the first: it has one member."""

    task: _Task | None = None
    key: _Key | None = None
    answer: _Push | None = None
    end: Count | None = None


_TASKS = """
    select n, id, tenant, principal, context_id, skill, turn, trace, state, task.seq, epoch, posted, status_at,
    created_at, worker, attempt, start, snapshot.seq, body, artifacts from task join snapshot using (n) order by n
"""
_KEYS = "select tenant, principal, message_id, digest, task, expires, answer from known order by expires"
_PUSHES = """
    select n, id, tenant, principal, dialect, origin, sealed, created_at, worker, epoch, cursor, state, whole, attempts,
    failing_since, not_before, trouble, opened, answer from push where task is ? order by n
"""
_TERMINAL = frozenset(state.value for state in TaskState if state.terminal)
_ABSENT = msgspec.Raw(b"null")
_encode = msgspec.json.Encoder().encode
_headers = msgspec.json.Decoder(Header)
_lines = msgspec.json.Decoder(_Line)


def exported(connection: sqlite3.Connection, owner: str) -> Iterator[bytes]:
    """The lines, each with its end; the connection is in a transaction.

    Raises:
        StoreUnavailable: a record is damaged.
    """
    yield _encode(Header(FORM, owner)) + b"\n"
    tasks = keys = 0
    for n, *columns, start, seq, body, artifacts in connection.execute(_TASKS):
        record.decode_start(start)
        record.decode_task(body, artifacts)
        parts = _log(connection, n), _inbox(connection, n), _memos(connection, n), tuple(_pushes(connection, n))
        values: tuple[Any, ...] = (*columns, _raw(start), seq, _raw(body), _raw(artifacts), *parts)
        yield _encode(_Line(task=_Task(*values))) + b"\n"
        tasks += 1
    for *columns, answer in connection.execute(_KEYS):
        values = (*columns, _raw(answer))
        yield _encode(_Line(key=_Key(*values))) + b"\n"
        keys += 1
    answers = 0
    for answers, push in enumerate(_pushes(connection, None), 1):  # noqa: B007 -- the last number is the count
        yield _encode(_Line(answer=push)) + b"\n"
    yield _encode(_Line(end=Count(tasks, keys, answers))) + b"\n"


def _log(connection: sqlite3.Connection, n: int) -> tuple[_Run, ...]:
    runs = connection.execute("select first, last, epoch, has_status, body from event where n = ? order by last", (n,))
    return tuple(_Run(first, last, epoch, bool(has), _raw(body)) for first, last, epoch, has, body in runs)


def _inbox(connection: sqlite3.Connection, n: int) -> tuple[_Letter, ...]:
    letters = connection.execute("select number, body from inbox where n = ? order by number", (n,))
    return tuple(_Letter(number, _raw(body)) for number, body in letters)


def _memos(connection: sqlite3.Connection, n: int) -> tuple[_Memo, ...]:
    memos = connection.execute("select turn, kind, key, body from memo where n = ? order by written", (n,))
    return tuple(_Memo(turn, kind, key, _raw(body)) for turn, kind, key, body in memos)


def _pushes(connection: sqlite3.Connection, task: int | None) -> Iterator[_Push]:
    for n, *columns, opened, answer in connection.execute(_PUSHES, (task,)):
        letters = connection.execute("select seq, at, trouble from push_letter where push = ? order by number", (n,))
        values: tuple[Any, ...] = (*columns, _raw(opened), _raw(answer), tuple(_DeadLetter(*one) for one in letters))
        yield _Push(*values)


def _raw(body: bytes) -> msgspec.Raw:
    """The record as it stands.

    Raises:
        StoreUnavailable: it is no JSON, and would spoil its line.
    """
    return msgspec.Raw(record.intact(body)) if body else _ABSENT


def _record(raw: msgspec.Raw) -> bytes:
    return b"" if raw == _ABSENT else bytes(raw)


def read_header(line: bytes) -> Header:
    """What the first line says.

    Raises:
        ConfigurationError: it is no such line, or of a later form.
    """
    try:
        header = _headers.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError("This is no export of a store: its first line says something else") from error
    if header.form > FORM:
        raise ConfigurationError(f"The export has form {header.form}; this version reads up to {FORM}")
    return header


def imported(connection: sqlite3.Connection, lines: Iterable[bytes]) -> Count:
    """Adds what the lines after the first hold, within the transaction that is open. Keys that are known stay.

    Raises:
        ConfigurationError: a line cannot be read, a task is there already, or the end is missing.
    """
    (n,) = connection.execute("select coalesce(max(n), 0) from task").fetchone()
    tasks = keys = answers = 0
    for number, text in enumerate(lines, 2):
        line = _line(text, number)
        with _placed(number):
            _take(connection, n + tasks + 1, line)
        if line.task is not None:
            tasks += 1
        elif line.key is not None:
            keys += 1
        elif line.answer is not None:
            answers += 1
        elif line.end == Count(tasks, keys, answers):
            return Count(tasks, keys, answers)
        else:
            raise ConfigurationError(f"Line {number}: {tasks} tasks and {keys} keys came, not {line.end}")
    raise ConfigurationError("The export ends too early: the last line is missing")


@contextmanager
def _placed(number: int) -> Generator[None]:
    """Says in which line it was that the file refuses."""
    try:
        yield
    except (sqlite3.IntegrityError, OverflowError) as error:
        raise ConfigurationError(f"Line {number}: {error}") from error


def _take(connection: sqlite3.Connection, n: int, line: _Line) -> None:
    """Adds what a line holds; `n` is the number for a task."""
    if line.task is not None:
        _add(connection, n, line.task)
    if line.key is not None:
        _know(connection, line.key)
    if line.answer is not None:
        _add_push(connection, None, line.answer, due=line.answer.state == "live")


def _line(text: bytes, number: int) -> _Line:
    try:
        return _lines.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Line {number}: {error}") from error


def _add(connection: sqlite3.Connection, n: int, task: _Task) -> None:
    row = (
        n, task.id, task.tenant, task.principal, task.context_id, task.skill, task.turn, bytes(task.start), task.trace,
        shard(task.id), task.state, task.seq, task.epoch, task.posted, task.status_at, task.created_at, task.worker,
        task.attempt,
    )  # fmt: skip
    try:
        _insert(connection, "task", [row])
    except sqlite3.IntegrityError as error:
        raise sqlite3.IntegrityError(f"task {task.id} is there already") from error
    _add_rest(connection, n, task)


def _add_rest(connection: sqlite3.Connection, n: int, task: _Task) -> None:
    _insert(connection, "snapshot", [(n, task.snapshot_seq, bytes(task.snapshot), _record(task.artifacts))])
    _insert(
        connection,
        "event",
        [(n, run.first, run.last, run.epoch, int(run.has_status), bytes(run.entries)) for run in task.log],
    )
    _insert(connection, "inbox", [(n, letter.number, bytes(letter.letter)) for letter in task.inbox])
    _insert(connection, "memo", [(None, n, memo.turn, memo.kind, memo.key, bytes(memo.memo)) for memo in task.memos])
    for push in task.pushes:
        to_do = task.state in _TERMINAL or bool(push.whole) or push.cursor < task.seq
        _add_push(connection, n, push, due=to_do and push.state == "live")
    connection.execute(
        """insert into tally values (?, ?, ?, 1)
           on conflict (tenant, principal, state) do update set tasks = tasks + 1""",
        (task.tenant, task.principal, task.state),
    )


def _add_push(connection: sqlite3.Connection, task: int | None, push: _Push, *, due: bool) -> None:
    row = (
        None, task, push.id, push.tenant, push.principal, push.dialect, push.origin, push.sealed, _record(push.opened),
        _record(push.answer), push.created_at, push.worker, push.epoch, push.cursor, push.state, push.whole,
        push.attempts, push.failing_since, push.not_before, push.trouble, int(due),
    )  # fmt: skip
    _insert(connection, "push", [row])
    (n,) = connection.execute("select last_insert_rowid()").fetchone()
    _insert(connection, "push_letter", [(None, n, one.seq, one.at, one.trouble) for one in push.letters])


def _know(connection: sqlite3.Connection, key: _Key) -> None:
    found = connection.execute("select n from task where id = ?", (key.task,)).fetchone()
    (n,) = (0,) if found is None else found
    row = (
        key.tenant, key.principal, key.message_id, key.digest, key.task, _record(key.answer), key.expires, n,
    )  # fmt: skip
    _insert(connection, "known", [row], "or ignore")


def _insert(connection: sqlite3.Connection, table: str, rows: list[tuple[object, ...]], otherwise: str = "") -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"insert {otherwise} into {table} values ({places})", rows)  # noqa: S608 -- made of this module's own words only
