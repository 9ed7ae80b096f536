"""An agent on the servers of the official Python SDK's 0.3 line, in all its bindings."""

import grpc
import httpx
from a2a.grpc.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, DataPart, Message, Part, TextPart
from a2a.utils import new_agent_text_message, new_task
from starlette.applications import Starlette

from tests.interop.peers.serving import obey, serve


class Work:
    def __init__(self, updater: TaskUpdater, heard: Message) -> None:
        self._updater, self._heard = updater, heard

    def _message(self, text: str) -> Message:
        return self._updater.new_agent_message([Part(TextPart(text=text))])

    async def give(self, text: str, *, append: bool = False, last: bool = True) -> None:
        parts = [Part(TextPart(text=text))]
        await self._updater.add_artifact(parts, artifact_id="text", append=append, last_chunk=last)

    async def give_back(self) -> None:
        await self._updater.add_artifact(self._heard.parts[1:], artifact_id="parts", last_chunk=True)

    async def show(self) -> None:
        parts = [Part(DataPart(data=self._heard.metadata))]
        await self._updater.add_artifact(parts, artifact_id="metadata", last_chunk=True)

    async def ask(self, question: str) -> None:
        await self._updater.requires_input(self._message(question), final=True)

    async def require_auth(self, question: str) -> None:
        await self._updater.requires_auth(self._message(question), final=True)

    async def fail(self, reason: str) -> None:
        await self._updater.failed(self._message(reason))

    async def reject(self, reason: str) -> None:
        await self._updater.reject(self._message(reason))

    async def complete(self) -> None:
        await self._updater.complete()


class Obedient(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        latest = context.get_user_input()
        if latest.startswith("tell "):
            return await event_queue.enqueue_event(new_agent_text_message(latest.removeprefix("tell ")))
        task = context.current_task or new_task(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        first = task.history[0].parts[0].root.text
        return await obey(Work(updater, context.message), first, latest)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(name: str, url: str, address: str) -> AgentCard:
    places = {"JSONRPC": f"{url}/rpc", "HTTP+JSON": f"{url}/rest", "GRPC": address}
    return AgentCard(
        name=name,
        description="An agent on the official SDK.",
        version="1",
        url=places["JSONRPC"],
        preferred_transport="JSONRPC",
        additional_interfaces=[AgentInterface(transport=binding, url=place) for binding, place in places.items()],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        supports_authenticated_extended_card=True,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="obey", name="Obey", description="Does what it is told.", tags=["peer"])],
    )


def made(url: str, rpc: grpc.aio.Server, address: str) -> Starlette:
    public, extended = card("Interop", url, address), card("Interop, extended", url, address)
    webhooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Obedient(),
        task_store=InMemoryTaskStore(),
        push_config_store=webhooks,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), webhooks),
    )
    # The gRPC server of this line has one card: the extended one, which is all that it is asked for.
    add_A2AServiceServicer_to_server(GrpcHandler(extended, handler), rpc)
    app = A2AStarletteApplication(public, handler, extended_agent_card=extended).build(rpc_url="/rpc")
    app.mount("/rest", A2ARESTFastAPIApplication(public, handler, extended_agent_card=extended).build())
    return app


if __name__ == "__main__":
    serve(made)
