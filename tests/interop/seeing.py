"""How scenarios look at what a caller gets."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from time import monotonic
from typing import Any

from tests.interop.words import Caller, Event, Seen, text_of

__all__ = ["Facts", "begun", "count", "ended", "fault", "watch"]

Facts = dict[str, Any]
"""What was seen in a scenario; `broken` holds the traceback of one that could not be gone through."""


async def watch(events: AsyncGenerator[Event, None]) -> Facts:
    """What came, in order; artifacts put together by the rules of append."""
    kinds: list[str] = []
    times: list[float] = []
    texts: dict[str, str] = {}
    state = ""
    async with aclosing(events):
        async for event in events:
            kinds.append(event.kind)
            state = event.state or state
            if event.seen is not None:
                state = event.seen.state
                texts = {name: text_of(parts) for name, parts in event.seen.artifacts.items()}
            if event.kind == "artifact":
                times.append(monotonic())
                before = texts.get(event.artifact, "") if event.append else ""
                texts[event.artifact] = before + text_of(event.parts)
    return {
        "first": kinds[0] if kinds else "nothing",
        "tasks": kinds.count("task"),
        "chunks": len(times),
        "seconds": round(times[-1] - times[0], 3) if times else 0,
        "text": "".join(texts.values()),
        "state": state,
    }


async def fault(caller: Caller, call: Awaitable[Seen | Facts]) -> str:
    """The name of the error, or the state of what came instead."""
    try:
        answer = await call
    except Exception as error:  # noqa: BLE001 -- each client has errors of its own
        name = caller.name_of(error)
        return name or f"untyped: {str(error).partition(chr(10))[0][:80]}"
    return answer.state if isinstance(answer, Seen) else str(answer["state"])


async def begun(caller: Caller, task: Seen) -> Seen:
    """The task, when it has given its first words."""
    while not task.text:
        await asyncio.sleep(0.02)
        task = await caller.get(task.id)
    return task


async def ended(caller: Caller, task_id: str, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The events to their end, which a cancellation brings when some artifacts have come."""
    chunks = 0
    async with aclosing(events):
        async for event in events:
            yield event
            chunks += event.kind == "artifact"
            if chunks == 3 and event.kind == "artifact":
                await caller.cancel(task_id)


def count(text: str) -> str:
    """`from 1` if the words are the numbers from 1, each once; else the text."""
    words = text.split()
    return "from 1" if words and words == [str(number) for number in range(1, len(words) + 1)] else text
