"""The client of the official Python SDK 1.x, in both protocol versions that it speaks."""

import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.compat.v0_3.conversions import to_core_task
from a2a.compat.v0_3.types import Task as OldTask
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.types import Part as SdkPart
from a2a.utils.errors import A2AError
from google.protobuf import json_format

from tests.interop.peers.loop import channels, serve
from tests.interop.words import Event, Page, Part, Say, Seen, Webhook


def sdk_part(part: Part) -> SdkPart:
    made = SdkPart(filename=part.get("name", ""), media_type=part.get("type", ""))
    if "raw" in part:
        made.raw = base64.b64decode(part["raw"])
    elif "data" in part:
        json_format.ParseDict(part["data"], made.data)
    else:
        setattr(made, *next((key, part[key]) for key in ("text", "url") if key in part))
    return made


def plain_part(part: SdkPart) -> Part:
    kind = part.WhichOneof("content")
    value = getattr(part, kind)
    if kind == "raw":
        value = base64.b64encode(value).decode()
    elif kind == "data":
        value = json_format.MessageToDict(value)
    named = {"type": part.media_type, "name": part.filename}
    return {kind: value} | {key: word for key, word in named.items() if word}


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.parts)


def state_of(state: TaskState) -> str:
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def seen(task: Task) -> Seen:
    return Seen(
        id=task.id,
        context=task.context_id,
        state=state_of(task.status.state),
        note=text_of(task.status.message),
        artifacts={each.artifact_id: [plain_part(part) for part in each.parts] for each in task.artifacts},
        history=[text_of(message) for message in task.history],
    )


def told(message: Message) -> Seen:
    return Seen(id="", context=message.context_id, state="", note=text_of(message))


def event_of(response: StreamResponse) -> Event:
    kind = response.WhichOneof("payload")
    if kind == "task":
        return Event("task", seen(response.task))
    if kind == "message":
        return Event("message", told(response.message))
    if kind == "status_update":
        return Event("status", state=state_of(response.status_update.status.state))
    update = response.artifact_update
    parts = [plain_part(part) for part in update.artifact.parts]
    return Event("artifact", artifact=update.artifact.artifact_id, parts=parts, append=update.append)


def config_of(webhook: Webhook) -> TaskPushNotificationConfig:
    config = TaskPushNotificationConfig(task_id=webhook.task, id=webhook.id, url=webhook.url, token=webhook.token)
    if webhook.scheme:
        config.authentication.CopyFrom(AuthenticationInfo(scheme=webhook.scheme, credentials=webhook.credentials))
    return config


def webhook_of(config: TaskPushNotificationConfig) -> Webhook:
    how = config.authentication
    return Webhook(config.task_id, config.id, config.url, config.token, how.scheme, how.credentials)


def request(say: Say, *, wait: bool) -> SendMessageRequest:
    message = Message(
        message_id=f"m-{id(say)}",
        role=Role.ROLE_USER,
        parts=[SdkPart(text=say.text), *(sdk_part(part) for part in say.parts)],
        task_id=say.task.id if say.task else "",
        context_id=say.task.context if say.task else say.context,
        metadata=say.metadata,
    )
    configuration = SendMessageConfiguration(
        return_immediately=not wait,
        task_push_notification_config=config_of(say.webhook) if say.webhook else None,
    )
    return SendMessageRequest(message=message, configuration=configuration, tenant=say.tenant)


class PythonOne:
    def __init__(self, whole: Client, streaming: Client) -> None:
        self._whole, self._streaming = whole, streaming

    async def send(self, say: Say, *, wait: bool = True) -> Seen:
        async with aclosing(self._whole.send_message(request(say, wait=wait))) as answers:
            answer = await anext(answers)
            return seen(answer.task) if answer.HasField("task") else told(answer.message)

    async def stream(self, say: Say) -> AsyncGenerator[Event, None]:
        async with aclosing(self._streaming.send_message(request(say, wait=True))) as responses:
            async for response in responses:
                yield event_of(response)

    async def get(self, task_id: str, *, history: int | None = None, tenant: str = "") -> Seen:
        asked = GetTaskRequest(id=task_id, history_length=history, tenant=tenant)
        return seen(await self._whole.get_task(asked))

    async def page(self, context: str, size: int, token: str) -> Page:
        asked = ListTasksRequest(context_id=context, page_size=size, page_token=token)
        page = await self._whole.list_tasks(asked)
        return Page([task.id for task in page.tasks], page.total_size, page.next_page_token)

    async def cancel(self, task_id: str) -> Seen:
        return seen(await self._whole.cancel_task(CancelTaskRequest(id=task_id)))

    async def subscribe(self, task_id: str) -> AsyncGenerator[Event, None]:
        async with aclosing(self._streaming.subscribe(SubscribeToTaskRequest(id=task_id))) as responses:
            async for response in responses:
                yield event_of(response)

    async def push(self, verb: str, webhook: Webhook) -> list[Webhook]:
        name = {"task_id": webhook.task, "id": webhook.id}
        match verb:
            case "create":
                found = [await self._whole.create_task_push_notification_config(config_of(webhook))]
            case "get":
                asked = GetTaskPushNotificationConfigRequest(**name)
                found = [await self._whole.get_task_push_notification_config(asked)]
            case "list":
                listing = ListTaskPushNotificationConfigsRequest(task_id=webhook.task)
                found = list((await self._whole.list_task_push_notification_configs(listing)).configs)
            case _:
                named = DeleteTaskPushNotificationConfigRequest(**name)
                found = []
                await self._whole.delete_task_push_notification_config(named)
        return [webhook_of(config) for config in found]

    async def read(self, body: dict[str, Any]) -> Event:
        if "kind" in body:
            return Event("task", seen(to_core_task(OldTask.model_validate(body))))
        return event_of(json_format.ParseDict(body, StreamResponse()))

    async def extended_card(self) -> str:
        return (await self._whole.get_extended_agent_card(GetExtendedAgentCardRequest())).name

    def name_of(self, error: Exception) -> str | None:
        return type(error).__name__ if isinstance(error, A2AError) else None


@asynccontextmanager
async def opened(url: str, version: str, binding: str) -> AsyncIterator[PythonOne]:
    """Clients for the one interface of the agent's card that has this version and binding; without, as they come."""
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    if binding:
        chosen = [
            interface
            for interface in card.supported_interfaces
            if interface.protocol_binding == binding and interface.protocol_version.startswith(version)
        ]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(chosen)
    clients = [
        ClientFactory(
            ClientConfig(
                streaming=streaming,
                supported_protocol_bindings=[binding] if binding else [],
                grpc_channel_factory=channels(url),
            )
        ).create(card)
        for streaming in (False, True)
    ]
    try:
        yield PythonOne(*clients)
    finally:
        for client in clients:
            await client.close()


if __name__ == "__main__":
    serve(opened)
