"""The agent that is attacked, as a program: it knows callers, and its limits and times are small.

Its argument names a twin: the same agent without one of its defences.
"""

import asyncio
import sys
from functools import partial
from typing import Any

from dragoman import Agent, CallLimits, ConnectionLimits, Rate, TaskContext
from dragoman.auth import ApiKey, Basic, Bearer
from dragoman.engine.world import Limits
from tests.behaviour.callers import KEYS, PASSWORDS
from tests.faults.hostile.tokens import RSA
from tests.faults.hostile.twins import break_it, calls, connections
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS

__all__ = ["attacked"]

TIMES = ConnectionLimits(head_timeout=0.4, idle=0.6, stall=1.0, max_head_bytes=16_384, max_header_fields=50)
BODY = 0.4
"""Seconds that a body has."""
OFTEN = Rate(1_000_000.0, 1_000_000)
LIMITS = CallLimits(
    max_body_bytes=131_072, max_parts=20, max_names=10, failed_authentications=OFTEN, requests_per_principal=OFTEN
)
KEY_SET = {"keys": [*JWKS["keys"], RSA.public_jwk()]}


def attacked(limits: CallLimits) -> Agent:
    """Says how many asyncio tasks there are."""
    known = ApiKey(KEYS) | Bearer(issuer=ISSUER, audience=AUDIENCE, keys=KEY_SET) | Basic(PASSWORDS)
    agent = Agent("Attacked", "Stands.", store="memory", auth=known, limits=limits, drain_grace=0.2, cancel_grace=0.2)

    @agent.skill
    async def census(task: TaskContext) -> str:
        """Counts."""
        return f"{len(asyncio.all_tasks())} tasks, {len(task.text)} characters"

    return agent


if __name__ == "__main__":
    import dragoman.server

    changed: Any = dragoman.server
    changed.Limits = partial(Limits, body_timeout=BODY)  # no test waits for the default
    twin = sys.argv[1]
    break_it(twin)
    attacked(calls(twin, LIMITS)).run(port=0, connections=connections(twin, TIMES), announce=partial(print, flush=True))
