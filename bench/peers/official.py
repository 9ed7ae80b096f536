"""The official Python SDK's servers with a small agent and its in-memory store: `python official.py PORT`.

The bindings of HTTP are on that port, gRPC on another one, which the card names. The agent echoes; `chunks N` streams N
words as one text, `artifacts N` sends N words, each in an artifact that takes the place of the one before, `hold` sends
one word and then waits for ever.
"""

import asyncio
import sys

import grpc
import uvicorn
import uvloop
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from starlette.applications import Starlette


class Work(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        word, _, count = text.partition(" ")
        if word in {"chunks", "artifacts"}:
            for number in range(int(count)):
                part = new_text_part(f"word{number} ")
                await updater.add_artifact([part], artifact_id="text", append=word == "chunks" and number > 0)
        elif word == "hold":
            await updater.add_artifact([new_text_part("held")], artifact_id="text")
            await asyncio.Event().wait()
        else:
            await updater.add_artifact([new_text_part(text)], artifact_id="text", last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def application(port: int, rpc: grpc.aio.Server) -> Starlette:
    base = f"http://127.0.0.1:{port}"
    rpc_port = rpc.add_insecure_port("127.0.0.1:0")
    card = AgentCard(
        name="Bench",
        description="An agent on the official SDK.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="work", name="work", description="Work.", tags=["bench"])],
        supported_interfaces=[
            AgentInterface(url=f"{base}/rpc", protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=f"{base}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
            AgentInterface(url=f"127.0.0.1:{rpc_port}", protocol_binding="GRPC", protocol_version="1.0"),
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Work(), task_store=InMemoryTaskStore(), agent_card=card)
    add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    return Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )


async def serve(port: int) -> None:
    rpc = grpc.aio.server()
    served = application(port, rpc)
    await rpc.start()
    await uvicorn.Server(
        uvicorn.Config(served, port=port, log_level="error", access_log=False, http="httptools")
    ).serve()
    await rpc.stop(0)


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
