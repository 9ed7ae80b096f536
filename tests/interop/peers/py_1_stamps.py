"""The extension "timestamp" on the official Python SDK 1.x, as its sample does it: a client, and an agent.

`client URL BINDING` sends a stamped message, and prints how old the stamps are that come back; without arguments an
agent is served.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.extensions.common import find_extension_by_uri
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    SendMessageRequest,
)
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from starlette.applications import Starlette

from tests.interop.peers.loop import channels
from tests.interop.peers.serving import serve

CORE = "github.com/a2aproject/a2a-samples/extensions/timestamp/v1"
URI = f"https://{CORE}"
FIELD = f"{CORE}/timestamp"


def stamp() -> str:
    return datetime.now(UTC).isoformat()


async def ask(url: str, binding: str) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    assert find_extension_by_uri(card, URI) is not None
    config = ClientConfig(supported_protocol_bindings=[binding], grpc_channel_factory=channels(url))
    client = ClientFactory(config).create(card)
    context = ClientCallContext(service_parameters=ServiceParametersFactory.create([with_a2a_extensions([URI])]))
    sent = stamp()
    message = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="when?")], metadata={FIELD: sent})
    found = []
    text = ""
    async for response in client.send_message(SendMessageRequest(message=message), context=context):
        if response.HasField("status_update") and response.status_update.status.HasField("message"):
            found.append(response.status_update.status.message.metadata[FIELD])
        if response.HasField("artifact_update"):
            found.append(response.artifact_update.artifact.metadata[FIELD])
            text = response.artifact_update.artifact.parts[0].text
    await client.close()
    now = datetime.now(UTC)
    ages = [(now - datetime.fromisoformat(one)).total_seconds() for one in found]
    heard = datetime.fromisoformat(text) == datetime.fromisoformat(sent)
    print(json.dumps({"ages": ages, "heard": heard}))


class Stamping(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        stamped = {FIELD: stamp()} if URI in context.requested_extensions else None
        note = new_text_message("at it")
        note.metadata.update(stamped or {})
        await updater.start_work(note)
        heard = dict(context.message.metadata).get(FIELD, "nothing")
        await updater.add_artifact([new_text_part(heard)], artifact_id="text", metadata=stamped, last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def made(url: str, rpc: grpc.aio.Server, address: str) -> Starlette:
    places = {"JSONRPC": f"{url}/rpc", "HTTP+JSON": url, "GRPC": address}
    card = AgentCard(
        name="Stamped",
        description="An agent on the official SDK.",
        version="1",
        capabilities=AgentCapabilities(streaming=True, extensions=[AgentExtension(uri=URI, description="Stamps.")]),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="tell", name="Tell", description="Tells when.", tags=["peer"])],
        supported_interfaces=[
            AgentInterface(url=place, protocol_binding=binding, protocol_version="1.0")
            for binding, place in places.items()
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Stamping(), task_store=InMemoryTaskStore(), agent_card=card)
    add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    return Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler),
        ]
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        asyncio.run(ask(*sys.argv[2:]))
    else:
        serve(made)
