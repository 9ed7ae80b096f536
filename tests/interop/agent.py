"""The agent that official clients call: it obeys the first word of a message, as `scenarios` says."""

import asyncio
from collections.abc import AsyncIterator

from dragoman import Agent, AgentCard, Fail, Message, Part, PushOptions, Reject, TaskContext, answer
from dragoman.types.card import AgentCapabilities

EXTENDED = AgentCard(
    name="Interop, extended",
    description="For those who ask.",
    version="1",
    supported_interfaces=(),
    capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
    default_input_modes=("text/plain",),
    default_output_modes=("text/plain",),
    skills=(),
)

ENDS = {"fail": Fail("It broke."), "reject": Reject("Not this.")}

agent = Agent(
    "Interop",
    "Does what the first word says.",
    store="memory",
    extended_card=EXTENDED,
    push=PushOptions(insecure=True),
)


@agent.skill(tags=["interop"])
async def obey(task: TaskContext) -> AsyncIterator[str | Part]:
    """Do what the first word says."""
    verb, *words = task.text.split()
    for content in given(verb, task):
        yield content
    if verb == "enter":
        await task.require_auth("Who are you?")
    if verb in ENDS:
        raise ENDS[verb]
    if verb == "count":
        number, pause = int(words[0]), float(words[1])
        direction = words[2] if words[2:] else await task.ask("Up or down?")
        for shown in range(1, number + 1):
            yield f"{shown if direction == 'up' else number + 1 - shown} "
            await asyncio.sleep(pause)


def given(verb: str, task: TaskContext) -> tuple[str | Part, ...]:
    if verb == "say":
        return (task.text.removeprefix("say "),)
    if verb == "parts":
        return task.message.parts[1:]
    return (Part(data=task.metadata),) if verb == "show" else ()


@agent.skill(tags=["interop"])
async def tell(text: str) -> Message:
    """Answer with a message, without a task."""
    return answer(text.removeprefix("tell "))


@agent.router
def pick(message: Message) -> str:
    """By the first word."""
    return "tell" if message.text.startswith("tell ") else "obey"
