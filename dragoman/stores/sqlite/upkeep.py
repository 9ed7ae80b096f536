"""What is done to a store's file by hand: looked through, made smaller, written out, read in. None of it waits long
for a server that has the file: looking and writing out go on beside it, the rest is refused with `StoreInUse`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import ConfigurationError
from dragoman.stores.sqlite import audit, schema, transfer
from dragoman.stores.sqlite.outside import changing, looking

__all__ = ["Checked", "check", "export", "read_in", "vacuum"]


class Checked(NamedTuple):
    """How many tasks there are, and what is wrong: nothing, in a store that is sound."""

    tasks: int
    problems: tuple[str, ...]


def check(path: Path) -> Checked:
    """Looks through the whole file, as of one moment.

    Raises:
        ConfigurationError: the file is no store, or of another schema.
        StoreUnavailable: it cannot be read so far.
    """
    with looking(path) as (connection, _):
        problems = audit.damage(connection) or list(audit.violations(connection))
        (tasks,) = connection.execute("select count(*) from task").fetchone()
        return Checked(tasks, tuple(problems))


def export(path: Path) -> Iterator[bytes]:
    """The lines of `transfer`, as of one moment.

    Raises:
        ConfigurationError, StoreUnavailable: as `check`; also in the middle.
    """
    with looking(path) as (connection, owner):
        yield from transfer.exported(connection, owner)


def vacuum(path: Path) -> tuple[int, int]:
    """Brings the schema up to date and gives free pages back to the file system; the sizes before and after, in bytes.

    Raises:
        StoreInUse: a server has the file.
        ConfigurationError: the file is no store, or was written by a later version.
        StoreUnavailable: it cannot be written.
    """
    with looking(path, any_schema=True) as (_, owner):
        before = path.stat().st_size
    with changing(path, owner) as connection:
        connection.execute("vacuum")
        connection.execute("pragma wal_checkpoint(truncate)")
    return before, path.stat().st_size


def read_in(path: Path, lines: Iterable[bytes], *, owner: str | None = None, merge: bool = False) -> transfer.Count:
    """Adds all tasks and keys of an export, or nothing. A file that is not there is made, and is the `owner`'s: by
    default the one of the export.

    Raises:
        ConfigurationError: the export cannot be read, does not hold together, or a task of it is there already; or
            the store is not empty, and `merge` is not set.
        StoreInUse: a server has the file, or it is another owner's.
        StoreUnavailable: it cannot be written.
    """
    lines = iter(lines)
    header = transfer.read_header(next(lines, b""))
    with schema.translated(path):
        schema.create_file(path)
    with changing(path, header.owner if owner is None else owner) as connection:
        with schema.transaction(connection, "begin immediate"):
            (tasks,) = connection.execute("select count(*) from task").fetchone()
            if tasks and not merge:
                raise ConfigurationError(f"{path} holds {tasks} tasks already; --merge adds to them")
            added = transfer.imported(connection, lines)
            for problem in audit.violations(connection):
                raise ConfigurationError(f"Nothing was read in, since the store would not be sound: {problem}")
        connection.execute("pragma wal_checkpoint(truncate)")
        return added
