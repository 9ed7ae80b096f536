"""What a receiver has been asked to watch: one entry for each configuration that it made."""

import hashlib
import secrets
import uuid

from dragoman.client.receiver.rate import Rate
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig

__all__ = ["Watch", "Watches", "digest_of"]

TOKEN_BYTES = 32


def digest_of(token: str) -> bytes:
    """What is kept of a token, and looked up: how long that takes tells nothing about other tokens."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Watch:
    """One configuration. Its token is not kept; `task_id` is None until it is known which task it belongs to."""

    def __init__(self, digest: bytes, task_id: str | None, rate: Rate, *, fresh: bool) -> None:
        self.digest = digest
        self.task_id = task_id
        self.config_id = str(uuid.uuid4())
        self.rate = rate
        self.fresh = fresh
        """Whether it is made together with its task, so that it gets everything from the creation on."""
        self.over = False
        """Whether its task has ended, or the agent has answered directly."""
        self.given_up = False
        """Whether nobody here is interested any more."""

    def __repr__(self) -> str:
        return f"Watch(task_id={self.task_id!r}, config_id={self.config_id!r})"

    def config(self, url: str, token: str, authentication: AuthenticationInfo | None) -> TaskPushNotificationConfig:
        """What the agent is told."""
        return TaskPushNotificationConfig(
            url=url, id=self.config_id, task_id=self.task_id or "", token=token, authentication=authentication
        )


class Watches:
    """The configurations by token and by task. Of those that are over or given up, the last `most` stay known."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_digest: dict[bytes, Watch] = {}
        self._by_task: dict[str, Watch] = {}
        self._past: dict[bytes, None] = {}

    @property
    def live(self) -> list[Watch]:
        return [watch for watch in self._by_digest.values() if watch.digest not in self._past]

    def add(self, task_id: str | None, rate: Rate, *, fresh: bool) -> tuple[Watch, str]:
        """A new watch, and the token made for it, which is known to nobody else."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        watch = Watch(digest_of(token), task_id, rate, fresh=fresh)
        self._by_digest[watch.digest] = watch
        if task_id is not None:
            self._by_task[task_id] = watch
        return watch, token

    def by_token(self, token: str) -> Watch | None:
        return self._by_digest.get(digest_of(token))

    def by_task(self, task_id: str) -> Watch | None:
        return self._by_task.get(task_id)

    def unbound(self) -> bool:
        """Whether there is one of which the task is not known yet."""
        return any(watch.task_id is None for watch in self.live)

    def bind(self, watch: Watch, task_id: str) -> None:
        """From now on the watch is of this task."""
        if watch.task_id is not None and self._by_task.get(watch.task_id) is watch:
            del self._by_task[watch.task_id]
        watch.task_id = task_id
        self._by_task[task_id] = watch

    def retire(self, watch: Watch) -> None:
        """It counts among those that are forgotten in time."""
        self._past[watch.digest] = None
        if len(self._past) > self._most:
            oldest = next(iter(self._past))
            del self._past[oldest]
            self._forget(self._by_digest.pop(oldest))

    def _forget(self, watch: Watch) -> None:
        if watch.task_id is not None and self._by_task.get(watch.task_id) is watch:
            del self._by_task[watch.task_id]
