"""Our server with the agent of `bench/peers/official.py`."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dragoman import Agent, Artifact, Part, PushOptions, TaskContext
from dragoman.auth import Bearer
from dragoman.ports.limits import CallLimits, Rate

AUDIENCE = ISSUER = "https://bench.example"
UNHURRIED = Rate(1_000_000, 1_000_000)
"""What is counted as any other rate, and never reached: the load is one caller's."""


def _access(options: argparse.Namespace) -> dict[str, Any]:
    if options.keys:
        return {
            "auth": Bearer(issuer=ISSUER, audience=AUDIENCE, keys=options.keys.read_text(encoding="ascii")),
            "limits": CallLimits(requests_per_principal=UNHURRIED, requests_per_address=UNHURRIED),
        }
    return {"limits": UNLIMITED} if options.unlimited else {}


UNLIMITED = CallLimits(
    max_parts=None,
    max_history=None,
    max_artifact_bytes=None,
    max_task_bytes=None,
    requests_per_principal=None,
    requests_per_address=None,
    messages_per_task=None,
    failed_authentications=None,
    max_streams_per_caller=None,
    max_streams=None,
    max_tasks_per_principal=None,
    max_tasks=None,
)
parser = argparse.ArgumentParser(prog="python -m bench.ours", description=__doc__)
parser.add_argument("port", type=int)
parser.add_argument("store")
parser.add_argument("--receiver", type=int, help="port of this machine at which webhooks may be called")
parser.add_argument("--keys", type=Path, help="key set of those who may call; else anybody may")
parser.add_argument("--unlimited", action="store_true", help="without limits for callers")
options = parser.parse_args()
receivers = [] if options.receiver is None else [f"http://127.0.0.1:{options.receiver}"]
agent = Agent("Bench", "An agent on Dragoman.", push=PushOptions(allow=receivers), **_access(options))


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
    agent.run(port=options.port, store=options.store)
