"""The compiled messages are those of the sources, and harm nobody else in the process."""

import subprocess
import sys

import pytest

from dragoman import _proto
from scripts.proto import HERE, compiled
from tests.arch.source import ROOT
from tests.behaviour.manifest import requirement

OTHERS_FIRST = """
from google.protobuf import descriptor_pb2, descriptor_pool

def other(name, package, message):
    file = descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax="proto3")
    file.message_type.add(name=message).field.add(name="theirs", number=1, type=5, label=1)
    descriptor_pool.Default().Add(file)

other("a2a.proto", "lf.a2a.v1", "Task")
other("a2a_v0_3.proto", "a2a.v1", "Task")
other("google/rpc/status.proto", "google.rpc", "Status")
"""
OURS = """
from dragoman import _proto
for name in ("lf.a2a.v1.Task", "a2a.v1.Task"):
    task = _proto.message(name)(id="t-1", status={"state": 2})
    assert _proto.parse(name, task.SerializeToString()).id == "t-1"
assert _proto.message("google.rpc.Status")(code=5).code == 5
"""
IDLE = """
import sys
import dragoman, dragoman.server, dragoman.hosts.asgi
from dragoman import Agent, TaskContext
agent = Agent("Echo", "Says it again.")
@agent.skill
async def echo(context: TaskContext) -> str:
    return context.text
agent.asgi()
assert not [name for name in sys.modules if name.startswith("google")], "protobuf was loaded"
"""


def run(program: str) -> None:
    argv = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@requirement("R-1.4-01")
def test_the_compiled_messages_are_those_of_the_sources() -> None:
    assert (HERE / "a2a.binpb").read_bytes() == compiled(), "run `make proto`"


def test_every_source_is_compiled() -> None:
    assert sorted(_proto.FILES) == sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.proto"))


@pytest.mark.parametrize("program", [OTHERS_FIRST + OURS, OURS + OTHERS_FIRST], ids=["others first", "ours first"])
def test_messages_of_the_same_names_may_be_in_the_process(program: str) -> None:
    run(program)


def test_nobody_pays_for_protobuf_before_the_first_message() -> None:
    run(IDLE)


def test_every_full_name_leads_to_its_file() -> None:
    found = _proto.symbols()
    assert found["lf.a2a.v1.A2AService"] == "lf/a2a/v1/a2a.proto"
    assert found["lf.a2a.v1.A2AService.SendMessage"] == "lf/a2a/v1/a2a.proto"
    assert found["a2a.v1.Task.id"] == "a2a/v1/a2a.proto"
    assert found["a2a.v1.TASK_STATE_CANCELLED"] == "a2a/v1/a2a.proto"
    assert found["google.rpc.BadRequest.FieldViolation.field"] == "google/rpc/error_details.proto"
    assert found["google.protobuf.Struct"] == "google/protobuf/struct.proto"
    assert set(found.values()) == set(_proto.file_descriptors())


def test_the_services_are_those_that_a_server_offers() -> None:
    assert _proto.services() == (
        "lf.a2a.v1.A2AService",
        "a2a.v1.A2AService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    )


def test_a_message_that_is_none_is_refused_with_a_value_error() -> None:
    for data in (b"\x0a\x05x", b"\x0a\x01\xff", b"\xff" * 20):
        with pytest.raises(ValueError, match="arsing"):
            _proto.parse("lf.a2a.v1.Task", data)
    with pytest.raises(KeyError):
        _proto.message("lf.a2a.v1.Nothing")
