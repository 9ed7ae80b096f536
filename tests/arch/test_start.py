"""What only webhooks need is loaded by the first of them."""

import subprocess
import sys

import pytest

from tests.arch.source import ROOT

SERVED = """
import asyncio, sys
from dragoman import Agent, connect

agent = Agent("Echo", store="memory"%s)

@agent.skill
async def echo(text: str) -> str:
    return text

async def main():
    async with connect(agent) as client:
        assert await client.ask("hi") == "hi"

agent.asgi()
asyncio.run(main())
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & {"aiohttp", "cryptography", "joserfc", "rfc8785"}))
"""


KEYS = ", auth=__import__('dragoman.auth').auth.ApiKey({'alice': 'alice-has-this-key'})"


@pytest.mark.parametrize("option", ["", KEYS], ids=["for anybody", "with keys"])
def test_an_agent_without_webhooks_loads_neither_ciphers_nor_a_client(option: str) -> None:
    argv = [sys.executable, "-W", "error", "-c", SERVED % option]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
