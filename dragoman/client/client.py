"""The client of one agent."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, Unpack

import msgspec

from dragoman.client.content import Content, SendOptions, WaitOptions, request_of
from dragoman.client.follow import Events, Way, followed, settled, timely
from dragoman.client.leaving import Attendance, Farewells
from dragoman.client.link import CARD_TOLERANCE, Link
from dragoman.client.pacing import Pauses
from dragoman.client.task import TaskHandle
from dragoman.client.view import TaskView
from dragoman.errors import (
    A2AError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TransportError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.operations import (
    CANCEL_TASK,
    CREATE_PUSH_CONFIG,
    DELETE_PUSH_CONFIG,
    GET_EXTENDED_AGENT_CARD,
    GET_PUSH_CONFIG,
    GET_TASK,
    LIST_PUSH_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
    Operation,
)
from dragoman.types.card import AgentCard
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.types.task import Task

__all__ = ["Client"]

_LACKING: dict[str, type[A2AError]] = {
    "streaming": UnsupportedOperationError,
    "push_notifications": PushNotificationNotSupportedError,
    "extended_agent_card": UnsupportedOperationError,
}

CANCELLATIONS = 3
"""How often a task whose caller has left is tried to be canceled."""


class Client:
    """One agent, as its caller uses it. Made by `connect`; an async context manager, which asks nobody when it opens.

    Every method raises `A2AError` (the agent's word, of the class that the agent raised) or `TransportError`.
    Safe to use from many tasks of one event loop.
    """

    def __init__(self, link: Link, *, poll_interval: float = 0.5, patience: float = 300.0) -> None:
        self._link = link
        self._poll_interval = poll_interval
        self._patience = patience
        self._extended: AgentCard | None = None
        self._farewells = Farewells()

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._farewells.aclose()
        finally:
            await self._link.__aexit__(kind, error, trace)

    async def card(self) -> AgentCard:
        """The agent's card: the extended one, once that was fetched; asked for again when its time has passed."""
        return self._extended if self._extended is not None else await self._link.card()

    async def ask(self, content: Content, **options: Unpack[SendOptions]) -> str:
        """Sends, waits as long as it takes, over however many connections, and gives the text of the answer.

        That is the text of the task's artifacts in order, else that of its status message, else the direct answer's.

        Raises:
            TaskFailed: the task ended as failed, rejected or canceled.
            InputRequired: the task waits for an answer; `AuthRequired` if for an authorization.
            TaskUnfinished: the deadline came first.
            TransportError: nobody knows whether the agent has the message, and it must not be sent twice.
        """
        view = TaskView()
        request = request_of(content, options)
        await settled(view, self._follow(view, options, request))
        if view.message is not None:
            return view.message.text
        assert view.task is not None
        task = view.task
        if view.partial and request.message.task_id is not None:
            # Some agents stream of a follow-up only what is new; what the task held before counts too.
            task = await self.get_task(GetTaskRequest(id=task.id))
        return self._handle(task).completed().text

    async def stream(self, content: Content, **options: Unpack[SendOptions]) -> AsyncGenerator[StreamEvent, None]:
        """Sends and yields what happens, until the task has ended or waits, and the agent ends its stream.

        A direct answer is the only event. After a cut the events go on where the agent numbers them; else the next one
        is the Task, which replaces what came before, and so may be the last. From an agent that does not stream: its
        answer, and the Task each time it has changed, until it is settled. Nothing is read ahead, and nothing kept of
        artifacts. Raises as `ask` does when the outcome cannot be waited for.
        """
        view = TaskView(whole=False)
        async with aclosing(self._follow(view, options, request_of(content, options))) as events:
            async for event in events:
                yield event

    async def start(self, content: Content, **options: Unpack[SendOptions]) -> TaskHandle | Message:
        """Sends and returns at once: the task in hand, or the message if the agent answers directly."""
        view = TaskView()
        request = request_of(content, options, return_immediately=True)
        with self._attended(view, options, request) as attendance:
            events = _limited(self._events(view, request, options), view, options)
            async with aclosing(events):
                await anext(events)
        if view.message is not None:
            return view.message
        assert view.task is not None
        return self._handle(view.task, attendance.release)

    async def task(self, task_id: str, *, history_length: int | None = None) -> TaskHandle:
        """A task that was begun earlier."""
        return self._handle(await self.get_task(GetTaskRequest(id=task_id, history_length=history_length)))

    # The operations as they are. Those that the card does not offer are refused without a request.

    async def send_message(self, request: SendMessageRequest) -> Task | Message:
        answer: Task | Message = await self._call(SEND_MESSAGE, request)
        return answer

    def send_streaming_message(self, request: SendMessageRequest) -> AsyncGenerator[StreamEvent, None]:
        return self._stream(SEND_STREAMING_MESSAGE, request)

    async def get_task(self, request: GetTaskRequest) -> Task:
        task: Task = await self._call(GET_TASK, request)
        return task

    async def list_tasks(self, request: ListTasksRequest | None = None) -> ListTasksResponse:
        page: ListTasksResponse = await self._call(LIST_TASKS, request or ListTasksRequest())
        return page

    async def cancel_task(self, request: CancelTaskRequest) -> Task:
        task: Task = await self._call(CANCEL_TASK, request)
        return task

    def subscribe_to_task(self, request: SubscribeToTaskRequest) -> AsyncGenerator[StreamEvent, None]:
        return self._stream(SUBSCRIBE_TO_TASK, request)

    async def create_task_push_notification_config(
        self, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        created: TaskPushNotificationConfig = await self._call(CREATE_PUSH_CONFIG, config)
        return created

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest
    ) -> TaskPushNotificationConfig:
        config: TaskPushNotificationConfig = await self._call(GET_PUSH_CONFIG, request)
        return config

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest
    ) -> ListTaskPushNotificationConfigsResponse:
        page: ListTaskPushNotificationConfigsResponse = await self._call(LIST_PUSH_CONFIGS, request)
        return page

    async def delete_task_push_notification_config(self, request: DeleteTaskPushNotificationConfigRequest) -> None:
        await self._call(DELETE_PUSH_CONFIG, request)

    async def get_extended_agent_card(self, request: GetExtendedAgentCardRequest | None = None) -> AgentCard:
        """The card for this caller; from now on it is the client's card (specification section 13.3)."""
        card: AgentCard = await self._call(GET_EXTENDED_AGENT_CARD, request or GetExtendedAgentCardRequest())
        self._extended = card
        return card

    async def _call(self, operation: Operation, request: Any) -> Any:
        await self._check(operation)
        return await (await self._link.channel()).call(operation, request)

    async def _stream(self, operation: Operation, request: Any) -> AsyncGenerator[StreamEvent, None]:
        await self._check(operation)
        async with aclosing((await self._link.channel()).stream(operation, request)) as events:
            async for event in events:
                yield event

    async def _check(self, operation: Operation) -> None:
        need = operation.needs
        if need is not None and not await self._offers(need):
            raise _LACKING[need](f"The agent's card does not declare what {operation.name} needs")

    async def _offers(self, capability: str) -> bool:
        card = self._extended or await self._link.card(CARD_TOLERANCE)
        return bool(getattr(card.capabilities, capability))

    def _handle(self, task: Task, ended: Callable[[], None] | None = None) -> TaskHandle:
        return TaskHandle(self, task, self._follow, ended=ended)

    async def _follow(
        self, view: TaskView, options: WaitOptions, request: SendMessageRequest | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """What becomes of the request, or else of the task that the view is about; added to the view."""
        with self._attended(view, options, request):
            async with aclosing(_limited(self._events(view, request, options), view, options)) as events:
                async for event in events:
                    yield event

    async def _events(
        self, view: TaskView, request: SendMessageRequest | None, options: WaitOptions
    ) -> AsyncGenerator[StreamEvent, None]:
        way = await self._way()
        first = None if request is None else partial(_first, way, request)
        async with aclosing(followed(way, view, first, patient=options.get("deadline") is not None)) as events:
            async for event in events:
                yield event

    async def _way(self) -> Way:
        return Way(
            channel=await self._link.channel(),
            streaming=await self._offers("streaming"),
            repeatable=await self._link.repeatable(),
            interval=self._poll_interval,
            patience=self._patience,
        )

    def _attended(self, view: TaskView, options: WaitOptions, request: SendMessageRequest | None) -> Attendance:
        return Attendance(
            view,
            self._farewells,
            partial(self._cancel, view, request),
            cancel_remote=options.get("cancel_remote", False),
            adopt=request is not None,
        )

    async def _cancel(self, view: TaskView, request: SendMessageRequest | None) -> None:
        """Cancels the task of a view, also if its caller left before the agent had named it."""
        way, pauses = await self._way(), Pauses(self._poll_interval)
        for attempt in range(CANCELLATIONS):
            with suppress(TaskNotCancelableError):
                try:
                    if view.task_id is None and request is not None and way.repeatable:
                        async with aclosing(_first(way, request)) as events:
                            view.add(await anext(events))
                    if view.task_id is not None:
                        await way.channel.call(CANCEL_TASK, CancelTaskRequest(id=view.task_id))
                except (TransportError, UnavailableError) as error:
                    if attempt == CANCELLATIONS - 1:
                        raise
                    await pauses.after_cut(getattr(error, "retry_after", None))
                    continue
            return


def _limited(events: Events, view: TaskView, options: WaitOptions) -> Events:
    deadline = options.get("deadline")
    return events if deadline is None else timely(events, view, deadline)


async def _first(way: Way, request: SendMessageRequest) -> AsyncGenerator[StreamEvent, None]:
    """Sends the message. From an agent that does not stream comes one event: its answer."""
    if way.streaming and not request.configuration.return_immediately:
        async with aclosing(way.channel.stream(SEND_STREAMING_MESSAGE, request)) as events:
            async for event in events:
                yield event
        return
    # An answer that is long in coming could be lost, and with it the task.
    yield await way.channel.call(SEND_MESSAGE, request if way.repeatable else _immediate(request))


def _immediate(request: SendMessageRequest) -> SendMessageRequest:
    configuration = msgspec.structs.replace(request.configuration, return_immediately=True)
    return msgspec.structs.replace(request, configuration=configuration)
