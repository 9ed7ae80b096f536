"""What callers do with their configurations: checked when they come in, sealed in the store, shown without secrets."""

import asyncio
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

import msgspec

from dragoman.core.views import page_size
from dragoman.errors import (
    Fenced,
    FieldViolation,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.ports.call import CallContext, Scope
from dragoman.ports.push import Deliveries, NewPush, Push
from dragoman.ports.store import Store
from dragoman.ports.webhook import WebhookClient
from dragoman.ports.world import Ids
from dragoman.push.members import check_members, origin_of
from dragoman.push.seal import Seal, SealBroken
from dragoman.push.verdicts import Verdicts
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
)

__all__ = ["Configurations"]

_INLINE = "configuration.taskPushNotificationConfig."


class Configurations:
    """`Pushes` over a store.

    A configuration without an id gets a fresh one, or in the dialects `named_by_task` the id of its task, because
    callers there ask for it without an id.
    """

    def __init__(
        self,
        store: Store,
        client: WebhookClient,
        seal: Seal,
        deliveries: Deliveries,
        ids: Ids,
        *,
        max_per_task: int,
        named_by_task: frozenset[str] = frozenset(),
    ) -> None:
        self._store = store
        self._verdicts = Verdicts(client)
        self._seal = seal
        self._deliveries = deliveries
        self._ids = ids
        self._max_per_task = max_per_task
        self._named_by_task = named_by_task
        self._worker: Callable[[], str] = str
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self, worker: Callable[[], str]) -> None:
        self._worker = worker
        await self._deliveries.open(worker)

    async def close(self, grace: float) -> None:
        await self._deliveries.close(grace)

    # The operations.

    async def create(self, config: TaskPushNotificationConfig, context: CallContext) -> TaskPushNotificationConfig:
        scope = context.scope(config.tenant)
        await self._check(config, "", config.task_id, scope)
        new = self.new(config, config.task_id, scope, context.dialect)
        try:
            await self._place(new)
        except Fenced:
            raise _no_task(config.task_id) from None
        self.stored(new)
        return _shown(config, new.task_id, new.id, scope)

    async def get(
        self, request: GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> TaskPushNotificationConfig:
        scope = context.scope(request.tenant)
        if request.id:
            push = await self._store.get_push(request.task_id, scope, request.id)
        else:
            first = await self._store.page_pushes(request.task_id, scope, after=0, limit=1)
            push = first[0] if first else None
        if push is None:
            raise TaskNotFoundError(
                "There is no such configuration of this task", details={"taskId": request.task_id, "id": request.id}
            )
        return self._opened(push)

    async def page(
        self, request: ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        scope = context.scope(request.tenant)
        size = self._max_per_task if request.page_size is None else page_size(request.page_size)
        after = self._after(request, scope)
        pushes = await self._store.page_pushes(request.task_id, scope, after=after, limit=size + 1)
        if not pushes:
            await self._check_task(request.task_id, scope)
        return ListTaskPushNotificationConfigsResponse(
            configs=tuple([self._opened(push) for push in pushes[:size]]),
            next_page_token=self._token(pushes[size - 1]) if len(pushes) > size else "",
        )

    def _token(self, last: Push) -> str:
        """What the next page begins after: sealed, since the numbers of configurations tell how many others have."""
        return self._seal.seal_number(last.n, last.task_id, last.scope.tenant, last.scope.principal)

    def _after(self, request: ListTaskPushNotificationConfigsRequest, scope: Scope) -> int:
        """The number of the last configuration of the page before.

        Raises:
            InvalidParamsError: no page has this token.
        """
        if not request.page_token:
            return 0
        try:
            return self._seal.open_number(request.page_token, request.task_id, scope.tenant, scope.principal)
        except SealBroken:
            why = "is not a token of this list"
            raise InvalidParamsError(f"pageToken {why}", violations=(FieldViolation("pageToken", why),)) from None

    async def delete(self, request: DeleteTaskPushNotificationConfigRequest, context: CallContext) -> None:
        scope = context.scope(request.tenant)
        await self._check_task(request.task_id, scope)
        await self._store.drop_push(request.task_id, scope, request.id)
        self._deliveries.dropped(request.task_id, request.id)

    # What comes with a message.

    async def check(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope) -> None:
        await self._check(config, _INLINE, task_id, scope)

    def new(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope, dialect: str) -> NewPush:
        given = config.id or (task_id if dialect in self._named_by_task else "") or self._ids.new()
        place = given if task_id else self._ids.new()
        whole = msgspec.structs.replace(config, id=given, task_id=task_id, tenant=scope.tenant)
        return NewPush(
            task_id=task_id,
            id=place,
            scope=scope,
            dialect=dialect,
            origin=origin_of(config.url),
            sealed=self._seal.seal(whole, task_id, place),
            worker=self._worker(),
        )

    async def put(self, new: NewPush) -> None:
        try:
            await self._place(new)
        except Fenced:
            return
        self.stored(new)

    def stored(self, new: NewPush) -> None:
        self._deliveries.stored(new.task_id, new.scope, new.id)

    def erased(self, task_ids: Sequence[str]) -> None:
        self._deliveries.erased(task_ids)

    # What is looked at.

    async def _check(self, config: TaskPushNotificationConfig, where: str, task_id: str, scope: Scope) -> None:
        check_members(config, where)
        if task_id:
            await self._check_place(config, task_id, scope)
        await self._verdicts.check(config.url, f"{where}url")

    async def _check_place(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope) -> None:
        there = await self._store.page_pushes(task_id, scope, after=0, limit=self._max_per_task)
        if not there:
            await self._check_task(task_id, scope)
        self._check_room(there, config.id)

    async def _place(self, new: NewPush) -> None:
        """Stores it if there is room, which several that come at once take one after the other.

        Raises:
            Fenced: its task is gone.
        """
        async with self._locks.setdefault(new.task_id or new.id, asyncio.Lock()):
            if new.task_id:
                limit = self._max_per_task
                there = await self._store.page_pushes(new.task_id, new.scope, after=0, limit=limit)
                self._check_room(there, new.id)
            await self._store.put_push(new)

    def _check_room(self, there: Sequence[Push], config_id: str) -> None:
        if len(there) == self._max_per_task and all(push.id != config_id for push in there):
            raise UnsupportedOperationError(
                f"The task has {self._max_per_task} push notification configurations, which is the most it may have"
            )

    async def _check_task(self, task_id: str, scope: Scope) -> None:
        if await self._store.get(task_id, scope) is None:
            raise _no_task(task_id)

    def _opened(self, push: Push) -> TaskPushNotificationConfig:
        """As callers see it; of one that cannot be opened any more only where it goes."""
        try:
            config = self._seal.open(push.sealed, push.task_id, push.id)
        except SealBroken:
            config = TaskPushNotificationConfig(url=push.origin)
        return _shown(config, push.task_id, push.id, push.scope)


def _shown(
    config: TaskPushNotificationConfig, task_id: str, config_id: str, scope: Scope
) -> TaskPushNotificationConfig:
    given = config.authentication
    without = None if given is None else msgspec.structs.replace(given, credentials=None)
    return msgspec.structs.replace(config, id=config_id, task_id=task_id, tenant=scope.tenant, authentication=without)


def _no_task(task_id: str) -> TaskNotFoundError:
    return TaskNotFoundError(details={"taskId": task_id})
