"""Counts, slowly: what is streamed while the network breaks."""

import asyncio
from collections.abc import AsyncGenerator

from dragoman import Agent

__all__ = ["agent", "counted"]

agent = Agent("Counting", "Counts.", store="memory")
PACE = 0.004


def counted(number: int) -> str:
    """One chunk."""
    return f"{number} {'.' * 30} "


@agent.skill
async def count(text: str) -> AsyncGenerator[str, None]:
    for number in range(int(text)):
        yield counted(number)
        if number % 10 == 0:
            await asyncio.sleep(PACE)
