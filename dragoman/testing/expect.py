"""Assertions of the contract suites, which need no test framework."""

from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["refused"]


@contextmanager
def refused(error: type[Exception]) -> Generator[None]:
    """Fails unless this error, or a kind of it, is raised inside."""
    try:
        yield
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")
