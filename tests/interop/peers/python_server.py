"""An agent on the official Python SDK's server, with the behaviour of examples/echo.py or examples/slow.py.

Run by the peer's interpreter: `python python_server.py echo|slow PORT`.
"""

import asyncio
import sys
from abc import abstractmethod

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

QUESTION = "Up or down?"


class Agent(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        began = context.current_task is None
        task = context.current_task or new_task_from_user_message(context.message)
        if began:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await self.work(updater, task.history[0].parts[0].text, context.get_user_input())

    @abstractmethod
    async def work(self, updater: TaskUpdater, first: str, latest: str) -> None:
        """Does what the first message of the task says; the latest is the answer to a question, if there was one."""

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Echo(Agent):
    async def work(self, updater: TaskUpdater, first: str, latest: str) -> None:  # noqa: ARG002 - it asks nothing
        await updater.add_artifact([new_text_part(first)], artifact_id="text", last_chunk=True)
        await updater.complete()


class Slow(Agent):
    async def work(self, updater: TaskUpdater, first: str, latest: str) -> None:
        words = first.split()
        count, pause = int(words[0]), float(words[1])
        direction = words[2] if len(words) > 2 else latest
        if direction not in {"up", "down"}:
            await updater.requires_input(new_text_message(QUESTION))
            return
        for number in range(1, count + 1):
            shown = number if direction == "up" else count + 1 - number
            part = new_text_part(f"{shown} ")
            last = number == count
            await updater.add_artifact([part], artifact_id="text", append=number > 1, last_chunk=last)
            await asyncio.sleep(pause)
        await updater.complete()


def application(kind: str, port: int) -> Starlette:
    base = f"http://127.0.0.1:{port}"
    card = AgentCard(
        name=kind,
        description="An agent on the official SDK.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id=kind, name=kind, description=kind, tags=["peer"])],
        supported_interfaces=[
            AgentInterface(url=f"{base}/rpc", protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=f"{base}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
        ],
    )
    executor = Echo() if kind == "echo" else Slow()
    handler = DefaultRequestHandler(agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )


if __name__ == "__main__":
    uvicorn.run(application(sys.argv[1], int(sys.argv[2])), port=int(sys.argv[2]), log_level="warning")
