"""What a batch of changes writes of configurations of push notifications."""

import sqlite3

from dragoman.stores.sqlite.bulk import TERMINAL, Bulk, Row, fenced

__all__ = ["FENCE", "MOVE", "REPLACE", "PushWave", "advance"]

FENCE = "push.epoch = was.column2"
"""What must still hold of a configuration for a move to be written, whatever was checked before."""

_MOVED = f"""epoch = was.column3, cursor = was.column4, state = was.column5, whole = was.column6,
    attempts = was.column7, failing_since = was.column8, not_before = was.column9, trouble = was.column10,
    worker = coalesce(was.column11, worker),
    due = was.column5 = 'live' and (was.column6 or task is null or exists (
        select 1 from task where task.n = push.task and (seq > was.column4 or task.state in ({TERMINAL}))))"""  # noqa: S608 -- made of this module's own words only


def advance(fence: str = FENCE) -> Bulk:
    """The fenced move of a configuration."""
    return Bulk(f"update push set {_MOVED} from (values", 11, f") as was where push.n = was.column1 and {fence}")  # noqa: S608 -- made of this module's own words only


REPLACE = Bulk("insert or replace into push values", 21)
# Of the indexes it is told the right one: most configurations are live, and few are of this task.
_BEHIND = Bulk(
    "update push indexed by push_by_task set due = 1 where state = 'live' and not due and task in (values", 1, ")"
)
_PUT = Bulk("insert into push values", 21)
_LETTER = Bulk("insert into push_letter (push, seq, at, trouble) values", 4)
MOVE = advance()


class PushWave:
    """Rows to write, at most one move of each configuration."""

    def __init__(self) -> None:
        self.put: list[Row] = []
        self.behind: list[Row] = []
        """Numbers of tasks that have gone on."""
        self.moved: list[Row] = []
        """n and epoch as they were; then epoch, cursor, state, whole, attempts, both times, trouble, worker."""
        self.gone: list[Row] = []
        """n and epoch as they were."""
        self.letters: list[Row] = []

    def write(self, connection: sqlite3.Connection) -> None:
        """Writes the rows within the transaction that is open; those of tasks are written.

        Raises:
            Fenced: a configuration was not as it was thought to be.
        """
        _PUT.run(connection, self.put)
        if self.behind:
            _BEHIND.run(connection, self.behind)
        fenced(MOVE.run(connection, self.moved), self.moved)
        if self.gone:
            gone = connection.executemany("delete from push where n = ? and epoch = ?", self.gone)
            fenced(gone.rowcount, self.gone)
            connection.executemany("delete from push_letter where push = ?", [row[:1] for row in self.gone])
        _LETTER.run(connection, self.letters)
