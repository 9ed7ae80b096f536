"""What a server keeps everything in."""

from typing import Protocol

from dragoman.ports.push import PushStore
from dragoman.ports.tasks import TaskStore

__all__ = ["Store"]


class Store(TaskStore, PushStore, Protocol):
    """Tasks, and beside them the configurations of push notifications."""
