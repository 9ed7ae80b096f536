"""Health and reflection, as balancers and tools ask for them."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest

from dragoman._proto import file_descriptors, message, parse
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.hosts.asgi import Application
from dragoman.hosts.grpc.health import WATCHING
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from tests.unit.engine.stage import QUICK, Stage, staged
from tests.unit.hosts.grpc.driver import Line, framed, post
from tests.unit.hosts.grpc.hosting import application

HEALTH = "/grpc.health.v1.Health/"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
SERVED = ("lf.a2a.v1.A2AService", "a2a.v1.A2AService")
SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3


@pytest.fixture
async def app(stage: Stage) -> Application:
    return application(stage.service, (JsonRpc(),), SERVED)


def asked(name: str) -> bytes:
    return framed(message("grpc.health.v1.HealthCheckRequest")(service=name).SerializeToString())


def status(body: bytes) -> int:
    said: int = parse("grpc.health.v1.HealthCheckResponse", body).status
    return said


def question(**members: Any) -> bytes:
    return framed(message("grpc.reflection.v1.ServerReflectionRequest")(**members).SerializeToString())


def reflected(body: bytes) -> Any:
    return parse("grpc.reflection.v1.ServerReflectionResponse", body)


@pytest.mark.parametrize("name", ["", *SERVED])
async def test_the_server_and_each_service_are_serving_until_the_server_stops(
    stage: Stage, app: Application, name: str
) -> None:
    answer = await post(app, HEALTH + "Check", asked(name))
    assert answer.code == 0
    assert [status(said) for said in answer.messages] == [SERVING]
    stage.service.end_streams()
    answer = await post(app, HEALTH + "Check", asked(name))
    assert [status(said) for said in answer.messages] == [NOT_SERVING]


async def test_a_server_that_is_opened_again_is_serving_again(stage: Stage, app: Application) -> None:
    await stage.service.close()
    assert status((await post(app, HEALTH + "Check", asked(""))).messages[0]) == NOT_SERVING
    await stage.service.open()
    assert status((await post(app, HEALTH + "Check", asked(""))).messages[0]) == SERVING


async def test_the_health_of_what_is_not_served_is_not_found(app: Application) -> None:
    answer = await post(app, HEALTH + "Check", asked("some.other.Service"))
    assert answer.code == 5
    assert answer.body == b""


async def test_all_healths_can_be_listed(app: Application) -> None:
    answer = await post(app, HEALTH + "List", framed(b""))
    listed = parse("grpc.health.v1.HealthListResponse", answer.messages[0]).statuses
    assert {name: said.status for name, said in listed.items()} == dict.fromkeys(("", *SERVED), SERVING)


async def test_a_watcher_learns_that_the_server_stops(stage: Stage, app: Application) -> None:
    line = Line(HEALTH + "Watch", {})
    line.say(asked(SERVED[0]))
    async with line.open(app) as running:
        assert status((await line.messages(1))[0]) == SERVING
        assert not running.done()
        stage.service.end_streams()
    assert [status(said) for said in line.answer.messages] == [SERVING, NOT_SERVING]
    assert line.answer.code == 14


async def test_a_watcher_of_an_unknown_service_is_told_so_and_may_stay(stage: Stage, app: Application) -> None:
    line = Line(HEALTH + "Watch", {})
    line.say(asked("some.other.Service"))
    async with line.open(app) as running:
        assert status((await line.messages(1))[0]) == SERVICE_UNKNOWN
        assert not running.done()
        stage.service.end_streams()
    assert len(line.answer.messages) == 1


async def test_a_watcher_who_leaves_is_forgotten(stage: Stage, app: Application) -> None:
    line = Line(HEALTH + "Watch", {})
    line.say(asked(""))
    async with line.open(app):
        await line.messages(1)
        line.leave()
    stage.service.end_streams()


@pytest.mark.parametrize(("body", "code"), [(b"", 12), (asked("") * 2, 12), (framed(b"\xff"), 13)])
async def test_what_is_no_question_for_health_is_refused(app: Application, body: bytes, code: int) -> None:
    assert (await post(app, HEALTH + "Check", body)).code == code


async def test_who_asks_without_end_is_not_listened_to(app: Application) -> None:
    line = Line(HEALTH + "Check", {})
    for _ in range(3):
        line.say(asked(""), more=True)
    async with asyncio.timeout(5), line.open(app) as running:
        await running
    assert line.answer.code == 12


async def test_so_many_watch_and_those_beyond_come_back_when_one_has_left(app: Application) -> None:
    lines = [Line(HEALTH + "Watch", {}) for _ in range(WATCHING + 1)]
    async with asyncio.timeout(20), AsyncExitStack() as stack:
        for line in lines:
            line.say(asked(""))
        for line in lines[:-1]:
            await stack.enter_async_context(line.open(app))
            await line.messages(1)
        async with lines[-1].open(app) as running:
            await running
        assert lines[-1].answer.code == 8
        for line in lines[:-1]:
            line.leave()
    later = Line(HEALTH + "Watch", {})
    later.say(asked(""))
    async with asyncio.timeout(5), later.open(app):
        await later.messages(1)
        later.leave()


async def test_a_question_has_a_limit(app: Application) -> None:
    assert (await post(app, HEALTH + "Check", framed(b"x" * 70_000))).code == 8


@pytest.mark.parametrize("package", ["grpc.reflection.v1", "grpc.reflection.v1alpha"])
async def test_reflection_lists_what_is_served(app: Application, package: str) -> None:
    answer = await post(app, f"/{package}.ServerReflection/ServerReflectionInfo", question(list_services=""))
    assert answer.code == 0
    names = [service.name for service in reflected(answer.messages[0]).list_services_response.service]
    assert names == sorted(
        [
            *SERVED,
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
    )


async def test_each_question_is_answered_as_it_comes(app: Application) -> None:
    line = Line(REFLECTION, {})
    async with line.open(app) as running:
        for count in (1, 2, 3):
            line.say(question(host="here", list_services=""), more=True)
            answer = reflected((await line.messages(count))[-1])
            assert answer.valid_host == answer.original_request.host == "here"
        assert not running.done()
        line.say(b"")
    assert line.answer.code == 0


@pytest.mark.parametrize(
    "asked_for",
    [
        {"file_containing_symbol": "lf.a2a.v1.A2AService"},
        {"file_containing_symbol": "lf.a2a.v1.A2AService.SendMessage"},
        {"file_containing_symbol": "lf.a2a.v1.Task"},
        {"file_by_filename": "lf/a2a/v1/a2a.proto"},
    ],
)
async def test_a_file_comes_with_all_it_needs(app: Application, asked_for: dict[str, str]) -> None:
    answer = await post(app, REFLECTION, question(**asked_for))
    files = list(reflected(answer.messages[0]).file_descriptor_response.file_descriptor_proto)
    assert files[0] == file_descriptors()["lf/a2a/v1/a2a.proto"]
    assert file_descriptors()["google/protobuf/struct.proto"] in files
    assert len(set(files)) == len(files)


@pytest.mark.parametrize(
    ("asked_for", "code"),
    [
        ({"file_containing_symbol": "no.such.Thing"}, 5),
        ({"file_by_filename": "no/such.proto"}, 5),
        ({"file_containing_extension": {"containing_type": "lf.a2a.v1.Task", "extension_number": 9}}, 5),
        ({"all_extension_numbers_of_type": "no.such.Thing"}, 5),
        ({}, 3),
    ],
)
async def test_what_reflection_does_not_know_is_an_error_in_the_answer(
    app: Application, asked_for: dict[str, Any], code: int
) -> None:
    answer = await post(app, REFLECTION, question(**asked_for))
    assert answer.code == 0
    assert reflected(answer.messages[0]).error_response.error_code == code


async def test_a_message_without_extensions_has_none(app: Application) -> None:
    answer = await post(app, REFLECTION, question(all_extension_numbers_of_type="lf.a2a.v1.Task"))
    numbers = reflected(answer.messages[0]).all_extension_numbers_response
    assert (numbers.base_type_name, list(numbers.extension_number)) == ("lf.a2a.v1.Task", [])


async def test_a_question_that_is_none_ends_the_call(app: Application) -> None:
    assert (await post(app, REFLECTION, framed(b"\xff\xff"))).code == 13


async def test_who_asks_nothing_for_long_has_ended_the_call() -> None:
    limits = msgspec.structs.replace(QUICK, body_timeout=0.01)
    async with staged(MemoryStore(), ScriptedAgent(), limits=limits) as stage:
        line = Line(REFLECTION, {})
        line.say(question(list_services=""), more=True)
        async with line.open(application(stage.service, (JsonRpc(),), SERVED)):
            pass
        assert line.answer.code == 0
        assert len(line.answer.messages) == 1


async def test_a_deadline_ends_a_watch(app: Application) -> None:
    line = Line(HEALTH + "Watch", {"grpc-timeout": "5m"})
    line.say(asked(""))
    async with line.open(app):
        pass
    assert line.answer.code == 4
