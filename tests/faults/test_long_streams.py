"""One long stream over a network that breaks again and again, in every binding."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import connect
from dragoman.types import TaskArtifactUpdateEvent
from scripts.programs import CARD_PATH, free_port, running
from tests.faults.counting import counted
from tests.proxy import proxied

ROOT = Path(__file__).parents[2]
CHUNKS = 10_000
CUTS = 50


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where the server is."""
    number = free_port()
    program = Path(sys.executable).parent / "dragoman"
    argv = [str(program), "serve", "tests/faults/counting.py:agent", "--port", str(number)]
    log = tmp_path_factory.mktemp("counting") / "server.log"
    with running(argv, f"http://127.0.0.1:{number}{CARD_PATH}", log, cwd=ROOT):
        yield number


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
async def test_fifty_cuts_in_a_stream_of_ten_thousand_chunks_leave_exactly_what_is_stored(
    port: int, binding: str
) -> None:
    said = "".join(map(counted, range(CHUNKS)))
    async with proxied("127.0.0.1", port) as proxy:
        base = f"http://{proxy.address}"
        async with connect(base) as client:
            card = await client.card()
        async with connect(card, bindings=[binding], poll_interval=0.01) as client:
            proxy.cut_after(2_000 + 61 * number for number in range(CUTS))
            streamed = task_id = ""
            async for event in client.stream(str(CHUNKS), deadline=90):
                if isinstance(event, TaskArtifactUpdateEvent):
                    streamed += event.artifact.text
                    task_id = event.task_id
            stored = (await client.task(task_id)).task
    assert proxy.cuts >= CUTS
    assert stored.text == said
    assert streamed == said
