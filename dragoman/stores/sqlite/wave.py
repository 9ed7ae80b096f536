"""What a batch of changes writes: rows gathered by statement, then each statement run once over many rows.

A statement costs the writer thread a hand-over of the interpreter, however small it is, so few large ones leave
most of a batch's work to the database engine, beside the event loop instead of in its way.
"""

import sqlite3

from dragoman.stores.sqlite.bulk import TERMINAL, Bulk, Row, fenced
from dragoman.stores.sqlite.push_wave import PushWave

__all__ = ["ADVANCE", "FENCE", "MOVE", "Wave", "update"]

FENCE = (
    f"task.id = was.column2 and task.epoch = was.column3 and task.seq = was.column4 and task.state not in ({TERMINAL})"
)
"""What must still hold of a task for a change to be written, whatever was checked before."""


_CREATE = Bulk("insert into task values", 18)
_SNAPSHOT = Bulk("insert or replace into snapshot values", 4)
_EVENT = Bulk("insert into event values", 6)
_LETTER = Bulk("insert into inbox values", 3)
_MEMO = Bulk(
    "insert into memo (n, turn, kind, key, body) values",
    5,
    "on conflict (n, turn, kind, key) do update set body = excluded.body",
)
_KNOWN = Bulk("insert or replace into known values", 8)
_TALLY = Bulk(
    "insert into tally values",
    4,
    "on conflict (tenant, principal, state) do update set tasks = tasks + excluded.tasks",
)


def update(columns: str, width: int, fence: str = FENCE) -> Bulk:
    """A fenced change of some columns of a task. Of the `width` values the first four say what it was."""
    return Bulk(f"update task set {columns} from (values", width, f") as was where task.n = was.column1 and {fence}")  # noqa: S608 -- made of this module's own words only


ADVANCE = update("epoch = was.column5, seq = was.column6", 6)
MOVE = update("epoch = was.column5, seq = was.column6, state = was.column7, status_at = was.column8", 8)


class Wave:
    """Rows to write, at most one change of each task."""

    def __init__(self) -> None:
        self.created: list[Row] = []
        self.advanced: list[Row] = []
        """n, id, epoch, seq as they were; then epoch, seq."""
        self.moved: list[Row] = []
        """As `advanced`; then state, time of the status."""
        self.turned: list[Row] = []
        self.started: list[Row] = []
        self.owned: list[Row] = []
        """Worker, attempt, and n."""
        self.known: dict[tuple[str, str, str], Row] = {}
        """By tenant, principal and message id: what the request was, and where it went."""
        self.snapshots: list[Row] = []
        self.events: list[Row] = []
        self.posted: list[Row] = []
        self.letters: list[Row] = []
        self.consumed: list[Row] = []
        self.memos: list[Row] = []
        self.tally: dict[tuple[str, str, str], int] = {}
        self._pushes: PushWave | None = None

    @property
    def pushes(self) -> PushWave:
        """What is written of configurations; made when it is first asked for."""
        if self._pushes is None:
            self._pushes = PushWave()
        return self._pushes

    def count(self, tenant: str, principal: str, state: str, change: int) -> None:
        """So many more tasks of this scope are in this state."""
        key = tenant, principal, state
        self.tally[key] = self.tally.get(key, 0) + change

    def write(self, connection: sqlite3.Connection) -> None:
        """Writes the rows within the transaction that is open.

        Raises:
            Fenced: a task, or a configuration, was not as it was thought to be.
        """
        if self.created:
            _CREATE.run(connection, self.created)
        if self.moved:
            fenced(MOVE.run(connection, self.moved), self.moved)
        if self.advanced:
            fenced(ADVANCE.run(connection, self.advanced), self.advanced)
        if self.snapshots:
            _SNAPSHOT.run(connection, self.snapshots)
        if self.events:
            _EVENT.run(connection, self.events)
        _TALLY.run(connection, [(*key, change) for key, change in self.tally.items() if change])
        if self.posted or self.consumed or self.memos or self.turned or self.started or self.owned or self.known:
            self._write_rest(connection)
        if self._pushes is not None:
            self._pushes.write(connection)

    def _write_rest(self, connection: sqlite3.Connection) -> None:
        _KNOWN.run(connection, [(*name, *row) for name, row in self.known.items()])
        connection.executemany(
            "update task set worker = coalesce(?, worker), attempt = coalesce(?, attempt) where n = ?", self.owned
        )
        connection.executemany("update task set posted = ? where n = ?", self.posted)
        connection.executemany("delete from inbox where n = ? and number = ?", self.consumed)
        connection.executemany("update task set turn = ? where n = ?", self.turned)
        connection.executemany("update task set start = ?, trace = ? where n = ?", self.started)
        _LETTER.run(connection, self.letters)
        _MEMO.run(connection, self.memos)
