"""What the card declares is what can be used: streaming, push, the extended card, extensions."""

from typing import Any

import msgspec
import pytest

from dragoman import Agent, TaskContext
from dragoman.types import AgentCapabilities, AgentExtension
from tests.behaviour.agents import echo
from tests.behaviour.cells import OVER_HTTP, only
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, card_of, message, refused

KNOWN = "https://extensions.example/known/v1"
NEEDED = "https://extensions.example/needed/v2"


@requirement("R-3.1.2-07", "R-3.1.6-03", "R-3.3.4-01", "R-3.3.4-03")
async def test_without_streaming_both_streaming_operations_are_plain_errors(serve: Serve) -> None:
    wire = await serve(echo(streaming=False))
    assert (await card_of(wire.bridge))["capabilities"].get("streaming", False) is False
    with refused("UNSUPPORTED_OPERATION"):
        async with wire.send_stream("hi"):
            pass
    task = await wire.send()
    with refused("UNSUPPORTED_OPERATION"):
        async with wire.subscribe(task["id"]):
            pass
    with refused("UNSUPPORTED_OPERATION"):
        async with wire.subscribe("unknown"):
            pass


@requirement("R-3.1.7-03", "R-3.3.4-01", "R-3.3.4-02")
async def test_without_push_all_four_push_operations_say_so(serve: Serve) -> None:
    wire = await serve(echo(push=False))
    assert (await card_of(wire.bridge))["capabilities"].get("pushNotifications", False) is False
    known = (await wire.send())["id"]
    for task_id in (known, "unknown"):
        one = {"taskId": task_id, "id": "c"}
        for operation, params in (
            ("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": "https://hook.example"}),
            ("GetTaskPushNotificationConfig", one),
            ("ListTaskPushNotificationConfigs", {"taskId": task_id}),
            ("DeleteTaskPushNotificationConfig", one),
        ):
            with refused("PUSH_NOTIFICATION_NOT_SUPPORTED"):
                await wire.call(operation, params)


@requirement("R-3.3.4-01")
async def test_a_push_configuration_inside_a_send_is_refused_too(serve: Serve) -> None:
    wire = await serve(echo(push=False))
    with refused("PUSH_NOTIFICATION_NOT_SUPPORTED"):
        await wire.send(configuration={"taskPushNotificationConfig": {"url": "https://hook.example"}})
    assert await wire.stored() == []


@requirement("R-3.1.11-03", "R-3.3.4-04", "R-13.3-09")
async def test_without_an_extended_card_asking_for_it_is_unsupported(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("UNSUPPORTED_OPERATION"):
        await wire.call("GetExtendedAgentCard")


@requirement("R-3.1.11-03", "R-3.3.4-05")
async def test_an_extended_card_that_is_declared_but_absent_has_an_error_of_its_own(serve: Serve) -> None:
    wire = await serve(echo(capabilities=AgentCapabilities(streaming=True, extended_agent_card=True)))
    with refused("EXTENDED_AGENT_CARD_NOT_CONFIGURED"):
        await wire.call("GetExtendedAgentCard")


async def test_an_extended_card_that_is_there_is_given(serve: Serve) -> None:
    more = msgspec.structs.replace(echo().card, name="More of it")
    wire = await serve(echo(extended_card=more))
    assert (await card_of(wire.bridge))["capabilities"]["extendedAgentCard"] is True
    assert (await wire.call("GetExtendedAgentCard"))["name"] == "More of it"


@requirement("R-13.3-03", "R-13.3-08")
@only(*OVER_HTTP)
async def test_an_extended_card_has_its_version_and_is_kept_by_nobody_else(serve: Serve) -> None:
    more = msgspec.structs.replace(echo().card, version="7")
    wire = await serve(echo(extended_card=more))
    assert (await wire.call("GetExtendedAgentCard"))["version"] == "7"
    reply = await wire.reply("GetExtendedAgentCard")
    assert reply.headers["cache-control"] == ("private, no-store" if wire.jsonrpc else "private, max-age=60")
    assert "cache-control" not in (await wire.reply("GetTask", {"id": "unknown"})).headers


def extended(*, required: bool) -> Agent:
    agent = Agent(
        "Extended",
        "Knows an extension.",
        store="memory",
        extensions=[AgentExtension(uri=KNOWN), AgentExtension(uri=NEEDED, required=required)],
    )

    @agent.skill(tags=["demo"])
    async def tell(task: TaskContext) -> str:
        return " ".join(task.extensions) or "none"

    return agent


@requirement("R-3.3.4-06", "R-4.6.3-04")
async def test_a_required_extension_must_be_named(serve: Serve) -> None:
    wire = await serve(extended(required=True))
    for headers in ({}, {"a2a-extensions": KNOWN}, {"a2a-extensions": "https://extensions.example/needed/v1"}):
        with refused("EXTENSION_SUPPORT_REQUIRED") as caught:
            await wire.send(headers=headers)
        assert NEEDED in caught.value.told
    task = await wire.send(headers={"a2a-extensions": NEEDED})
    assert task["artifacts"][0]["parts"] == [{"text": NEEDED}]
    with refused("EXTENSION_SUPPORT_REQUIRED"):
        await wire.get(task["id"])
    assert (await card_of(wire.bridge))["capabilities"]["extensions"][1] == {"uri": NEEDED, "required": True}


@requirement("R-4.6.3-03", "R-4.6.3-05", "R-T-03", "R-9.2-03", "R-10.2-01", "R-10.2-02", "R-10.2-03", "R-11.2-03")
@pytest.mark.parametrize(
    ("asked", "active"),
    [
        ("", []),
        (KNOWN, [KNOWN]),
        (f"{KNOWN},{NEEDED}", [KNOWN, NEEDED]),
        (f" {NEEDED} , {KNOWN} ,", [NEEDED, KNOWN]),
        ("https://extensions.example/known/v2", []),
        (f"https://extensions.example/unheard-of,{KNOWN}", [KNOWN]),
    ],
)
async def test_the_answer_names_the_extensions_that_are_active(serve: Serve, asked: str, active: list[str]) -> None:
    wire = await serve(extended(required=False))
    request = wire.request("SendMessage", {"message": message()}, headers={"a2a-extensions": asked})
    reply = await wire.send_raw(request)
    named = [uri.strip() for uri in reply.headers.get(wire.form.extensions_header, "").split(",") if uri.strip()]
    assert sorted(named) == sorted(active)
    task = wire.read(request, reply)["task"]
    assert sorted(task["artifacts"][0]["parts"][0]["text"].split()) == sorted(active or ["none"])


@requirement("R-9.2-03", "R-11.2-03")
@only(*OVER_HTTP)
async def test_a_header_that_comes_twice_counts_twice(serve: Serve) -> None:
    wire = await serve(extended(required=False))
    request = wire.request("SendMessage", {"message": message()})
    fields = [(name.encode(), value.encode()) for name, value in request.headers.items()]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": request.body}

    async def send(event: Any) -> None:
        sent.append(event)

    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": request.path,
        "query_string": b"",
        "client": None,
    }
    name = wire.form.extensions_header.encode()
    scope["headers"] = [*fields, (name, KNOWN.encode()), (name, NEEDED.encode())]
    await wire.app(scope, receive, send)
    assert dict(sent[0]["headers"])[name].decode().split(", ") == [KNOWN, NEEDED]


@requirement("R-T-03")
async def test_a_stream_names_the_active_extensions_too(serve: Serve) -> None:
    wire = await serve(extended(required=False))
    request = wire.request("SendStreamingMessage", {"message": message()}, headers={"a2a-extensions": KNOWN})
    reply = await wire.send_raw(request)
    assert reply.headers[wire.form.extensions_header] == KNOWN
