"""An agent on the official Python SDK 1.x's servers, in both protocol versions and all bindings that they speak."""

import grpc
import httpx
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import add_A2AServiceServicer_to_server as add_compat_service
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from starlette.applications import Starlette

from tests.interop.peers.serving import obey, serve


class Work:
    def __init__(self, updater: TaskUpdater, message: Message) -> None:
        self._updater, self._message = updater, message

    async def give(self, text: str, *, append: bool = False, last: bool = True) -> None:
        await self._updater.add_artifact([new_text_part(text)], artifact_id="text", append=append, last_chunk=last)

    async def give_back(self) -> None:
        await self._updater.add_artifact(list(self._message.parts[1:]), artifact_id="parts", last_chunk=True)

    async def show(self) -> None:
        part = Part()
        part.data.struct_value.CopyFrom(self._message.metadata)
        await self._updater.add_artifact([part], artifact_id="metadata", last_chunk=True)

    async def ask(self, question: str) -> None:
        await self._updater.requires_input(new_text_message(question))

    async def require_auth(self, question: str) -> None:
        await self._updater.requires_auth(new_text_message(question))

    async def fail(self, reason: str) -> None:
        await self._updater.failed(new_text_message(reason))

    async def reject(self, reason: str) -> None:
        await self._updater.reject(new_text_message(reason))

    async def complete(self) -> None:
        await self._updater.complete()


class Obedient(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        latest = context.get_user_input()
        if latest.startswith("tell "):
            return await event_queue.enqueue_event(new_text_message(latest.removeprefix("tell ")))
        task = context.current_task or new_task_from_user_message(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        first = task.history[0].parts[0].text
        return await obey(Work(updater, context.message), first, latest)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(name: str, url: str, address: str) -> AgentCard:
    places = {"JSONRPC": f"{url}/rpc", "HTTP+JSON": url, "GRPC": address}
    return AgentCard(
        name=name,
        description="An agent on the official SDK.",
        version="1",
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="obey", name="Obey", description="Does what it is told.", tags=["peer"])],
        supported_interfaces=[
            AgentInterface(url=place, protocol_binding=binding, protocol_version=version)
            for version in ("1.0", "0.3")
            for binding, place in places.items()
        ],
    )


def made(url: str, rpc: grpc.aio.Server, address: str) -> Starlette:
    public = card("Interop", url, address)
    webhooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Obedient(),
        task_store=InMemoryTaskStore(),
        agent_card=public,
        extended_agent_card=card("Interop, extended", url, address),
        push_config_store=webhooks,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), webhooks),
    )
    add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    add_compat_service(CompatGrpcHandler(handler), rpc)
    return Starlette(
        routes=[
            *create_agent_card_routes(public),
            *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
            *create_rest_routes(handler, enable_v0_3_compat=True),
        ]
    )


if __name__ == "__main__":
    serve(made)
