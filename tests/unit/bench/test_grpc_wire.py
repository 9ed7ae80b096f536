"""The bench's own caller of gRPC, and the agent that it calls."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from bench.grpc_wire import GrpcWire, Question
from bench.wire import text_of
from scripts.programs import CARD_PATH, free_port, running


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrpcWire]:
    port = free_port()
    card = f"http://127.0.0.1:{port}{CARD_PATH}"
    argv = [sys.executable, "-m", "bench.ours", str(port), "memory"]
    with running(argv, card, tmp_path_factory.mktemp("bench") / "log", cwd=Path(__file__).parents[3]):
        with urlopen(card, timeout=5) as reply:
            interfaces = json.load(reply)["supportedInterfaces"]
        yield GrpcWire(next(each["url"] for each in interfaces if each["protocolBinding"] == "GRPC"))


def test_an_answer_is_read_whole(wire: GrpcWire) -> None:
    task = wire.ask(wire.send("hello"))["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_of([{"task": task}]) == "hello"


def test_each_artifact_of_a_stream_is_a_message_of_its_own(wire: GrpcWire) -> None:
    stream = wire.stream("artifacts 600")
    updates = [text_of([event]) for event in stream.events if "artifactUpdate" in event]
    assert updates == [f"word{number} " for number in range(600)]
    assert 0 < stream.first <= stream.total


def test_the_words_of_a_text_may_come_together_and_none_is_lost(wire: GrpcWire) -> None:
    stream = wire.stream("chunks 600")
    assert text_of(stream.events) == "".join(f"word{number} " for number in range(600))


def test_an_error_is_no_answer(wire: GrpcWire) -> None:
    with pytest.raises(RuntimeError, match=r"'grpc-status': '12'"):
        wire.ask(Question("Forget", wire.send("hello").body))
