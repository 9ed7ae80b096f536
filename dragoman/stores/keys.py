"""Requests that are known again by their keys, in memory."""

from datetime import datetime

from dragoman.errors import Duplicate
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Key
from dragoman.types.content import Message

__all__ = ["Keys"]


class Keys:
    """The keys of all scopes, in the order in which they were put."""

    def __init__(self) -> None:
        self._put: dict[tuple[Scope, str], tuple[Key, str, Message | None]] = {}

    def check(self, scope: Scope, key: Key | None, now: datetime) -> None:
        """Raises `Duplicate` if the key is known."""
        if key is not None and (known := self.find(scope, key.message_id, now)) is not None:
            raise known

    def find(self, scope: Scope, message_id: str, now: datetime) -> Duplicate | None:
        found = self._put.get((scope, message_id))
        if found is None or found[0].expires <= now:
            return None
        key, task_id, answer = found
        return Duplicate(task_id, key.digest, answer)

    def put(self, scope: Scope, key: Key | None, task_id: str, answer: Message | None = None) -> None:
        """Knows the key from now on."""
        if key is not None:
            self._put.pop((scope, key.message_id), None)
            self._put[scope, key.message_id] = key, task_id, answer

    def forget(self, task_ids: frozenset[str]) -> None:
        """Forgets the keys of tasks that are gone."""
        for name in [name for name, (_, task_id, _) in self._put.items() if task_id in task_ids]:
            del self._put[name]

    def expire(self, now: datetime) -> int:
        """Forgets what has expired; how many that were."""
        expired = [name for name, (key, _, _) in self._put.items() if key.expires <= now]
        for name in expired:
            del self._put[name]
        return len(expired)
