"""The client of the official Python SDK's 0.3 line."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import grpc
import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientEvent, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
    TransportProtocol,
)
from a2a.types import Part as SdkPart

from tests.interop.peers.loop import channels, serve
from tests.interop.words import Event, Part, Say, Seen, Webhook, text_of

CODES = {
    -32001: "TaskNotFoundError",
    -32002: "TaskNotCancelableError",
    -32003: "PushNotificationNotSupportedError",
    -32004: "UnsupportedOperationError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
}
STATUSES = {404: "TaskNotFoundError", 409: "TaskNotCancelableError", 501: "UnsupportedOperationError"}
"""All that the REST client shows of an error is its status."""


def sdk_part(part: Part) -> SdkPart:
    if "text" in part:
        return SdkPart(TextPart(text=part["text"]))
    if "data" in part:
        return SdkPart(DataPart(data=part["data"]))
    named = {"mime_type": part.get("type"), "name": part.get("name")}
    file = FileWithBytes(bytes=part["raw"], **named) if "raw" in part else FileWithUri(uri=part["url"], **named)
    return SdkPart(FilePart(file=file))


def plain_part(part: SdkPart) -> Part:
    if isinstance(part.root, TextPart):
        return {"text": part.root.text}
    if isinstance(part.root, DataPart):
        return {"data": part.root.data}
    file = part.root.file
    content = {"raw": file.bytes} if isinstance(file, FileWithBytes) else {"url": file.uri}
    named = {"type": file.mime_type, "name": file.name}
    return content | {key: word for key, word in named.items() if word}


def words(message: Message | None) -> str:
    return "" if message is None else text_of([plain_part(part) for part in message.parts])


def seen(task: Task) -> Seen:
    return Seen(
        id=task.id,
        context=task.context_id,
        state=task.status.state.value,
        note=words(task.status.message),
        artifacts={each.artifact_id: [plain_part(part) for part in each.parts] for each in task.artifacts or []},
        history=[words(message) for message in task.history or []],
    )


def answer_of(answer: ClientEvent | Message) -> Seen:
    if isinstance(answer, Message):
        return Seen(id="", context=answer.context_id or "", state="", note=words(answer))
    return seen(answer[0])


def event_of(answer: ClientEvent | Message) -> Event:
    if isinstance(answer, Message):
        return Event("message", answer_of(answer))
    task, update = answer
    if update is None:
        return Event("task", seen(task))
    if isinstance(update, TaskArtifactUpdateEvent):
        parts = [plain_part(part) for part in update.artifact.parts]
        return Event("artifact", artifact=update.artifact.artifact_id, parts=parts, append=bool(update.append))
    return Event("status", state=update.status.state.value)


def message_of(say: Say) -> Message:
    return Message(
        message_id=f"m-{id(say)}",
        role=Role.user,
        parts=[SdkPart(TextPart(text=say.text)), *(sdk_part(part) for part in say.parts)],
        task_id=say.task.id if say.task else None,
        context_id=(say.task.context if say.task else say.context) or None,
        metadata=say.metadata,
    )


def config_of(webhook: Webhook) -> PushNotificationConfig:
    how = PushNotificationAuthenticationInfo(schemes=[webhook.scheme], credentials=webhook.credentials)
    return PushNotificationConfig(
        id=webhook.id or None,
        url=webhook.url,
        token=webhook.token or None,
        authentication=how if webhook.scheme else None,
    )


def webhook_of(config: TaskPushNotificationConfig) -> Webhook:
    inner = config.push_notification_config
    how = inner.authentication or PushNotificationAuthenticationInfo(schemes=[""])
    return Webhook(config.task_id, inner.id or "", inner.url, inner.token or "", how.schemes[0], how.credentials or "")


class PythonZeroThree:
    """All calls but `page`: 0.3 lists no tasks. Of the verbs of `push` this client has `create` and `get`."""

    def __init__(self, made: Callable[..., Client]) -> None:
        """`made` gives a client, `streaming` or not, with the webhooks that its messages take with them."""
        self._made = made
        self._whole, self._streaming = made(), made(streaming=True)

    async def send(self, say: Say, *, wait: bool = True) -> Seen:
        configuration = MessageSendConfiguration(blocking=wait)
        # Webhooks are taken from what the client is made with; one beside a message becomes a dict, and breaks.
        whole = self._made(config_of(say.webhook)) if say.webhook else self._whole
        answers = whole.send_message(message_of(say), configuration=configuration)
        async with aclosing(answers):
            return answer_of(await anext(answers))

    async def stream(self, say: Say) -> AsyncGenerator[Event, None]:
        async with aclosing(self._streaming.send_message(message_of(say))) as answers:
            async for answer in answers:
                yield event_of(answer)

    async def get(self, task_id: str, *, history: int | None = None, tenant: str = "") -> Seen:  # noqa: ARG002 -- 1.0's
        return seen(await self._whole.get_task(TaskQueryParams(id=task_id, history_length=history)))

    async def cancel(self, task_id: str) -> Seen:
        return seen(await self._whole.cancel_task(TaskIdParams(id=task_id)))

    async def subscribe(self, task_id: str) -> AsyncGenerator[Event, None]:
        async with aclosing(self._streaming.resubscribe(TaskIdParams(id=task_id))) as answers:
            async for answer in answers:
                yield event_of(answer)

    async def push(self, verb: str, webhook: Webhook) -> list[Webhook]:
        if verb == "create":
            config = TaskPushNotificationConfig(task_id=webhook.task, push_notification_config=config_of(webhook))
            return [webhook_of(await self._whole.set_task_callback(config))]
        assert verb == "get", verb
        asked = GetTaskPushNotificationConfigParams(id=webhook.task, push_notification_config_id=webhook.id or None)
        return [webhook_of(await self._whole.get_task_callback(asked))]

    async def read(self, body: dict[str, Any]) -> Event:
        return Event("task", seen(Task.model_validate(body)))

    async def extended_card(self) -> str:
        return (await self._whole.get_card()).name

    def name_of(self, error: Exception) -> str | None:
        if isinstance(error, A2AClientJSONRPCError):
            return CODES.get(error.error.code, f"code {error.error.code}")
        if isinstance(error, A2AClientHTTPError):
            return STATUSES.get(error.status_code, f"status {error.status_code}")
        if isinstance(error, grpc.aio.AioRpcError):
            return str(error.details()).partition(":")[0]
        return None


@asynccontextmanager
async def opened(url: str, version: str, binding: str) -> AsyncIterator[PythonZeroThree]:
    """Clients that use this binding, or the one that they prefer; the card says where."""
    assert version in {"0.3", ""}
    async with httpx.AsyncClient(timeout=30) as http, AsyncExitStack() as stack:
        card = await A2ACardResolver(http, url).get_agent_card()

        def made(*webhooks: PushNotificationConfig, streaming: bool = False) -> Client:
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=channels(url),
                supported_transports=[TransportProtocol(binding)] if binding else [],
                push_notification_configs=list(webhooks),
            )
            client = ClientFactory(config).create(card)
            stack.push_async_callback(client.close)
            return client

        yield PythonZeroThree(made)


if __name__ == "__main__":
    serve(opened)
