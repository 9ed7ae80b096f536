"""The official Python SDK's server with a small agent and its in-memory store: `python official.py PORT`.

The agent echoes; `chunks N` streams N words, `hold` sends one word and then waits for ever.
"""

import asyncio
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class Work(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        word, _, count = text.partition(" ")
        if word == "chunks":
            for number in range(int(count)):
                part = new_text_part(f"word{number} ")
                await updater.add_artifact([part], artifact_id="text", append=number > 0)
        elif word == "hold":
            await updater.add_artifact([new_text_part("held")], artifact_id="text")
            await asyncio.Event().wait()
        else:
            await updater.add_artifact([new_text_part(text)], artifact_id="text", last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def application(port: int) -> Starlette:
    base = f"http://127.0.0.1:{port}"
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
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Work(), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )


if __name__ == "__main__":
    port = int(sys.argv[1])
    uvicorn.run(application(port), port=port, log_level="error", access_log=False, loop="uvloop", http="httptools")
