"""One at a time, over tasks, threads and processes."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from dragoman.errors import TimedOut

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Free", "by_file", "by_thread_lock", "in_turn"]

PATIENCE = 60.0
"""Seconds; whoever has the turn talks to a provider for a quarter of that at most."""
LOOK = 0.05

Free = Callable[[], None]


@asynccontextmanager
async def in_turn(attempt: Callable[[], Free | None], longer: float = 0.0) -> AsyncGenerator[None, None]:
    """Entered once `attempt` has given what frees the turn again.

    Raises:
        TimedOut: somebody else has had it for a minute, and `longer` seconds.
    """
    try:
        async with asyncio.timeout(PATIENCE + longer):
            # Locks of files tell nobody when they are free.
            while (free := attempt()) is None:  # noqa: ASYNC110 -- see above
                await asyncio.sleep(LOOK)
    except TimeoutError:
        raise TimedOut("Somebody else is getting a token, and has not got it in time") from None
    try:
        yield
    finally:
        free()


def by_thread_lock(lock: threading.Lock) -> Free | None:
    return lock.release if lock.acquire(blocking=False) else None


def by_file(path: Path) -> Free | None:
    """The turn that a file stands for; the operating system takes it back from processes that are gone.

    Raises:
        OSError: the file cannot be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _lock(handle)
        current = os.stat(path).st_ino == os.fstat(handle).st_ino  # noqa: PTH116 -- beside its twin of handles
    except OSError:
        current = False
    if not current:
        # Somebody has the turn, or has removed the file with it.
        os.close(handle)
        return None
    return lambda: os.close(handle)


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
