"""An agent that takes its time: it streams, asks one question, and can be cancelled at any moment.

    dragoman serve examples/slow.py:agent
    dragoman send -a http://127.0.0.1:9999 --stream "20 0.5 down"

The message is COUNT PAUSE DIRECTION; what is missing in the middle has a default, a missing direction is asked for.
"""

import asyncio
from collections.abc import AsyncIterator

from dragoman import Agent, Reject, TaskContext

agent = Agent("Slow", "Counts, one word at a time.")


@agent.skill(tags=["demo"], examples=["20 0.5 up", "10"])
async def count(task: TaskContext) -> AsyncIterator[str]:
    """Count up or down, with a pause between the words."""
    words = task.text.split()
    try:
        number = int(words[0]) if words else 10
        pause = float(words[1]) if len(words) > 1 else 0.5
    except ValueError:
        raise Reject("Say how far to count and how slowly, like this: 20 0.5 up") from None
    # If it is not said, the task waits here, for days if it must, and over restarts. Then the function runs again from
    # the top, and the question is answered at once.
    direction = words[2] if words[2:] else await task.ask("Up or down?")
    numbers = range(number, 0, -1) if direction == "down" else range(1, number + 1)
    for shown in numbers:
        yield f"{shown} "
        await asyncio.sleep(pause)


if __name__ == "__main__":
    agent.run()
