"""A start that fails leaves the process as it was."""

import gc
import socket

import pytest

from dragoman import Agent


def test_a_server_that_cannot_start_leaves_the_garbage_collector_on() -> None:
    agent = Agent("Echo", store="memory")

    @agent.skill
    async def echo(text: str) -> str:
        return text

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit):
            agent.run(port=taken.getsockname()[1])
    assert gc.isenabled()
