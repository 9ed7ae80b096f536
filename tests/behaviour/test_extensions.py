"""Extensions over every cell: in force where they are named, and the same whatever carries them."""

import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import msgspec
import pytest

from dragoman import Agent, AuditLog, BlockingTaskContext, Message, Part, Role, TaskContext, TaskHandle, connect
from dragoman.auth import ApiKey
from dragoman.errors import ExtensionSupportRequiredError, InvalidParamsError
from dragoman.extensions import Emitted, ExtendedCall, Extension, Request, Result, with_contents
from dragoman.types import (
    AgentCard,
    AgentExtension,
    Artifact,
    SendMessageRequest,
    StreamEvent,
    Task,
    TaskStatusUpdateEvent,
)
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.cells import NO_LISTS, NO_SERVER_SENT_EVENTS, OVER_HTTP, only, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Wire, card_of, message, refused

OUTER = "https://extensions.example/outer/v1"
INNER = "https://extensions.example/inner/v1"
PLAIN = "https://extensions.example/plain/v1"
BOTH = {"a2a-extensions": f"{INNER}, {OUTER}"}
ONE = {"a2a-extensions": INNER}


class Offered:
    """What handlers are offered: the words of the caller, turned round."""

    def __init__(self, text: str) -> None:
        self.text = text[::-1]


class Trail(Extension):
    """Writes its name wherever it comes by, and does as the message says."""

    def __init__(self, uri: str, **stated: Any) -> None:
        self.uri = uri
        self.description = "Leaves a trail."
        self.params = {"name": self.name}
        for name, value in stated.items():
            setattr(self, name, value)

    @property
    def name(self) -> str:
        return self.uri.split("/")[-2]

    def entry(self, card: AgentCard) -> AgentExtension:
        declared = super().entry(card)
        return msgspec.structs.replace(declared, params={"name": self.name, "skills": [one.id for one in card.skills]})

    def marked(self, value: Any, place: str) -> Any:
        """The value with the name of this extension after those that are there."""
        metadata: dict[str, Any] = value.metadata or {}
        return msgspec.structs.replace(value, metadata={**metadata, place: [*metadata.get(place, []), self.name]})

    async def on_request(self, request: Request, call: ExtendedCall) -> Request:
        if isinstance(request, SendMessageRequest):
            assert call.operation in {"SendMessage", "SendStreamingMessage"}
            if request.message.text == "refuse":
                raise InvalidParamsError("not with this extension")
            if request.message.text == "break the request":
                raise RuntimeError("secret of the house")
            return msgspec.structs.replace(request, message=self.marked(request.message, "asked"))
        return request

    def on_response(self, result: Result, call: ExtendedCall) -> Result:
        del call
        if isinstance(result, Task) and result.history and result.history[0].text == "break the response":
            raise RuntimeError("secret of the house")
        return cast("Result", self.marked(result, "answered")) if isinstance(result, Task | Message) else result

    def on_event(self, event: StreamEvent, call: ExtendedCall) -> StreamEvent:
        del call
        status = event.status.message if isinstance(event, TaskStatusUpdateEvent) else None
        if status is not None and status.text == "break the stream":
            raise RuntimeError("secret of the house")
        return cast("StreamEvent", self.marked(event, "streamed"))

    def on_emit(self, said: Emitted) -> Emitted:
        def marked(content: Message | Artifact) -> Message | Artifact:
            if content.text == "break what is said":
                raise RuntimeError("secret of the house")
            return cast("Message | Artifact", self.marked(content, "said"))

        return with_contents(said, marked)

    def for_task(self, turn: Any) -> Offered:
        return Offered(turn.message.text)


def trailing(*, store: str = "memory", required: bool = False) -> Agent:
    """Says first how it is going, then what it was offered."""
    extensions: list[Extension | AgentExtension] = [Trail(OUTER), Trail(INNER, required=required)]
    extensions.append(AgentExtension(uri=PLAIN))
    agent = Agent("Trailing", "Leaves trails.", store=store, extensions=extensions)

    @agent.skill
    async def tell(task: TaskContext) -> AsyncIterator[str]:
        """Tell."""
        offered = task.extension(OUTER)
        assert offered is task.extension(OUTER)
        assert task.extension(PLAIN) is None
        await task.status(task.text)
        yield "nothing" if offered is None else offered.text

    return agent


def direct() -> Agent:
    agent = Agent("Direct", "Answers.", store="memory", extensions=[Trail(INNER)])

    @agent.skill
    async def answer(text: str) -> Message:
        """Answer."""
        return Message(message_id="", role=Role.AGENT, parts=(Part(text=text),))

    return agent


def trails(value: dict[str, Any]) -> dict[str, Any]:
    """What was written on its way, without what our own extension says there."""
    metadata = value.get("metadata", {})
    return {place: names for place, names in metadata.items() if not place.startswith("http")}


async def test_nothing_is_done_for_callers_who_name_no_extension(serve: Serve) -> None:
    wire = await serve(trailing())
    for headers in ({}, {"a2a-extensions": PLAIN}, {"a2a-extensions": "https://extensions.example/inner/v2"}):
        task = await wire.send("abc", headers=headers)
        assert "metadata" not in task
        assert "metadata" not in task["history"][0]
        assert task["artifacts"][0]["parts"] == [{"text": "nothing"}]
        assert "metadata" not in task["artifacts"][0]


async def test_what_is_named_is_done_inwards_in_order_and_outwards_in_reverse(serve: Serve) -> None:
    wire = await serve(trailing())
    task = await wire.send("abc", headers=BOTH)
    assert trails(task) == {"answered": ["inner", "outer"]}
    assert trails(task["history"][0]) == {"asked": ["outer", "inner"]}
    assert trails(task["artifacts"][0]) == {"said": ["outer", "inner"]}
    assert task["artifacts"][0]["parts"] == [{"text": "cba"}]
    task = await wire.send("abc", headers=ONE)
    assert trails(task) == {"answered": ["inner"]}
    assert task["artifacts"][0]["parts"] == [{"text": "nothing"}]


async def test_what_was_said_with_an_extension_is_the_same_for_all_who_read_it(serve: Serve) -> None:
    wire = await serve(trailing())
    task = await wire.send("abc", headers=ONE)
    plain = await wire.get(task["id"])
    assert trails(plain) == {}
    assert trails(plain["artifacts"][0]) == {"said": ["inner"]}
    assert trails(plain["history"][0]) == {"asked": ["inner"]}
    again = await wire.get(task["id"], headers=BOTH)
    assert trails(again) == {"answered": ["inner", "outer"]}
    assert again["artifacts"] == plain["artifacts"]


async def test_each_event_of_a_stream_is_seen_on_its_way_and_none_is_stored_so(serve: Serve) -> None:
    wire = await serve(trailing())
    reliable = "https://dragoman.dev/extensions/reliable/v1"
    async with wire.send_stream("abc", headers={"a2a-extensions": f"{OUTER},{INNER},{reliable}"}) as stream:
        events = [next(iter(payload.values())) for payload in await stream.payloads()]
    assert [trails(event) for event in events] == [{"streamed": ["inner", "outer"]}] * len(events)
    assert [event["metadata"][reliable]["seq"] for event in events] == list(range(1, len(events) + 1))
    said = [event["status"]["message"] for event in events[1:] if "message" in event.get("status", {})]
    assert [trails(one) for one in said] == [{"said": ["outer", "inner"]}]
    assert trails(await wire.get(events[0]["id"])) == {}


async def test_a_direct_answer_goes_through_the_same_hooks(serve: Serve) -> None:
    wire = await serve(direct())
    params = {"message": message("abc")}
    answer = (await wire.call("SendMessage", params, headers=ONE))["message"]
    assert trails(answer) == {"said": ["inner"], "answered": ["inner"]}
    async with wire.send_stream("abc", headers=ONE) as stream:
        (payload,) = await stream.payloads()
    assert trails(payload["message"]) == {"said": ["inner"], "streamed": ["inner"]}


@requirement("R-T-04")
async def test_what_a_caller_says_within_an_extension_can_be_refused(serve: Serve) -> None:
    wire = await serve(trailing())
    with refused("INVALID_PARAMS") as caught:
        await wire.send("refuse", headers=ONE)
    assert "not with this extension" in caught.value.told
    with refused("INVALID_PARAMS"):
        async with wire.send_stream("refuse", headers=ONE):
            pass
    assert await wire.stored() == []
    await wire.send("refuse")


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


@pytest.mark.parametrize("hook", ["request", "response"])
async def test_a_hook_that_fails_is_an_internal_error_that_tells_nothing(
    serve: Serve, hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(trailing())
    with caplog.at_level(logging.ERROR), refused("INTERNAL_ERROR") as caught:
        await wire.send(f"break the {hook}", headers=ONE)
    assert "secret" not in caught.value.told
    assert "extensions.example" not in caught.value.told
    assert "secret of the house" in caplog.text
    tasks = await wire.stored()
    assert [task["status"]["state"] for task in tasks] == ["TASK_STATE_COMPLETED"] * (hook == "response")


async def test_a_hook_that_fails_ends_the_stream_and_not_the_task(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(trailing())
    with caplog.at_level(logging.ERROR), refused("INTERNAL_ERROR") as caught:
        async with wire.send_stream("break the stream", headers=ONE) as stream:
            await stream.payloads()
    assert "secret" not in caught.value.told
    (task,) = await wire.stored(includeArtifacts=True)
    assert (await wire.settled(task["id"]))["artifacts"][0]["parts"] == [{"text": "nothing"}]


async def test_what_an_extension_cannot_extend_is_stored_as_it_was_said(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(trailing())
    with caplog.at_level(logging.ERROR):
        async with wire.send_stream("break what is said", headers=ONE) as stream:
            events = [next(iter(payload.values())) for payload in await stream.payloads()]
    assert "secret of the house" in caplog.text
    assert [trails(event["status"]["message"]) for event in events if "message" in event.get("status", {})] == [{}]
    assert events[-1]["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("R-3.3.4-06", "R-4.6.3-04")
async def test_a_required_extension_that_is_not_named_is_told_in_the_details(serve: Serve) -> None:
    wire = await serve(trailing(required=True))
    with refused("EXTENSION_SUPPORT_REQUIRED") as caught:
        await wire.send("abc", headers={"a2a-extensions": OUTER})
    assert INNER in str(caught.value.details) or INNER in caught.value.text
    assert OUTER not in str(caught.value.details)
    assert await stored_with(wire, INNER) == []
    assert trails(await wire.send("abc", headers=ONE)) == {"answered": ["inner"]}


async def stored_with(wire: Wire, uri: str) -> list[dict[str, Any]]:
    """The tasks as a caller sees them who names this extension."""
    from tests.behaviour.wire import wire_to

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


async def tell(text: str) -> str:
    return text


@only(*OVER_HTTP)
async def test_older_callers_may_use_either_name_of_the_header(serve: Serve) -> None:
    wire = await serve(trailing())
    request = wire.request("SendMessage", {"message": message()})
    for name in ("a2a-extensions", wire.form.extensions_header):
        sent = msgspec.structs.replace(request, headers={**request.headers, name: PLAIN})
        reply = await wire.bridge.send(sent)
        assert reply.headers[wire.form.extensions_header] == PLAIN


@without(NO_LISTS, NO_SERVER_SENT_EVENTS)
async def test_a_list_is_one_answer(serve: Serve) -> None:
    wire = await serve(trailing())
    await wire.send("abc", headers=ONE)
    listed = await wire.call("ListTasks", headers=ONE)
    assert [trails(task) for task in listed["tasks"]] == [{}]


async def test_a_turn_keeps_the_extensions_that_it_began_with(serve: Serve) -> None:
    agent = Agent("Asking", store="memory", extensions=[Trail(INNER), Trail(OUTER)])

    @agent.skill
    async def ask(task: TaskContext) -> str:
        """Ask."""
        answer = await task.ask("which?")
        return f"{answer} {sorted(task.extensions)}"

    wire = await serve(agent)
    asked = await wire.send(headers=ONE)
    assert trails(asked["status"]["message"]) == {"said": ["inner"]}
    done = await wire.send(message("that", taskId=asked["id"]), headers={"a2a-extensions": OUTER})
    assert done["artifacts"][0]["parts"] == [{"text": f"that {[INNER]}"}]
    assert trails(done["artifacts"][0]) == {"said": ["inner"]}
    assert trails(done) == {"answered": ["outer"]}
    assert trails(done["history"][-1]) == {"asked": ["outer"]}


async def test_a_handler_in_a_thread_is_offered_the_same(serve: Serve) -> None:
    agent = Agent("Threaded", store="memory", extensions=[Trail(INNER)])

    @agent.skill
    def tell(task: BlockingTaskContext) -> str:
        offered = task.extension(INNER)
        return "nothing" if offered is None else offered.text

    wire = await serve(agent)
    assert (await wire.send("abc"))["artifacts"][0]["parts"] == [{"text": "nothing"}]
    assert (await wire.send("abc", headers=ONE))["artifacts"][0]["parts"] == [{"text": "cba"}]


async def test_in_the_same_process_both_sides_work_too() -> None:
    async with connect(trailing(required=True), extensions=[Trail(OUTER), INNER]) as client:
        answer = await client.start("abc")
        assert isinstance(answer, TaskHandle)
        task = await answer.result()
    assert task.history[0].metadata == {"asked": ["outer", "inner"]}
    assert task.text == "cba"
    async with connect(trailing(required=True)) as client:
        with pytest.raises(ExtensionSupportRequiredError, match="inner"):
            await client.ask("abc")


async def test_an_audit_log_names_the_task_of_an_extended_stream(serve: Serve) -> None:
    told: list[dict[str, Any]] = []
    agent = Agent("Heard", store="memory", audit=AuditLog(told.append), extensions=[Trail(INNER)])
    agent.skill(tell)
    wire = await serve(agent)
    async with wire.send_stream("abc", headers=ONE) as stream:
        payloads = await stream.payloads()
    assert [decision["taskId"] for decision in told] == [payloads[0]["task"]["id"]]
