"""The eleven operations as they are, each a method of its own."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from dragoman.client.channel import Channel
from dragoman.client.extending import ClientExtensions, ExtendedChannel, sent
from dragoman.client.link import CARD_TOLERANCE, Link
from dragoman.errors import A2AError, PushNotificationNotSupportedError, UnsupportedOperationError
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

__all__ = ["Operations"]

_LACKING: dict[str, type[A2AError]] = {
    "streaming": UnsupportedOperationError,
    "push_notifications": PushNotificationNotSupportedError,
    "extended_agent_card": UnsupportedOperationError,
}


class Operations:
    """What an agent is asked for. Operations that its card does not offer are refused without a request."""

    def __init__(self, link: Link, extensions: ClientExtensions | None = None) -> None:
        self._link = link
        self._extensions = extensions or ClientExtensions()
        self._extended: AgentCard | None = None
        """The card for this caller, once that was fetched."""

    async def send_message(self, request: SendMessageRequest) -> Task | Message:
        answer: Task | Message = await self._call(SEND_MESSAGE, await self._sent(SEND_MESSAGE, request))
        return answer

    async def send_streaming_message(self, request: SendMessageRequest) -> AsyncGenerator[StreamEvent, None]:
        request = await self._sent(SEND_STREAMING_MESSAGE, request)
        async with aclosing(self._stream(SEND_STREAMING_MESSAGE, request)) as events:
            async for event in events:
                yield event

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
        self._extended = await self._link.extended(card)
        return self._extended

    async def _call(self, operation: Operation, request: Any) -> Any:
        await self._check(operation)
        return await (await self._channel()).call(operation, request)

    async def _stream(self, operation: Operation, request: Any) -> AsyncGenerator[StreamEvent, None]:
        await self._check(operation)
        async with aclosing((await self._channel()).stream(operation, request)) as events:
            async for event in events:
                yield event

    async def _sent(self, operation: Operation, request: SendMessageRequest) -> SendMessageRequest:
        """The message as the extensions have it, once for as often as it may have to be sent."""
        if not self._extensions:
            return request
        return await sent(self._extensions.declared(await self._card()), operation, request)

    async def _channel(self) -> Channel:
        channel = await self._link.channel()
        if not self._extensions:
            return channel
        return ExtendedChannel(channel, self._extensions.declared(await self._card()))

    async def _card(self) -> AgentCard:
        return self._extended or await self._link.card(CARD_TOLERANCE)

    async def _check(self, operation: Operation) -> None:
        need = operation.needs
        if need is not None and not await self._offers(need):
            raise _LACKING[need](f"The agent's card does not declare what {operation.name} needs")

    async def _offers(self, capability: str) -> bool:
        return bool(getattr((await self._card()).capabilities, capability))
