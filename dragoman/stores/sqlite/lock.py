"""One server process for one file: a lock that the operating system takes back when its holder is gone."""

import os
import sys
from pathlib import Path

from dragoman.errors import StoreInUse

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLock"]


class FileLock:
    """Held from its making until `release`, in a file beside the database that says whose it is.

    It covers a second opening within one process as well. The file stays, since removing it could let two in.

    Raises:
        StoreInUse: somebody else holds it.
    """

    def __init__(self, database: Path) -> None:
        self._file = os.open(f"{database}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(self._file)
        except OSError as error:
            holder = _holder(self._file)
            os.close(self._file)
            raise StoreInUse(
                f"{database} is in use by {holder}: stop that server first, or give this one a store of its own"
            ) from error
        _sign(self._file)

    def release(self) -> None:
        os.close(self._file)


def _lock(file: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sign(file: int) -> None:
    """Leaves our number for those who come later. On Windows they could not read it: the lock covers reading too."""
    if sys.platform != "win32":
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)


def _holder(file: int) -> str:
    text = b"" if sys.platform == "win32" else os.pread(file, 20, 0)
    if not text.isdigit():
        return "another server process"
    return "this same process" if int(text) == os.getpid() else f"process {text.decode()}"
