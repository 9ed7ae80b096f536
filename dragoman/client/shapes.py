"""Whether an agent answers in shapes of before 1.0: they are read, and its caller is told once."""

import logging
from collections.abc import Callable
from typing import TypeVar

from dragoman.dialects.older import noticing

__all__ = ["OlderShapes"]

log = logging.getLogger("dragoman.client")

T = TypeVar("T")


class OlderShapes:
    """What one client has noticed of its agent (specification appendix A.2). The log has no content of any answer."""

    def __init__(self) -> None:
        self._told = False

    def read(self, place: str, decode: Callable[[], T]) -> T:
        """What `decode` gives; `place` is the URL of the interface whose answer it reads."""
        if self._told:
            return decode()
        seen: list[None] = []
        token = noticing.set(lambda: seen.append(None))
        try:
            return decode()
        finally:
            noticing.reset(token)
            if seen:
                self.notice(place, "answers in 1.0 with objects in older shapes")

    def notice(self, place: str, what: str) -> None:
        if not self._told:
            self._told = True
            log.warning("the agent at %s %s; they are read as what they mean in 1.0", place.partition("?")[0], what)
