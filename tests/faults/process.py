"""An agent in a process of its own, on a store that outlives it."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["START_LIMIT", "started"]

ROOT = Path(__file__).parents[2]
START_LIMIT = 30.0
"""Seconds for a process to take calls, or to end in order."""


async def started(
    agent: str, port: int, store: Path, log: Path, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """A process that serves this agent and takes calls, unless its `environment` has had it die before. What it prints
    is added to `log`.

    Raises:
        TimeoutError: it has done neither within `START_LIMIT`.
    """
    program = Path(sys.executable).parent / "dragoman"
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            program,
            *("serve", agent, "--port", str(port), "--store", f"sqlite:///{store}?synchronous=full"),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    async with asyncio.timeout(START_LIMIT):
        while process.returncode is None and not await _answers(port):  # noqa: ASYNC110 -- it is another process
            await asyncio.sleep(0.02)
    return process


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
