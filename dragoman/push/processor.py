"""What a thread has had of the processor, and how long it was kept waiting for it."""

import contextlib
import os
import time
from typing import Protocol

__all__ = ["Processor", "ThisThread"]

_STATISTICS = "/proc/thread-self/schedstat"


class Processor(Protocol):
    """Seconds that count up from some beginning; asked by the thread that they are of."""

    def used(self) -> float:
        """For which the thread has run."""
        ...

    def waited(self) -> float:
        """For which it could have run, and others did."""
        ...

    def close(self) -> None:
        """Nothing more will be asked. May be called again."""
        ...


class ThisThread:
    """The thread that makes it. Of waiting only Linux tells; elsewhere it is 0."""

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(_STATISTICS, os.O_RDONLY | os.O_CLOEXEC)
        self.used = time.thread_time

    def waited(self) -> float:
        if self._file is None:
            return 0.0
        try:
            return int(os.pread(self._file, 100, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            self.close()
            return 0.0

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
