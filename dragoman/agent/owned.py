"""What the owner of an agent can do to its tasks and its webhooks while it is served."""

from collections.abc import Sequence

from dragoman.errors import ConfigurationError, TaskNotFoundError
from dragoman.ports.call import shared_name
from dragoman.ports.tasks import Selector
from dragoman.push.pusher import Pusher
from dragoman.server import Server
from dragoman.types.json import Json

__all__ = ["Owned"]


class Owned:
    """The part of `Agent` that is for its owner, not for callers. Everywhere `ConfigurationError` says that the agent
    is not being served in this process.
    """

    _live: list[Server]
    """The servers of this agent that are open."""

    async def authorize(self, task_id: str, value: Json = True) -> None:
        """Lets a task go on that waits in AUTH_REQUIRED; `value` is what its `require_auth` gives.

        Raises:
            TaskNotFoundError: no such task here.
            UnsupportedOperationError: the task does not wait for an authorization.
        """
        for server in self._serving():
            try:
                await server.service.authorize(task_id, value)
            except TaskNotFoundError:
                continue
            return server.account.owner("authorize", [task_id])
        raise TaskNotFoundError

    async def delete(
        self,
        task_id: str | None = None,
        *,
        context_id: str | None = None,
        principal: str | None = None,
        group: str | None = None,
    ) -> int:
        """Removes tasks and all that belongs to them for good, running ones too; returns how many.

        All that match every argument that is given; at least one must be. What is shared under `access=` is no
        principal's, but its group's.
        """
        if group is not None:
            if principal is not None:
                raise ValueError("what is a group's is no principal's: say one of them")
            principal = shared_name(group)
        selector = Selector(task_id=task_id, context_id=context_id, principal=principal)
        if selector == Selector():
            raise ValueError("say which tasks: task_id, context_id, principal or group")
        count = 0
        for server in self._serving():
            erased = await server.service.erase(selector)
            server.account.owner("delete", erased)
            count += len(erased)
        return count

    @property
    def pushers(self) -> Sequence[Pusher]:
        """What delivers push notifications, one for each server of this agent: `state` says how deliveries stand, and
        `retry` takes up again what was given up.
        """
        return [server.pusher for server in self._serving() if server.pusher is not None]

    def _serving(self) -> Sequence[Server]:
        if not self._live:
            raise ConfigurationError("this agent is not being served in this process")
        return self._live
