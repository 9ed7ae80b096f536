"""The database file: how connections to it are made, its tables, and how they came to be.

A task's row is small and written often; its snapshot is large and written seldom, so it has a table of its own.
`n` is the number of a task within the file: it keeps keys short, and new rows together.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from dragoman.errors import ConfigurationError, StoreInUse, StoreUnavailable

__all__ = [
    "SYNCHRONOUS",
    "VERSION",
    "connect_beside",
    "connect_reader",
    "connect_writer",
    "create_file",
    "emptied",
    "identity",
    "migrate",
    "transaction",
    "translated",
]

SYNCHRONOUS = ("full", "normal", "off")
"""What survives a power cut: everything acknowledged; all but the last moments; perhaps not even the file."""

APPLICATION = 0x44524147
OLDEST_SQLITE = (3, 33, 0)
BUSY_SECONDS = 5.0
WAL_LIMIT_BYTES = 64_000_000
CHECKPOINT_PAGES = 4_000

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """create table task (
            n integer primary key,
            id text not null unique,
            tenant text not null,
            principal text not null,
            context_id text not null,
            skill text not null,
            turn integer not null,
            start blob not null,
            trace text not null,
            shard integer not null,
            state text not null,
            seq integer not null,
            epoch integer not null,
            posted integer not null,
            status_at integer not null,
            created_at integer not null
        )""",
        "create index task_in_order on task (tenant, principal, status_at, id)",
        "create index task_by_state on task (tenant, principal, state, status_at, id)",
        # Without the time, so that a new status touches no page that is as good as random.
        "create index task_by_context on task (context_id, tenant, principal)",
        """create table snapshot (
            n integer primary key,
            seq integer not null,
            body blob not null,
            artifacts blob not null
        )""",
        """create table event (
            n integer not null,
            first integer not null,
            last integer not null,
            epoch integer not null,
            has_status integer not null,
            body blob not null,
            primary key (n, last)
        ) without rowid""",
        """create table inbox (
            n integer not null,
            number integer not null,
            body blob not null,
            primary key (n, number)
        ) without rowid""",
        """create table memo (
            written integer primary key,
            n integer not null,
            turn integer not null,
            kind text not null,
            key text not null,
            body blob not null,
            unique (n, turn, kind, key)
        )""",
        """create table tally (
            tenant text not null,
            principal text not null,
            state text not null,
            tasks integer not null,
            primary key (tenant, principal, state)
        ) without rowid""",
    ),
    (
        "alter table task add column worker text not null default ''",
        "alter table task add column attempt integer not null default 1",
        "create table worker (id text primary key, beat_at integer not null) without rowid",
        # `task` is the id of the task that the request went to; empty if there is an answer.
        """create table known (
            tenant text not null,
            principal text not null,
            message_id text not null,
            digest text not null,
            task text not null,
            answer blob not null,
            expires integer not null,
            primary key (tenant, principal, message_id)
        ) without rowid""",
        "create index known_by_expiry on known (expires)",
        "create index known_by_task on known (task)",
        "insert into meta values ('pruned', 0)",
    ),
    (
        # `task` is the number of a task; null for a direct answer, which is in `answer` then. `due` says whether
        # somebody has to look: it is live, and there is something to deliver, or its task has ended.
        """create table push (
            n integer primary key,
            task integer,
            id text not null,
            tenant text not null,
            principal text not null,
            dialect text not null,
            origin text not null,
            sealed blob not null,
            opened blob not null,
            answer blob not null,
            created_at integer not null,
            worker text not null,
            epoch integer not null,
            cursor integer not null,
            state text not null,
            whole integer not null,
            attempts integer not null,
            failing_since integer,
            not_before integer,
            trouble text not null,
            due integer not null
        )""",
        "create unique index push_by_task on push (task, id)",
        "create index push_due on push (worker, n) where due",
        "create index push_by_state on push (state, n)",
        """create table push_letter (
            number integer primary key,
            push integer not null,
            seq integer not null,
            at integer not null,
            trouble text not null
        )""",
        "create index push_letter_by_push on push_letter (push)",
        # Tasks whose log the mark has passed by, because it is still to be delivered.
        "create table spared (n integer primary key)",
    ),
    (
        # `n` is the number of the task that the request went to; 0 if there is an answer. In the order of the tasks an
        # index grows at its end; in that of their ids, which are random, each key touched a page of its own.
        "drop index known_by_task",
        "alter table known add column n integer not null default 0",
        "update known set n = coalesce((select task.n from task where task.id = known.task), 0)",
        "create index known_by_number on known (n) where n > 0",
    ),
)
"""What makes version 1, 2, ... of the schema out of the one before. Never changed once released, only continued."""
VERSION = len(MIGRATIONS)


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Turns what the file or its contents may fail with into `StoreUnavailable`."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(f"{path}: {error}") from error


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    """Commits at the end, or rolls back if anything fails, the commit included."""
    connection.execute(begin)
    try:
        yield
        connection.execute("commit")
    except BaseException:
        # The engine has rolled back on its own after some errors.
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("rollback")
        raise


def emptied(connection: sqlite3.Connection, milliseconds: int) -> bool:
    """Moves everything from the write-ahead log into the file itself, so that what was erased does not live on in it.

    Waits so long for those who look at how things were before; False if they still do.
    """
    with suppress(sqlite3.Error):
        connection.execute(f"pragma busy_timeout = {milliseconds}")
        try:
            (busy, *_) = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        finally:
            connection.execute(f"pragma busy_timeout = {round(BUSY_SECONDS * 1000)}")
        return not busy
    return False


def create_file(path: Path) -> None:
    """Makes an empty file that only its owner may read, and the folders above it, unless they are there."""
    if path.is_dir():
        raise ConfigurationError(f"{path} is a directory; a store is a file in one")
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def connect_writer(path: Path, synchronous: str) -> sqlite3.Connection:
    """The connection that writes. It commits nothing on its own."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise ConfigurationError(f"This Python has SQLite {sqlite3.sqlite_version}; a store needs {needed} or newer")
    connection = _connect(path)
    try:
        _set_up(connection, path, synchronous)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write; for one thread at a time."""
    connection = _connect(path)
    connection.execute("pragma query_only = on")
    return connection


def connect_beside(path: Path) -> sqlite3.Connection:
    """A connection for somebody who has not locked the file: it never changes it. There must be one."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def identity(connection: sqlite3.Connection, path: Path) -> tuple[str, int]:
    """The owner of a store, and the version of its schema.

    Raises:
        ConfigurationError: the file is no store, or was written by a later version.
    """
    (application,) = connection.execute("pragma application_id").fetchone()
    if application != APPLICATION:
        raise ConfigurationError(f"{path} is not a store of Dragoman's")
    (owner,) = connection.execute("select value from meta where key = 'owner'").fetchone()
    (version,) = connection.execute("select value from meta where key = 'schema'").fetchone()
    _refuse_later(version, path)
    return owner, version


def migrate(connection: sqlite3.Connection, path: Path, owner: str) -> None:
    """Brings the schema up to date, and makes the file the owner's if it is new.

    Raises:
        ConfigurationError: the file is some other application's, or was written by a later version.
        StoreInUse: the file is another owner's.
    """
    with transaction(connection, "begin immediate"):
        (application,) = connection.execute("pragma application_id").fetchone()
        (tables,) = connection.execute("select count(*) from sqlite_schema").fetchone()
        if application != APPLICATION:
            if tables:
                raise ConfigurationError(f"{path} is a database, but not a store of Dragoman's")
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute("create table meta (key text primary key, value) without rowid")
            connection.execute("insert into meta values ('schema', 0), ('owner', ?)", (owner,))
        _upgrade(connection, path)
        (known,) = connection.execute("select value from meta where key = 'owner'").fetchone()
    if known != owner:
        raise StoreInUse(
            f"{path} belongs to the agent {known!r}, not to {owner!r}: "
            f"give this agent a store of its own, such as sqlite:///{path.with_name(owner or 'agent')}.db"
        )


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("select value from meta where key = 'schema'").fetchone()
    _refuse_later(version, path)
    if version == len(MIGRATIONS):
        return  # and nothing is written: a full disk can be opened
    for steps in MIGRATIONS[version:]:
        for statement in steps:
            connection.execute(statement)
    connection.execute("update meta set value = ? where key = 'schema'", (len(MIGRATIONS),))


def _refuse_later(version: int, path: Path) -> None:
    if version > len(MIGRATIONS):
        raise ConfigurationError(f"{path} was written by a later version of Dragoman (schema {version})")


def _set_up(connection: sqlite3.Connection, path: Path, synchronous: str) -> None:
    (mode,) = connection.execute("pragma journal_mode = wal").fetchone()
    if mode != "wal":
        raise StoreUnavailable(f"{path}: its file system does not support write-ahead logging")
    connection.execute(f"pragma synchronous = {synchronous}")
    connection.execute(f"pragma journal_size_limit = {WAL_LIMIT_BYTES}")
    connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
    # Erased means gone: what a row held is overwritten, wherever it was moved from.
    connection.execute("pragma secure_delete = on")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256, check_same_thread=False
    )
