"""How long it takes to be told that a task is not found: one of another's, and one that is not there.

Run by hand on an idle machine: `python -m scripts.timing`. Both are asked for in turn, over JSON-RPC without a socket,
so that nothing hides the difference as a network would. What is told is the median difference, with its bounds of
95 %; and the same for two that are not there, which is the noise.
"""

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from dragoman import Agent, CallLimits, TaskContext
from dragoman.auth import ApiKey
from dragoman.dialects.base import HttpRequest
from dragoman.testing.bridge import AsgiBridge

KEYS = {"alice": "alice-has-this-key", "bob": "bob-has-another-key"}
ROUNDS = 20_000
TASKS = 200


def _request(who: str, method: str, params: object) -> HttpRequest:
    headers = {"content-type": "application/json", "a2a-version": "1.0", "x-api-key": KEYS[who]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return HttpRequest("POST", "/", headers=headers, body=body)


def _agent(store: str) -> Agent:
    agent = Agent("Timed", store=store, auth=ApiKey(KEYS), limits=CallLimits(requests_per_principal=None))

    @agent.skill
    async def say(task: TaskContext) -> str:
        return task.text

    return agent


async def _made(bridge: AsgiBridge) -> list[str]:
    """Ids of tasks of alice's."""
    made: list[str] = []
    for number in range(TASKS):
        message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        reply = await bridge.send(_request("alice", "SendMessage", {"message": message}))
        made.append(json.loads(reply.body)["result"]["task"]["id"])
    return made


async def _asked(bridge: AsgiBridge, task_id: str) -> int:
    request = _request("bob", "GetTask", {"id": task_id})
    begun = time.perf_counter_ns()
    reply = await bridge.send(request)
    taken = time.perf_counter_ns() - begun
    assert b"TASK_NOT_FOUND" in reply.body
    return taken


def _other(task_id: str) -> str:
    """An id of the same form that nobody has."""
    return task_id[:-6] + "".join(random.choices("0123456789abcdef", k=6))  # noqa: S311 -- nobody is to be kept from guessing it


def _told(differences: list[int]) -> str:
    """The median in microseconds, with the bounds that its rank has."""
    ranked = sorted(differences)
    half, spread = len(ranked) / 2, 0.98 * len(ranked) ** 0.5  # half a standard deviation of the rank, times 1.96
    low, high = ranked[int(half - spread)], ranked[int(half + spread)]
    return f"{statistics.median(ranked) / 1000:+.2f} µs ({low / 1000:+.2f} to {high / 1000:+.2f})"


async def measure(store: str) -> None:
    async with AsgiBridge(_agent(store).asgi()) as bridge:
        ids = await _made(bridge)
        foreign: list[int] = []
        noise: list[int] = []
        whole: list[int] = []
        for number in range(ROUNDS):
            task_id = ids[number % TASKS]
            taken: dict[str, int] = {}
            for kind in random.sample(["foreign", "missing", "again"], 3):
                taken[kind] = await _asked(bridge, task_id if kind == "foreign" else _other(task_id))
            foreign.append(taken["foreign"] - taken["missing"])
            noise.append(taken["again"] - taken["missing"])
            whole.append(taken["missing"])
    median = statistics.median(whole) / 1000
    print(f"{store.partition(':')[0]}: a call takes {median:.0f} µs")
    print(f"  of another's, against one that is not there  {_told(foreign)}")
    print(f"  two that are not there                       {_told(noise)}")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for store in ("memory", f"sqlite:///{Path(folder)}/tasks.db"):
            asyncio.run(measure(store))
    return 0


if __name__ == "__main__":
    sys.exit(main())
