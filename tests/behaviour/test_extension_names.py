"""Extensions by name: declared in the card, required, activated, and told so, in every cell."""

from typing import Any

import msgspec
import pytest

from dragoman import Agent
from dragoman.auth import ApiKey
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.cells import OVER_HTTP, only
from tests.behaviour.manifest import requirement
from tests.behaviour.trails import INNER, ONE, OUTER, PLAIN, Trail, tell, trailing, trails
from tests.behaviour.wire import Serve, Wire, card_of, message, refused, wire_to


@requirement("R-3.3.4-06", "R-4.6.3-04")
async def test_a_required_extension_that_is_not_named_is_told_in_the_details(serve: Serve) -> None:
    wire = await serve(trailing(required=True))
    with refused("EXTENSION_SUPPORT_REQUIRED") as caught:
        await wire.send("abc", headers={"a2a-extensions": OUTER})
    details = [detail.get("metadata", {}) for detail in caught.value.details]
    assert [one["extensions"] for one in details if "extensions" in one] == [INNER]
    assert await stored_with(wire, INNER) == []
    assert trails(await wire.send("abc", headers=ONE)) == {"answered": ["inner"]}


async def stored_with(wire: Wire, uri: str) -> list[dict[str, Any]]:
    """The tasks as a caller sees them who names this extension."""
    over_json = await wire_to(wire.bridge, "JSONRPC")
    listed = await over_json.call("ListTasks", headers={"a2a-extensions": uri})
    tasks: list[dict[str, Any]] = listed["tasks"]
    return tasks


@requirement("R-T-03")
@pytest.mark.parametrize(
    ("operation", "params", "reason"),
    [("GetTask", {"id": "unknown"}, "TASK_NOT_FOUND"), ("SubscribeToTask", {"id": "unknown"}, "TASK_NOT_FOUND")],
)
async def test_errors_name_the_active_extensions_too(
    serve: Serve, operation: str, params: dict[str, Any], reason: str
) -> None:
    wire = await serve(trailing())
    request = wire.request(operation, params, headers={"a2a-extensions": f"{PLAIN},https://unheard.example"})
    reply = await wire.send_raw(request)
    assert reply.headers[wire.form.extensions_header] == PLAIN
    with refused(reason):
        wire.read(request, reply)


@requirement("R-T-03")
@pytest.mark.parametrize("named", [f"{PLAIN},{PLAIN}", f"{PLAIN} ,\t{PLAIN}", f",,{PLAIN},"])
async def test_what_is_named_twice_is_active_once(serve: Serve, named: str) -> None:
    wire = await serve(trailing())
    reply = await wire.reply("SendMessage", {"message": message()}, headers={"a2a-extensions": named})
    assert reply.headers[wire.form.extensions_header] == PLAIN


async def test_the_card_has_an_entry_as_the_extension_makes_it(serve: Serve) -> None:
    agent = trailing(required=True)
    extended = msgspec.structs.replace(agent.card, name="More")
    with_card = Agent("X", store="memory", extended_card=extended, extensions=[Trail(INNER)])
    with_card.skill(tell)
    shown = {"name": "inner", "skills": ["tell"]}
    wire = await serve(with_card)
    public = (await card_of(wire.bridge))["capabilities"]["extensions"]
    assert public[0] == {"uri": INNER, "description": "Leaves a trail.", "params": shown}
    told = await wire.call("GetExtendedAgentCard")
    entries = {entry["uri"]: entry for entry in told["capabilities"]["extensions"]}
    assert entries[INNER] == {"uri": INNER, "description": "Leaves a trail.", "required": True, "params": shown}


@only(*OVER_HTTP)
async def test_older_callers_may_use_either_name_of_the_header(serve: Serve) -> None:
    wire = await serve(trailing())
    request = wire.request("SendMessage", {"message": message()})
    for name in ("a2a-extensions", wire.form.extensions_header):
        sent = msgspec.structs.replace(request, headers={**request.headers, name: PLAIN})
        reply = await wire.bridge.send(sent)
        assert reply.headers[wire.form.extensions_header] == PLAIN


@requirement("R-T-04")
async def test_no_extension_sees_what_a_stranger_says(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("Guarded", store="memory", auth=ApiKey(KEYS), extensions=[Trail(INNER, required=True)])
    agent.skill(tell)
    wire = await serve(agent)
    with refused("UNAUTHENTICATED"):
        await wire.send("break the request", headers=ONE)
    assert "secret of the house" not in caplog.text
    with refused("EXTENSION_SUPPORT_REQUIRED"):
        await wire.send("abc", headers=keyed("alice"))
    task = await wire.send("abc", headers=ONE | keyed("alice"))
    assert trails(task) == {"answered": ["inner"]}
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=ONE | keyed("bob"))
