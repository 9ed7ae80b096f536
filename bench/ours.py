"""Our server with the agent of `bench/peers/official.py`: `python -m bench.ours PORT STORE [PORT OF WEBHOOKS]`."""

import asyncio
import sys
from collections.abc import AsyncIterator

from dragoman import Agent, Artifact, Part, PushOptions, TaskContext

webhooks = PushOptions(allow=[f"http://127.0.0.1:{port}" for port in sys.argv[3:]])
agent = Agent("Bench", "An agent on Dragoman.", push=webhooks)


@agent.skill(tags=["bench"])
async def work(task: TaskContext) -> AsyncIterator[str | Artifact]:
    """Echo; or `chunks N`, `artifacts N` and `hold`."""
    word, _, count = task.text.partition(" ")
    if word == "chunks":
        for number in range(int(count)):
            yield f"word{number} "
    elif word == "artifacts":
        for number in range(int(count)):
            yield Artifact(artifact_id="text", parts=(Part(text=f"word{number} "),))
    elif word == "hold":
        yield "held"
        await asyncio.Event().wait()
    else:
        yield task.text


if __name__ == "__main__":
    agent.run(port=int(sys.argv[1]), store=sys.argv[2])
