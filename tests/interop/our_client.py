"""Our client as a `Caller`."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from uuid import uuid4

from msgspec import UNSET

from dragoman import connect
from dragoman import types as t
from dragoman.client import Client
from dragoman.dialects.push import read_push
from dragoman.errors import A2AError
from dragoman.types.requests import SendMessageConfiguration
from tests.interop.words import Event, Page, Part, Say, Seen, Webhook

__all__ = ["our_client"]


def _part(part: Part) -> t.Part:
    return t.Part(
        text=part.get("text"),
        base64=part.get("raw"),
        url=part.get("url"),
        data=part.get("data", UNSET),
        media_type=part.get("type"),
        filename=part.get("name"),
    )


def _plain(part: t.Part) -> Part:
    members = {
        "text": part.text,
        "raw": part.base64,
        "url": part.url,
        "type": part.media_type,
        "name": part.filename,
    }
    plain: Part = {name: value for name, value in members.items() if value is not None}
    return plain if part.data is UNSET else {**plain, "data": part.data}


def _seen(answer: t.Task | t.Message) -> Seen:
    if isinstance(answer, t.Message):
        return Seen(id="", context=answer.context_id or "", state="", note=answer.text)
    note = answer.status.message
    return Seen(
        id=answer.id,
        context=answer.context_id,
        state=answer.state.value,
        note=note.text if note else "",
        artifacts={each.artifact_id: [_plain(part) for part in each.parts] for each in answer.artifacts},
        history=[message.text for message in answer.history],
    )


def _event(event: t.StreamEvent) -> Event:
    if isinstance(event, t.Task):
        return Event("task", _seen(event))
    if isinstance(event, t.Message):
        return Event("message", _seen(event))
    if isinstance(event, t.TaskStatusUpdateEvent):
        return Event("status", state=event.status.state.value)
    parts = [_plain(part) for part in event.artifact.parts]
    return Event("artifact", artifact=event.artifact.artifact_id, parts=parts, append=event.append)


def _config(webhook: Webhook) -> t.TaskPushNotificationConfig:
    how = t.AuthenticationInfo(scheme=webhook.scheme, credentials=webhook.credentials or None)
    return t.TaskPushNotificationConfig(
        task_id=webhook.task,
        id=webhook.id,
        url=webhook.url,
        token=webhook.token or None,
        authentication=how if webhook.scheme else None,
    )


def _webhook(config: t.TaskPushNotificationConfig) -> Webhook:
    how = config.authentication or t.AuthenticationInfo(scheme="")
    return Webhook(config.task_id, config.id, config.url, config.token or "", how.scheme, how.credentials or "")


def _request(say: Say, *, wait: bool) -> t.SendMessageRequest:
    message = t.Message(
        message_id=str(uuid4()),
        role=t.Role.USER,
        parts=tuple(_part(part) for part in ({"text": say.text}, *say.parts)),
        task_id=say.task.id if say.task else None,
        context_id=(say.task.context if say.task else say.context) or None,
        metadata=say.metadata,
    )
    configuration = SendMessageConfiguration(
        return_immediately=not wait,
        task_push_notification_config=_config(say.webhook) if say.webhook else None,
    )
    return t.SendMessageRequest(message=message, configuration=configuration, tenant=say.tenant)


class OurClient:
    """The operations as they are, so that nothing is mended on the way."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def send(self, say: Say, *, wait: bool = True) -> Seen:
        return _seen(await self._client.send_message(_request(say, wait=wait)))

    async def stream(self, say: Say) -> AsyncGenerator[Event, None]:
        async with aclosing(self._client.send_streaming_message(_request(say, wait=True))) as events:
            async for event in events:
                yield _event(event)

    async def get(self, task_id: str, *, history: int | None = None, tenant: str = "") -> Seen:
        return _seen(await self._client.get_task(t.GetTaskRequest(id=task_id, history_length=history, tenant=tenant)))

    async def page(self, context: str, size: int, token: str) -> Page:
        asked = t.ListTasksRequest(context_id=context, page_size=size, page_token=token)
        page = await self._client.list_tasks(asked)
        return Page([task.id for task in page.tasks], page.total_size, page.next_page_token)

    async def cancel(self, task_id: str) -> Seen:
        return _seen(await self._client.cancel_task(t.CancelTaskRequest(id=task_id)))

    async def subscribe(self, task_id: str) -> AsyncGenerator[Event, None]:
        async with aclosing(self._client.subscribe_to_task(t.SubscribeToTaskRequest(id=task_id))) as events:
            async for event in events:
                yield _event(event)

    async def push(self, verb: str, webhook: Webhook) -> list[Webhook]:
        named = {"task_id": webhook.task, "id": webhook.id}
        match verb:
            case "create":
                found = [await self._client.create_task_push_notification_config(_config(webhook))]
            case "get":
                asked = t.GetTaskPushNotificationConfigRequest(**named)
                found = [await self._client.get_task_push_notification_config(asked)]
            case "list":
                listing = t.ListTaskPushNotificationConfigsRequest(task_id=webhook.task)
                found = list((await self._client.list_task_push_notification_configs(listing)).configs)
            case _:
                await self._client.delete_task_push_notification_config(
                    t.DeleteTaskPushNotificationConfigRequest(**named)
                )
                found = []
        return [_webhook(config) for config in found]

    async def read(self, body: dict[str, Any]) -> Event:
        return _event(read_push(json.dumps(body).encode(), ""))

    async def extended_card(self) -> str:
        return (await self._client.get_extended_agent_card()).name

    def name_of(self, error: Exception) -> str | None:
        return type(error).__name__ if isinstance(error, A2AError) else None


@asynccontextmanager
async def our_client(url: str, version: str, binding: str) -> AsyncGenerator[OurClient]:
    """Our client over this version and binding; without, as it comes."""
    async with connect(url, versions=[version] if version else None, bindings=[binding] if binding else None) as client:
        yield OurClient(client)
