"""The agent card: what it says, and how it is fetched and cached."""

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from dragoman import Agent
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import echo
from tests.behaviour.cells import CELLS, NO_LISTS, Cell
from tests.behaviour.faults import ERRORS
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import ROUTES, Fault, Serve, Start, Wire, card_of, wire_to

CARD = "/.well-known/agent-card.json"


async def fetch(bridge: AsgiBridge, path: str = CARD, verb: str = "GET", **headers: str) -> HttpReply:
    sent = {"host": "agent.example", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return await bridge.send(HttpRequest(verb, path, "", sent))


@requirement("R-8.1-01", "R-14.3-01", "R-4.4-02", "R-3.6-01", "R-4.1-01")
async def test_the_card_is_at_its_address_and_has_all_it_needs(started: Start) -> None:
    bridge = await started(echo(version="3.1.4").asgi())
    reply = await fetch(bridge)
    assert reply.status == 200
    assert reply.headers["content-type"].split(";")[0] == "application/json"
    card = json.loads(reply.body)
    assert (card["name"], card["description"], card["version"]) == ("Echo", "Says back what it hears.", "3.1.4")
    assert card["defaultInputModes"]
    assert card["defaultOutputModes"]
    assert card["capabilities"]["streaming"] is True
    assert card["capabilities"]["pushNotifications"] is True
    assert card["skills"] == [{"id": "echo", "name": "Echo", "description": "Repeat the message.", "tags": ["demo"]}]
    assert [entry["protocolVersion"] for entry in card["supportedInterfaces"]] == ["1.0", "1.0", "0.3", "0.3"]
    for entry in card["supportedInterfaces"]:
        assert set(entry) <= {"url", "protocolBinding", "protocolVersion", "tenant"}
        assert urlsplit(entry["url"]).scheme in {"http", "https"}
        assert urlsplit(entry["url"]).netloc == "agent.example"


@requirement("R-8.3.1-03")
async def test_readers_of_0_3_find_what_they_look_for_beside_it(started: Start) -> None:
    card = await card_of(await started(echo().asgi()))
    assert card["protocolVersion"] == "0.3.0"
    assert (card["url"], card["preferredTransport"]) == ("http://agent.example/", "JSONRPC")
    assert card["additionalInterfaces"] == [
        {"url": "http://agent.example/", "transport": "JSONRPC"},
        {"url": "http://agent.example", "transport": "HTTP+JSON"},
    ]
    assert card["supportsAuthenticatedExtendedCard"] is False


async def test_a_strict_card_has_only_members_of_1_0(started: Start) -> None:
    card = await card_of(await started(echo(card_shape="strict-1.0").asgi()))
    assert {"url", "protocolVersion", "preferredTransport", "additionalInterfaces", "security"}.isdisjoint(card)
    assert "supportsAuthenticatedExtendedCard" not in card
    assert [entry["protocolVersion"] for entry in card["supportedInterfaces"]] == ["1.0", "1.0", "0.3", "0.3"]


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/.well-known/agent.json"])
async def test_both_addresses_have_the_same_card(started: Start, path: str) -> None:
    bridge = await started(echo().asgi())
    assert (await fetch(bridge, path)).body == (await fetch(bridge)).body


@requirement("R-5.2-01", "R-8.3-01", "R-8.3.1-01", "R-8.3.1-02")
@pytest.mark.parametrize("http2", [True, False])
async def test_every_interface_of_the_card_answers_in_its_binding(started: Start, http2: bool) -> None:
    bridge = await started(echo().asgi(http2=http2))
    card = await card_of(bridge)
    declared = [Cell(entry["protocolVersion"], entry["protocolBinding"]) for entry in card["supportedInterfaces"]]
    # Over HTTP/1.1 there is no gRPC; the draft cannot be told from 1.0 in a card.
    assert declared == [cell for cell in CELLS if cell.line != "draft" and (http2 or cell.binding != "GRPC")]
    for cell in declared:
        wire = await wire_to(bridge, cell)
        assert (await wire.send("hi"))["artifacts"][0]["parts"] == [{"text": "hi"}]


@requirement("R-5.1-01", "R-5.3-01", "R-1.4-04", "R-1.4-05", "R-10.1-01")
@pytest.mark.parametrize("operation", sorted(ROUTES))
async def test_every_operation_is_there_under_its_name(serve: Serve, operation: str) -> None:
    wire = await serve(echo())
    params: dict[str, Any] = {"id": "x"} if operation.endswith("Task") else {}
    if operation == "ListTasks":
        if wire.cell not in NO_LISTS.cells:
            assert (await wire.call(operation))["tasks"] == []
        return
    if operation.startswith("Send"):
        params = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}], "taskId": "x"}}
    if "PushNotification" in operation:
        params = {"taskId": "x", **({} if operation.startswith("List") else {"id": "c", "url": "https://hook.example"})}
    with pytest.raises(Fault) as caught:
        await wire.call(operation, params)
    expected = {"TASK_NOT_FOUND", "PUSH_NOTIFICATION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION"}
    assert caught.value.reason in expected & set(ERRORS)


async def test_the_older_address_gives_the_same_card(started: Start) -> None:
    bridge = await started(echo().asgi())
    assert (await fetch(bridge, "/.well-known/agent.json")).body == (await fetch(bridge)).body


@requirement("R-8.6-01", "R-8.6.1-01", "R-8.6.1-02")
async def test_the_card_can_be_cached(started: Start) -> None:
    bridge = await started(echo().asgi())
    reply = await fetch(bridge)
    assert "max-age=" in reply.headers["cache-control"]
    assert reply.headers["etag"].startswith(('"', 'W/"'))
    assert parsedate_to_datetime(reply.headers["last-modified"]) <= datetime.now(UTC)
    other = await started(echo(version="9.9.9").asgi())
    assert (await fetch(other)).headers["etag"] != reply.headers["etag"]


@requirement("R-8.6-01")
async def test_who_has_the_card_already_gets_no_body(started: Start) -> None:
    bridge = await started(echo().asgi())
    first = await fetch(bridge)
    tag, date = first.headers["etag"], first.headers["last-modified"]
    for condition in (
        {"if_none_match": tag},
        {"if_none_match": f'"other", {tag}'},
        {"if_none_match": "*"},
        {"if_none_match": tag.removeprefix("W/")},
        {"if_modified_since": date},
    ):
        reply = await fetch(bridge, **condition)
        assert (reply.status, reply.body) == (304, b""), condition
        assert reply.headers["etag"] == tag
    for condition in (
        {"if_none_match": '"other"'},
        {"if_none_match": '"other"', "if_modified_since": date},
        {"if_modified_since": "Mon, 01 Jan 2001 00:00:00 GMT"},
        {"if_modified_since": "nonsense"},
    ):
        assert (await fetch(bridge, **condition)).status == 200, condition


async def test_the_head_of_the_card_can_be_asked_for(started: Start) -> None:
    bridge = await started(echo().asgi())
    whole, head = await fetch(bridge), await fetch(bridge, verb="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["etag"] == whole.headers["etag"]
    assert head.headers["content-length"] == str(len(whole.body))
    assert (await fetch(bridge, verb="POST")).status == 405


async def test_forwarded_headers_count_only_from_configured_proxies(started: Start) -> None:
    told = {"x_forwarded_proto": "https", "x_forwarded_host": "public.example", "x_forwarded_prefix": "/a"}
    plain = await started(echo().asgi())
    card = json.loads((await fetch(plain, **told)).body)
    assert {urlsplit(entry["url"]).netloc for entry in card["supportedInterfaces"]} == {"agent.example"}
    behind = await started(echo(trusted_proxies=["0.0.0.0/0"]).asgi())
    card = json.loads((await fetch(behind, **told)).body)
    assert all(entry["url"].startswith("https://public.example/a") for entry in card["supportedInterfaces"])


@requirement("R-4.4-03")
async def test_the_card_says_https_to_who_came_by_https(started: Start) -> None:
    behind = await started(echo(trusted_proxies=["0.0.0.0/0"]).asgi())
    card = json.loads((await fetch(behind, forwarded="proto=https;host=public.example")).body)
    assert {entry["url"].split("/")[0] for entry in card["supportedInterfaces"]} == {"https:"}
    given = await started(echo(url="https://fixed.example/agents/echo").asgi())
    card = await card_of(given)
    assert all(entry["url"].startswith("https://fixed.example/agents/echo") for entry in card["supportedInterfaces"])


async def test_what_is_given_for_the_card_is_what_it_says(started: Start) -> None:
    agent = Agent(
        "Painter",
        "Paints.",
        version="2.0.0",
        store="memory",
        documentation_url="https://docs.example",
        icon_url="https://icon.example/i.png",
        input_modes=["text/plain"],
        output_modes=["image/png"],
    )

    @agent.skill(
        id="p", name="Paint it", description="With oil.", tags=["art"], examples=["a cat"], output_modes=["image/png"]
    )
    async def paint(text: str) -> str:
        return text

    card = await card_of(await started(agent.asgi()))
    assert card["documentationUrl"] == "https://docs.example"
    assert card["iconUrl"] == "https://icon.example/i.png"
    assert (card["defaultInputModes"], card["defaultOutputModes"]) == (["text/plain"], ["image/png"])
    assert card["skills"] == [
        {
            "id": "p",
            "name": "Paint it",
            "description": "With oil.",
            "tags": ["art"],
            "examples": ["a cat"],
            "outputModes": ["image/png"],
        }
    ]


async def test_a_card_for_a_hostile_host_header_is_still_a_card(started: Start) -> None:
    bridge = await started(echo().asgi())
    for host in ("", "a" * 3000, 'x"y', "<script>", "a b"):
        reply = await bridge.send(HttpRequest("GET", CARD, "", {"host": host}))
        assert reply.status in {200, 400}
        assert isinstance(json.loads(reply.body), dict)


async def test_a_wire_finds_its_agent_through_the_card(started: Start) -> None:
    bridge = await started(echo().asgi())
    assert isinstance(await wire_to(bridge, "HTTP+JSON"), Wire)
