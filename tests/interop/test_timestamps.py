"""The extension "timestamp" between us and the official Python SDK, whose project has published it."""

import json
import subprocess
import sys
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.extensions import Timestamps
from dragoman.types import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from tests.interop.stage import PATIENCE, ROOT, serving

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
AGENT = Path(__file__).parent / "stamped_agent.py"
OURS = (str(Path(sys.executable).parent / "dragoman"), "serve", f"{AGENT}:agent", "--port", "0")
RECENT = timedelta(seconds=60)


def python(peer: str, module: str) -> tuple[str, ...]:
    return str(ROOT / f".peers/{peer}/bin/python"), "-m", f"tests.interop.peers.{module}"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of our agent."""
    folder = tmp_path_factory.mktemp("stamped")
    with serving(OURS, folder / "log", {"PYTHONPATH": str(ROOT)}, folder) as line:
        yield line.split()[1]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of an agent on the official SDK."""
    folder = tmp_path_factory.mktemp("stamping")
    with serving(python("py-1.3.0", "py_1_stamps"), folder / "log", {"PYTHONPATH": str(ROOT)}, ROOT) as line:
        yield json.loads(line)["url"]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    "program",
    [(*python("py-1.3.0", "py_1_stamps"), "client"), python("py-0.3.26", "py_0_3_stamps")],
    ids=["1.3.0", "0.3.26"],
)
def test_official_clients_read_our_stamps_and_we_read_theirs(ours: str, program: tuple[str, ...], binding: str) -> None:
    run = subprocess.run(
        [*program, ours, binding], capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=False
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    assert seen["heard"]
    assert len(seen["ages"]) == 2, seen
    assert all(-1 < age < RECENT.total_seconds() for age in seen["ages"])


@pytest.mark.parametrize("binding", BINDINGS)
async def test_official_agents_read_our_stamps_and_we_read_theirs(theirs: str, binding: str) -> None:
    stamps = Timestamps()
    async with connect(theirs, versions=["1.0"], bindings=[binding], extensions=[stamps]) as client:
        said, text = await told(client, stamps)
    assert len(said) == 2
    now = datetime.now(UTC)
    assert all(stamp is not None and timedelta() <= now - stamp < RECENT for stamp in [*said, *heard(text)])


async def told(client: Client, stamps: Timestamps) -> tuple[list[datetime | None], str]:
    """The stamps of what the agent says, and its text."""
    said: list[datetime | None] = []
    text = ""
    async for event in client.stream("when?"):
        if isinstance(event, TaskStatusUpdateEvent) and event.status.message is not None:
            said.append(stamps.of(event.status.message))
        if isinstance(event, TaskArtifactUpdateEvent):
            said.append(stamps.of(event.artifact))
            text = event.artifact.text
    return said, text


def heard(text: str) -> list[datetime]:
    return [datetime.fromisoformat(text)]
