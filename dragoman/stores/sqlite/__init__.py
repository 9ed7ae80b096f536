"""The store in a SQLite file."""

from dragoman.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
