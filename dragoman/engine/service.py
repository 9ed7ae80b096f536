"""The eleven operations over the ports. Knows no version and no binding."""

import asyncio
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

from dragoman.core import views
from dragoman.core.capability import check_capability, check_extensions
from dragoman.engine.bounds import check_request
from dragoman.engine.exchange import Accepted, Exchange
from dragoman.engine.extended import extended_call, in_force
from dragoman.engine.feed import DirectFeed, TaskFeed
from dragoman.engine.worker import Worker
from dragoman.engine.world import Limits, World
from dragoman.errors import (
    ExtendedAgentCardNotConfiguredError,
    PushNotificationNotSupportedError,
    StoreUnavailable,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.operations import GET_EXTENDED_AGENT_CARD, Operation
from dragoman.ports.call import CallContext
from dragoman.ports.tasks import Query, Selector
from dragoman.types.card import AgentCapabilities, AgentCard
from dragoman.types.content import Message
from dragoman.types.json import Json
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.types.task import Task, TaskState

__all__ = ["Service"]

Method = Callable[[Any, CallContext], Awaitable[Any]]
CardForCaller = Callable[[CallContext], Awaitable[AgentCard]]


def _ends_turn(state: TaskState) -> bool:
    # Specification sections 3.1.2 and 11.7 differ; AUTH_REQUIRED never ends a stream (section 7.6.1).
    return state.terminal or state is TaskState.INPUT_REQUIRED


_ends_subscription: Callable[[TaskState], bool] = attrgetter("terminal")
_settles: Callable[[TaskState], bool] = attrgetter("settled")


async def _unpushed(_request: Any, _context: CallContext) -> None:
    raise PushNotificationNotSupportedError


class Service:
    """Answers calls. `call` serves the operations with one result, `stream` those with many.

    Both raise `A2AError`; what a store cannot do now is an `UnavailableError`. Any other exception is a defect.
    """

    def __init__(
        self, world: World, capabilities: AgentCapabilities, *, extended_card: CardForCaller | None = None
    ) -> None:
        self._world = world
        self._pushes = pushes = world.pushes
        self._capabilities = capabilities
        self._extended_card = extended_card
        self._exchange = Exchange(world)
        self._worker = Worker(world, self._exchange.runs)
        self._feeds: set[TaskFeed] = set()
        self._told: set[Callable[[], None]] = set()
        self._deadline: float | None = None
        """When the tasks that run while the server stops must have ended, by the clock of the event loop."""
        self._opened = False
        self._closed = False
        self._methods: dict[str, Method] = {
            "SendMessage": self.send_message,
            "SendStreamingMessage": self.send_streaming_message,
            "GetTask": self.get_task,
            "ListTasks": self.list_tasks,
            "CancelTask": self.cancel_task,
            "SubscribeToTask": self.subscribe_to_task,
            "CreateTaskPushNotificationConfig": _unpushed if pushes is None else pushes.create,
            "GetTaskPushNotificationConfig": _unpushed if pushes is None else pushes.get,
            "ListTaskPushNotificationConfigs": _unpushed if pushes is None else pushes.page,
            "DeleteTaskPushNotificationConfig": _unpushed if pushes is None else pushes.delete,
            "GetExtendedAgentCard": self.get_extended_agent_card,
        }

    # What hosts use.

    @property
    def limits(self) -> Limits:
        return self._world.limits

    @property
    def stopping(self) -> bool:
        """Whether the server has begun to stop, or has stopped."""
        return self._closed or self._deadline is not None

    @property
    def ready(self) -> bool:
        """Whether calls are taken: the store is open, and the server has not begun to stop."""
        return self._opened and not self.stopping

    def when_stopping(self, then: Callable[[], None]) -> Callable[[], None]:
        """Has `then` called when the server begins to stop; calling what it returns takes that back."""
        self._told.add(then)
        return lambda: self._told.discard(then)

    async def call(self, operation: Operation, request: Any, context: CallContext) -> Any:
        """The result of the operation; a feed if it streams, which the caller must close."""
        if self._closed:
            raise UnavailableError
        check_capability(operation, self._capabilities)
        if context.principal.tenants is not None:
            context.scope(request.tenant)
        if operation is not GET_EXTENDED_AGENT_CARD:
            check_extensions(context.parameters.extensions, self._capabilities)
        method, hooks = self._methods[operation.name], None
        if context.parameters.extensions:
            context, hooks = in_force(self._world, self._capabilities, operation, context)
        try:
            if hooks is not None:
                return await extended_call(hooks, method, request, context)
            return await method(request, context)
        except StoreUnavailable as error:
            raise UnavailableError from error

    async def open(self) -> None:
        """Opens the store and takes up what others have left there."""
        await self._world.store.open()
        self._deadline = None
        try:
            await self._worker.open()
        except BaseException:
            await self._world.store.close()
            raise
        self._closed = False
        if self._pushes is not None:
            try:
                await self._pushes.open(lambda: self._exchange.runs.worker)
            except BaseException:
                await self.close()
                raise
        self._opened = True

    def end_streams(self) -> None:
        """Ends every open stream, and every wait of a blocking call. The tasks go on, but their grace time runs;
        those that another worker can resume are handed back.
        """
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._world.limits.drain_grace
        self._exchange.runs.release()
        self._exchange.runs.begin_drain()
        for feed in list(self._feeds):
            feed.close()
        for then in list(self._told):
            then()

    async def close(self) -> None:
        """Ends the streams, lets running tasks and deliveries end within their grace time, and closes the store.

        Afterwards every call is refused with `UnavailableError`, until `open`.
        """
        self.end_streams()
        await self._worker.pause()
        await self._exchange.runs.drain(self._grace())
        self._closed = True
        for feed in list(self._feeds):
            feed.close()
        if self._pushes is not None:
            await self._pushes.close(self._grace())
        await self._worker.close()
        await self._world.store.close()
        self._world.agent.close()

    def _grace(self) -> float:
        """How much time is left to what goes on while the server stops."""
        assert self._deadline is not None
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    # The operations.

    async def send_message(self, request: SendMessageRequest, context: CallContext) -> Task | Message:
        """Section 3.1.1: the answer, or the task once it has settled, or at once if so asked."""
        accepted = await self._accept(request, context)
        if isinstance(accepted, Message):
            return accepted
        length = request.configuration.history_length
        if request.configuration.return_immediately:
            accepted.start()
            return views.with_history(accepted.task, length)
        run = accepted.start()
        task = accepted.task if run is None else await run.end(calling=True)
        if not task.state.settled and self._deadline is None:
            task = await self._settled(accepted.task.id, request.tenant, context)
        return views.with_history(task, length)

    async def send_streaming_message(self, request: SendMessageRequest, context: CallContext) -> TaskFeed | DirectFeed:
        """Section 3.1.2: the answer, or the task and what happens to it until it ends or asks for input."""
        accepted = await self._accept(request, context)
        if isinstance(accepted, Message):
            return DirectFeed(accepted)
        feed = self._feed(
            accepted.task.id,
            request.tenant,
            context,
            _ends_turn,
            history_length=request.configuration.history_length,
            # What begins here has no events yet that its caller could have.
            after=context.parameters.last_event_id if accepted.again else None,
        )
        accepted.start()
        return feed

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Task:
        """Section 3.1.3."""
        stored = await self._world.store.get(request.id, context.scope(request.tenant))
        if stored is None:
            raise TaskNotFoundError(details={"taskId": request.id})
        return views.with_history(stored.task, request.history_length)

    async def list_tasks(self, request: ListTasksRequest, context: CallContext) -> ListTasksResponse:
        """Section 3.1.4: newest status first. Histories are whole unless a length is asked for."""
        size = views.page_size(request.page_size)
        query = Query(
            limit=size,
            context_id=request.context_id,
            state=request.status,
            since=request.status_timestamp_after,
            before=views.read_page_token(request.page_token),
            artifacts=request.include_artifacts,
        )
        page = await self._world.store.page(query, context.scope(request.tenant))
        tasks = tuple(
            views.listed(task, history_length=request.history_length, artifacts=request.include_artifacts)
            for task in page.tasks
        )
        return ListTasksResponse(
            tasks=tasks,
            next_page_token=views.page_token(views.position(page.tasks[-1])) if page.more else "",
            page_size=size,
            total_size=page.total,
            with_artifacts=request.include_artifacts,
        )

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Task:
        """Section 3.1.5. Canceling a canceled task again gives the task again (section 3.3.1)."""
        scope = context.scope(request.tenant)
        while True:
            stored = await self._world.store.get(request.id, scope)
            if stored is None:
                raise TaskNotFoundError(details={"taskId": request.id})
            if stored.task.state is TaskState.CANCELED:
                return stored.task
            if stored.task.state.terminal:
                raise TaskNotCancelableError(f"The task is already {stored.task.state.value}")
            await self._exchange.cancel(stored)

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, context: CallContext) -> TaskFeed:
        """Section 3.1.6: the task as it is, and what happens to it until it ends, or until its turn is over.

        A caller who says which event it had last gets what came after that, even of a task that has ended meanwhile.
        """
        stored = await self._world.store.get(request.id, context.scope(request.tenant))
        if stored is None:
            raise TaskNotFoundError(details={"taskId": request.id})
        after = context.parameters.last_event_id
        if request.turn:
            return self._feed(request.id, request.tenant, context, _ends_turn, after=after)
        if stored.task.state.terminal and (after is None or not 0 < after < stored.seq):
            raise UnsupportedOperationError(f"The task is already {stored.task.state.value}")
        return self._feed(request.id, request.tenant, context, _ends_subscription, after=after)

    async def get_extended_agent_card(self, _request: GetExtendedAgentCardRequest, context: CallContext) -> AgentCard:
        """Section 3.1.11: the card as it is for this caller."""
        if self._extended_card is None:
            raise ExtendedAgentCardNotConfiguredError
        return await self._extended_card(context)

    # What the agent's own code may do.

    async def authorize(self, task_id: str, value: Json) -> None:
        """Answers a task in AUTH_REQUIRED out of band (section 7.6).

        Raises:
            TaskNotFoundError, UnsupportedOperationError: there is no such task, or it does not wait for this.
        """
        await self._exchange.authorize(task_id, value)

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        """Stops and removes the tasks for good; returns their ids."""
        erased = await self._world.store.erase(selector)
        if self._pushes is not None:
            self._pushes.erased(erased)
        await asyncio.gather(*map(self._exchange.runs.cancel, filter(self._exchange.runs.runs, erased)))
        for task_id in erased:
            self._exchange.runs.slots.withdraw(task_id)
        for feed in self._feeds:
            if feed.task_id in erased:
                feed.look()
        return erased

    async def _accept(self, request: SendMessageRequest, context: CallContext) -> Accepted | Message:
        views.check_history_length(request.configuration.history_length)
        check_request(request, self._world.calls)
        config = request.configuration.task_push_notification_config
        if config is not None and (self._pushes is None or not self._capabilities.push_notifications):
            raise PushNotificationNotSupportedError
        return await self._exchange.accept(request, context)

    async def _settled(self, task_id: str, tenant: str, context: CallContext) -> Task:
        """The task once it has settled, whoever runs it: read from its log."""
        feed = self._feed(task_id, tenant, context, _settles)
        try:
            return await feed.settled()
        finally:
            feed.close()

    def _feed(
        self,
        task_id: str,
        tenant: str,
        context: CallContext,
        ends: Callable[[TaskState], bool],
        *,
        history_length: int | None = None,
        after: int | None = None,
    ) -> TaskFeed:
        feed = TaskFeed(
            self._world,
            task_id,
            context.scope(tenant),
            ends,
            history_length=history_length,
            after=after,
            numbers=RELIABLE in context.parameters.extensions,
            closed=self._feeds.discard,
        )
        self._feeds.add(feed)
        return feed
