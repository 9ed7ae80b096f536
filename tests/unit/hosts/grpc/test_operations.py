"""A2A operations over gRPC, from bytes to bytes: results, errors, deadlines, streams and their ends."""

import gzip
import logging
import random
from typing import Any

import msgspec
import pytest

from dragoman import operations
from dragoman.dialects.base import HttpReply
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.errors import InvalidParamsError, TaskNotFoundError, VersionNotSupportedError
from dragoman.hosts.asgi import Application
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.requests import GetTaskRequest
from dragoman.types.task import Task
from tests.behaviour.manifest import requirement
from tests.unit.engine.stage import QUICK, Stage, send, staged
from tests.unit.hosts.grpc.driver import Line, framed, post
from tests.unit.hosts.grpc.hosting import (
    EXTENSION,
    GRPC,
    OLDER,
    PREFIX,
    TARGET,
    application,
    application_of,
    body,
    result,
)


async def test_an_answer_is_a_head_one_message_and_trailers(stage: Stage, app: Application) -> None:
    task = await stage.begin()
    answer = await post(app, PREFIX + "GetTask", body(operations.GET_TASK, GetTaskRequest(id=task.id)))
    assert answer.status == 200
    assert answer.head == {"content-type": "application/grpc", "grpc-accept-encoding": "identity, gzip"}
    assert answer.trailers == {"grpc-status": "0"}
    assert result(operations.GET_TASK, answer).id == task.id


async def test_an_error_is_in_the_trailers_without_a_message(app: Application) -> None:
    answer = await post(app, PREFIX + "GetTask", body(operations.GET_TASK, GetTaskRequest(id="none")))
    assert (answer.status, answer.code, answer.body) == (200, 5, b"")
    assert "grpc-status" not in answer.head
    with pytest.raises(TaskNotFoundError) as caught:
        result(operations.GET_TASK, answer)
    assert caught.value.details == {"taskId": "none"}


@requirement("R-10.6-01")
async def test_a_request_that_is_wrong_names_its_fields(app: Application) -> None:
    answer = await post(app, PREFIX + "GetTask", framed(b""))
    with pytest.raises(InvalidParamsError) as caught:
        result(operations.GET_TASK, answer)
    assert [violation.field for violation in caught.value.violations] == ["id"]


@pytest.mark.parametrize("path", [PREFIX + "NoSuchMethod", "/no.such.Service/Method", "/", "", "/tasks/7"])
async def test_what_is_not_served_is_unimplemented(app: Application, path: str) -> None:
    assert (await post(app, path, framed(b""))).code == 12


async def test_a_request_of_another_binding_is_no_call_in_disguise(stage: Stage, app: Application) -> None:
    request = JsonRpc().encode_request(operations.SEND_MESSAGE, send(), TARGET)
    assert (await post(app, "/", framed(request.body), headers={"a2a-version": "1.0"})).code == 12
    assert stage.store.created == []


async def test_without_a_dialect_of_grpc_all_is_unimplemented(stage: Stage) -> None:
    app = application(stage.service, (JsonRpc(),), ())
    assert (await post(app, PREFIX + "GetTask", framed(b""))).code == 12


async def test_an_unsupported_version_is_refused_and_none_is_taken_for_that_of_the_package(
    stage: Stage, app: Application
) -> None:
    task = await stage.begin()
    asked = body(operations.GET_TASK, GetTaskRequest(id=task.id))
    assert (await post(app, PREFIX + "GetTask", asked)).code == 0
    answer = await post(app, PREFIX + "GetTask", asked, headers={"a2a-version": "7.0"})
    with pytest.raises(VersionNotSupportedError, match="supported: 1"):
        result(operations.GET_TASK, answer)


async def test_extensions_in_force_are_told_before_and_after_the_answer(stage: Stage, app: Application) -> None:
    task = await stage.begin()
    asked = body(operations.GET_TASK, GetTaskRequest(id=task.id))
    named = {"a2a-extensions": f"https://example.org/unknown, {EXTENSION}"}
    answer = await post(app, PREFIX + "GetTask", asked, headers=named)
    assert answer.head["a2a-extensions"] == answer.trailers["a2a-extensions"] == EXTENSION


@pytest.mark.parametrize(
    ("sent", "code"),
    [(b"", 12), (framed(b"") * 2, 12), (framed(b"")[:-1], 13), (framed(b"", 7), 13), (framed(b"\xff\xff"), 3)],
    ids=["nothing", "two messages", "half a prefix", "unknown flag", "no protobuf"],
)
async def test_bytes_that_are_no_request_are_refused(app: Application, sent: bytes, code: int) -> None:
    assert (await post(app, PREFIX + "GetTask", sent)).code == code


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_bytes_come_there_is_a_status(
    app: Application, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    whole = body(operations.SEND_MESSAGE, send("hello", immediately=True, task_id="none"))
    for _ in range(100):
        sent = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(sent))
            sent[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        encoding = chance.choice(["identity", "gzip", "br"])
        answer = await post(app, PREFIX + "SendMessage", bytes(sent), headers={"grpc-encoding": encoding})
        assert answer.code in {0, 3, 5, 8, 12, 13}
    assert "a request failed" not in caplog.text


async def test_a_message_beyond_the_limit_is_refused_packed_or_not(stage: Stage) -> None:
    app = application_of(stage, max_bytes=2_000)
    large = send("x" * 2_000)
    plain = GRPC.encode_request(operations.SEND_MESSAGE, large, TARGET).body
    assert (await post(app, PREFIX + "SendMessage", framed(plain))).code == 8
    packed = framed(gzip.compress(plain), 1)
    assert len(packed) < 200
    assert (await post(app, PREFIX + "SendMessage", packed, headers={"grpc-encoding": "gzip"})).code == 8


async def test_who_compresses_gets_compressed_answers(stage: Stage, agent: ScriptedAgent, app: Application) -> None:
    task = await stage.begin("hello " * 1000)
    run = await agent.run()
    asked = GRPC.encode_request(operations.GET_TASK, GetTaskRequest(id=task.id), TARGET).body
    packing = {"grpc-encoding": "gzip", "grpc-accept-encoding": "identity, deflate, gzip"}
    answer = await post(app, PREFIX + "GetTask", framed(gzip.compress(asked), 1), headers=packing)
    assert answer.head["grpc-encoding"] == "gzip"
    assert answer.body[0] == 1
    assert len(answer.body) < 1000
    unpacked = msgspec.structs.replace(answer, body=framed(gzip.decompress(answer.messages[0])))
    assert result(operations.GET_TASK, unpacked).id == task.id
    plain = await post(app, PREFIX + "GetTask", framed(asked), headers={"grpc-accept-encoding": "gzip"})
    assert plain.body[0] == 0
    only_plain = await post(
        app, PREFIX + "GetTask", framed(asked), headers={**packing, "grpc-accept-encoding": "identity"}
    )
    assert "grpc-encoding" not in only_plain.head
    await run.end()


async def test_an_unknown_compression_is_unimplemented_and_the_known_ones_are_named(app: Application) -> None:
    answer = await post(app, PREFIX + "GetTask", framed(b"\0", 1), headers={"grpc-encoding": "snappy"})
    assert answer.code == 12
    assert answer.head["grpc-accept-encoding"] == "identity, gzip"


# What is not gRPC.


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"version": "1.1", "trailers": False}, 505),
        ({"version": "1.1"}, 505),
        ({"trailers": False}, 505),
        ({"headers": {"content-type": "application/grpc-web"}}, 415),
        ({"headers": {"content-type": "application/grpc+json"}}, 415),
    ],
)
async def test_where_there_is_no_grpc_the_answer_is_plain_http(
    app: Application, options: dict[str, Any], status: int
) -> None:
    answer = await post(app, PREFIX + "GetTask", framed(b""), **options)
    assert answer.status == status
    assert answer.head["content-type"] == "text/plain"


async def test_grpc_is_asked_for_with_post(app: Application) -> None:
    line = Line(PREFIX + "GetTask", {})
    line.scope["method"] = "GET"
    line.say(b"")
    async with line.open(app):
        pass
    assert line.answer.status == 405


async def test_the_subtype_and_parameters_of_the_content_type_play_no_part(stage: Stage, app: Application) -> None:
    task = await stage.begin()
    asked = body(operations.GET_TASK, GetTaskRequest(id=task.id))
    for kind in ("application/grpc+proto", "application/grpc; charset=utf-8"):
        assert (await post(app, PREFIX + "GetTask", asked, headers={"content-type": kind})).code == 0


async def test_a_caller_who_leaves_in_mid_request_gets_no_answer(app: Application) -> None:
    line = Line(PREFIX + "GetTask", {})
    line.say(b"\0\0", more=True)
    line.leave()
    async with line.open(app):
        pass
    assert line.body == b""


async def test_a_request_that_does_not_come_is_refused(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent, limits=msgspec.structs.replace(QUICK, body_timeout=0.01)) as stage:
        line = Line(PREFIX + "GetTask", {})
        line.say(b"\0\0", more=True)
        async with line.open(application_of(stage)):
            pass
        assert line.answer.code == 3


async def test_a_defect_is_internal_and_says_nothing_else(
    stage: Stage, app: Application, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise LookupError("secret")

    stage.store.before_get = broken
    with caplog.at_level(logging.ERROR):
        answer = await post(app, PREFIX + "GetTask", body(operations.GET_TASK, GetTaskRequest(id="any")))
    assert answer.code == 13
    assert "secret" not in str(answer)
    assert "a request failed" in caplog.text


async def test_the_older_package_is_answered_in_its_own_way(stage: Stage, app: Application) -> None:
    task = await stage.begin()
    asked = framed(OLDER.encode_request(operations.GET_TASK, GetTaskRequest(id=task.id), TARGET).body)
    answer = await post(app, "/a2a.v1.A2AService/GetTask", asked)
    shown: Task = OLDER.decode_result(operations.GET_TASK, HttpReply(200, answer.trailers, answer.messages[0]))
    assert shown.id == task.id
    asked = framed(OLDER.encode_request(operations.GET_TASK, GetTaskRequest(id="none"), TARGET).body)
    answer = await post(app, "/a2a.v1.A2AService/GetTask", asked)
    assert answer.code == 5
    assert answer.trailers["grpc-message"].startswith("TaskNotFoundError")
