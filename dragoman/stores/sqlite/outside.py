"""The ways to a store's file for those who are not its server. None waits long for one that has the file."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from dragoman.errors import ConfigurationError
from dragoman.stores.sqlite import schema
from dragoman.stores.sqlite.lock import FileLock

__all__ = ["changing", "looking"]


@contextmanager
def looking(path: Path, *, any_schema: bool = False) -> Generator[tuple[sqlite3.Connection, str]]:
    """A connection that cannot write, in a transaction, and the owner of the file."""
    if not path.is_file():
        raise ConfigurationError(f"There is no file {path}")
    with schema.translated(path), closing(schema.connect_beside(path)) as connection:
        connection.execute("begin")
        owner, version = schema.identity(connection, path)
        if version < schema.VERSION and not any_schema:
            raise ConfigurationError(
                f"{path} is of schema {version}: start its server with this version, or run `dragoman store vacuum`"
            )
        yield connection, owner


@contextmanager
def changing(path: Path, owner: str) -> Generator[sqlite3.Connection]:
    """The connection of the only one who has the file."""
    with schema.translated(path):
        lock = FileLock(path)
        try:
            with closing(schema.connect_writer(path, "full")) as connection:
                schema.migrate(connection, path, owner)
                yield connection
        finally:
            lock.release()
