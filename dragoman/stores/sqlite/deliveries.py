"""What a store's file tells of push notifications, and how those that were given up are taken up again by hand.
Looking goes on beside a server that has the file.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from dragoman.core.views import from_microseconds
from dragoman.ports.push import DeadLetter, Push, PushState
from dragoman.stores.sqlite.outside import changing, looking
from dragoman.stores.sqlite.push_rows import pushed, selecting
from dragoman.stores.sqlite.schema import transaction

__all__ = ["Standing", "configurations", "dead_letters", "given_up", "retry", "standings"]


class Standing(NamedTuple):
    """How it stands with all configurations of one origin."""

    origin: str
    live: int
    behind: int
    """How many of the live ones have something to deliver."""
    events: int
    """How many deliveries are still to be made to these."""
    failing: int
    """How many of these have failed with the next one."""
    failing_since: datetime | None
    """When the first of these failures was."""
    ended: int
    dead: int
    letters: int
    """How many deliveries were refused for good."""


_BEHIND = "push.state = 'live' and (whole or task is null or cursor < task.seq)"
_STANDINGS = f"""
    select origin, sum(push.state = 'live'), sum({_BEHIND}),
    sum(case when not {_BEHIND} then 0 when whole or task is null then 1 else task.seq - cursor end),
    sum({_BEHIND} and attempts > 0), min(case when {_BEHIND} then failing_since end),
    sum(push.state = 'ended'), sum(push.state = 'dead'),
    sum((select count(*) from push_letter where push = push.n))
    from push left join task on task.n = push.task group by origin order by origin
"""  # noqa: S608 -- made of this module's own words only


def standings(path: Path) -> tuple[Standing, ...]:
    """How deliveries stand, by origin in order, as of one moment; nothing for an origin without configurations.

    Raises:
        ConfigurationError: the file is no store, or of another schema.
        StoreUnavailable: it cannot be read.
    """
    with looking(path) as (connection, _):
        rows = connection.execute(_STANDINGS).fetchall()
    return tuple(
        Standing(origin, live, behind, events, failing, None if since is None else from_microseconds(since), *more)
        for origin, live, behind, events, failing, since, *more in rows
    )


def configurations(path: Path, state: PushState) -> Iterator[Push]:
    """All configurations in this state by number, as of one moment. What they are sealed in stays sealed.

    Raises:
        ConfigurationError, StoreUnavailable: as `standings`; also in the middle.
    """
    with looking(path) as (connection, _):
        yield from map(pushed, selecting(connection, "push.state = ? order by push.n", [state.value]))


def given_up(path: Path) -> Iterator[Push]:
    """All configurations that are dead, as `configurations` has them."""
    return configurations(path, PushState.DEAD)


def dead_letters(path: Path) -> Iterator[tuple[Push, DeadLetter]]:
    """All deliveries that were refused for good, in the order in which that happened, each with its configuration.

    Raises:
        ConfigurationError, StoreUnavailable: as `standings`; also in the middle.
    """
    with looking(path) as (connection, _):
        letters = connection.execute("select push, seq, at, trouble from push_letter order by number")
        for n, seq, at, trouble in letters:
            for row in selecting(connection, "push.n = ?", [n]):
                yield pushed(row), DeadLetter(seq=seq, at=from_microseconds(at), trouble=trouble)


def retry(path: Path, *, task_id: str | None = None, config_id: str | None = None, origin: str | None = None) -> int:
    """Revives the dead configurations that match all that is given, all of them if nothing is, each under a new epoch:
    the next delivery is the task as it is, or the direct answer, and nothing has failed. How many these were.

    Raises:
        StoreInUse: a server has the file.
        ConfigurationError: the file is no store, or was written by a later version.
        StoreUnavailable: it cannot be written.
    """
    with looking(path, any_schema=True) as (_, owner):
        pass
    tests, values = ["state = 'dead'"], list[str]()
    for test, value in (
        ("task in (select n from task where id = ?)", task_id),
        ("id = ?", config_id),
        ("origin = ?", origin),
    ):
        if value is not None:
            tests.append(test)
            values.append(value)
    with changing(path, owner) as connection, transaction(connection, "begin immediate"):
        return connection.execute(
            f"""update push set state = 'live', whole = task is not null, due = 1, epoch = epoch + 1, attempts = 0,
                failing_since = null, not_before = null, trouble = '' where {" and ".join(tests)}""",  # noqa: S608 -- made of this module's own words only
            values,
        ).rowcount
