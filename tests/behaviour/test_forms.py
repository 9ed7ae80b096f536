"""How values look on the wire: parts, names, enum values, timestamps, unknown members, text."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dragoman import Agent, Artifact, Part, TaskContext
from tests.behaviour.agents import echo, obedient
from tests.behaviour.cells import (
    CELLS,
    DATA_IS_AN_OBJECT,
    FINAL_JSON,
    MEDIA_TYPES_OF_FILES_ONLY,
    NO_REFERENCES,
    OVER_GRPC,
    TYPED,
    only,
    without,
)
from tests.behaviour.checks import TIMESTAMP
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused, wire_to
from tests.unit.hosts.grpc.driver import framed

PARTS: list[dict[str, Any]] = [
    {"text": "plain"},
    {"text": "", "metadata": {"snake_case": 1, "Mixed": [None, True]}},
    {"raw": base64.b64encode(bytes(range(256))).decode(), "mediaType": "image/png", "filename": "a.png"},
    {"raw": ""},
    {"url": "https://files.example/ü?a=b#c", "filename": "ü.txt"},
    {"data": {"nested": {"deep_er": [1, 2.5, "x", None, False, {}]}}},
    {"data": {"a": 1e300}, "metadata": {}},
]
ONLY_FINAL: list[dict[str, Any]] = [
    {"text": "styled", "mediaType": "text/markdown", "filename": "styled.md"},
    {"data": [1, 2]},
    {"data": "text"},
    {"data": 0},
    {"data": False},
    {"data": None},
    {"data": {"a": 1}, "mediaType": "application/x-one"},
]


def mirror() -> Agent:
    """Gives back the parts it gets, in one artifact with all members."""
    agent = Agent("Mirror", "Gives back what it gets.", store="memory")

    @agent.skill(tags=["demo"])
    async def mirror(task: TaskContext) -> Artifact:
        return Artifact(
            artifact_id="mirrored",
            parts=task.message.parts,
            name="A name",
            description="Said twice",
            metadata={"some_key": {"inner_key": 1}},
            extensions=("https://extensions.example/one",),
        )

    return agent


@requirement("R-4-01", "R-5.1-02", "R-4.1-02")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: json.dumps(part)[:40])
async def test_a_part_keeps_its_content_through_agent_store_and_bindings(serve: Serve, part: dict[str, Any]) -> None:
    await check_that_it_is_kept(serve, part)


@requirement("R-4-01", "R-5.1-02", "R-4.1-02")
@without(MEDIA_TYPES_OF_FILES_ONLY, DATA_IS_AN_OBJECT)
@pytest.mark.parametrize("part", ONLY_FINAL, ids=lambda part: json.dumps(part)[:40])
async def test_a_part_of_1_0_keeps_all_that_it_has(serve: Serve, part: dict[str, Any]) -> None:
    await check_that_it_is_kept(serve, part)


async def check_that_it_is_kept(serve: Serve, part: dict[str, Any]) -> None:
    wire = await serve(mirror())
    task = await wire.send(message(parts=[part, {"text": "end"}]))
    sent_back = task["artifacts"][0]["parts"][0]
    assert {key: value for key, value in sent_back.items() if value != {}} == {
        key: value for key, value in part.items() if value != {} or key == "data"
    }
    assert await wire.get(task["id"]) == task
    for cell in CELLS:
        if cell not in DATA_IS_AN_OBJECT.cells or part in PARTS:
            assert await (await wire_to(wire.bridge, cell)).get(task["id"]) == task, cell.key


@requirement("R-5.5-01", "R-4.1-01", "R-4.1-03", "R-A.2.1-01")
async def test_objects_have_the_members_of_the_specification(serve: Serve) -> None:
    wire = await serve(mirror())
    sent = message(metadata={"a_b": 1}, extensions=["https://extensions.example/one"])
    if wire.cell not in NO_REFERENCES.cells:
        sent["referenceTaskIds"] = ["r"]
    task = await wire.send(sent)
    assert task["artifacts"] == [
        {
            "artifactId": "mirrored",
            "parts": [{"text": "hello"}],
            "name": "A name",
            "description": "Said twice",
            "metadata": {"some_key": {"inner_key": 1}},
            "extensions": ["https://extensions.example/one"],
        }
    ]
    kept = task["history"][0]
    assert kept == {**sent, "taskId": task["id"], "contextId": task["contextId"]}


@requirement("R-4.1-03")
async def test_artifacts_that_do_not_continue_one_another_have_ids_of_their_own(serve: Serve) -> None:
    agent = Agent("Maker", "Makes things.", store="memory")

    @agent.skill(tags=["demo"])
    async def make(task: TaskContext) -> AsyncIterator[Any]:
        yield "some "
        yield Part(data={"n": 1})
        yield {"n": 2}
        yield "text"
        yield b"bytes"

    wire = await serve(agent)
    task = await wire.send()
    ids = [artifact["artifactId"] for artifact in task["artifacts"]]
    assert len(ids) == len(set(ids))
    contents = [artifact["parts"] for artifact in task["artifacts"]]
    assert [{"data": {"n": 1}}] in contents
    assert any(parts[0].get("data") == {"n": 2} for parts in contents)
    assert "".join(part.get("text", "") for parts in contents for part in parts) == "some text"


@requirement("R-5.5-02")
async def test_states_and_roles_have_the_names_of_the_proto(serve: Serve) -> None:
    wire = await serve(obedient())
    expected = {
        "done": "COMPLETED",
        "ask": "INPUT_REQUIRED",
        "auth": "AUTH_REQUIRED",
        "reject": "REJECTED",
        "fail": "FAILED",
    }
    for word, state in expected.items():
        task = await wire.send(word)
        assert task["status"]["state"] == f"TASK_STATE_{state}"
        assert task["history"][0]["role"] == "ROLE_USER"


@only(*FINAL_JSON)
@pytest.mark.parametrize("role", ["ROLE_USER", "Role_User", "USER", 1])
async def test_every_spelling_of_a_role_is_read_and_one_is_written(serve: Serve, role: Any) -> None:
    wire = await serve(echo())
    assert (await wire.send(message(role=role)))["history"][0]["role"] == "ROLE_USER"


@requirement("R-5.6.1-01", "R-5.6.1-02", "R-5.6.1-04", "R-5.7-01")
async def test_timestamps_are_utc_with_milliseconds(serve: Serve) -> None:
    wire = await serve(echo())
    async with wire.send_stream() as stream:
        payloads = await stream.payloads()
    statuses = [
        payloads[0]["task"]["status"],
        *(each["statusUpdate"]["status"] for each in payloads if "statusUpdate" in each),
    ]
    assert all(TIMESTAMP.fullmatch(status["timestamp"]) for status in statuses)
    stamps = [status["timestamp"] for status in statuses]
    assert stamps == sorted(stamps)


@requirement("R-5.7-04")
@without(TYPED)
async def test_unknown_members_do_no_harm_and_do_not_come_back(serve: Serve) -> None:
    wire = await serve(echo())
    extra: dict[str, Any] = {"x": 1, "final": True, "snake_case": {"deep": [1]}}
    if wire.cell.line == "1.0":
        extra["kind"] = "message"
    sent = {
        "message": {**message(parts=[{"text": "hi", **extra}]), **extra},
        "configuration": {"acceptedOutputModes": ["text/plain"], **extra},
        **extra,
    }
    result = await wire.call("SendMessage", sent)
    assert not set(extra) & set(result["task"]["history"][0])
    assert not set(extra) & set(result["task"]["history"][0]["parts"][0])
    assert await wire.get(result["task"]["id"], unknown=1)


@requirement("R-5.7-04")
@only(*OVER_GRPC)
async def test_unknown_fields_do_no_harm(serve: Serve) -> None:
    wire = await serve(echo())
    request = wire.request("SendMessage", {"message": message("hi")})
    unknown = b"\xba\x3e\x05later" + b"\xc0\x3e\x07"  # fields 999, a text, and 1000, a number
    sent = msgspec.structs.replace(request, body=framed(request.body[5:] + unknown))
    assert wire.read(sent, await wire.send_raw(sent))["task"]["artifacts"][0]["parts"] == [{"text": "hi"}]


@without(TYPED)
@pytest.mark.parametrize("member", ["contextId", "taskId", "metadata", "extensions", "referenceTaskIds"])
async def test_null_means_absent(serve: Serve, member: str) -> None:
    wire = await serve(echo())
    assert (await wire.send(message("hi", **{member: None})))["artifacts"]


@requirement("R-14.1-01")
@pytest.mark.parametrize(
    "text", ["ünïcödé", "日本語", "👩‍👩‍👧‍👦", "\u0000\u001f\u2028", "a\r\nb", "<b>&\"'", "\\u0041", "\ufeffx"]
)
async def test_text_comes_back_letter_by_letter(serve: Serve, text: str) -> None:
    wire = await serve(echo())
    task = await wire.send(text)
    assert task["artifacts"][0]["parts"] == [{"text": text}]
    async with wire.send_stream(text) as stream:
        payloads = await stream.payloads()
    chunks = [each["artifactUpdate"]["artifact"]["parts"][0]["text"] for each in payloads if "artifactUpdate" in each]
    assert "".join(chunks) == text


@requirement("R-14.1-01")
async def test_what_is_not_utf_8_is_refused(serve: Serve) -> None:
    wire = await serve(echo())
    request = wire.request("SendMessage", {"message": message("XYZ")})
    for wrong in (b"\xffYZ", b"\xc3\x28Z", b"\xed\xa0\x80"):
        body = request.body.replace(b"XYZ", wrong)
        reply = await wire.send_raw(msgspec.structs.replace(request, body=body))
        if wire.binding == "GRPC":
            assert reply.headers["grpc-status"] == "3"
        else:
            assert reply.status == (200 if wire.jsonrpc else 400)
            assert (b"-32700" if wire.jsonrpc or wire.cell.line == "0.3" else b"400") in reply.body
    assert await wire.stored() == []


@requirement("R-14.1-03")
async def test_a_callers_text_never_becomes_a_header_or_a_line_of_its_own(serve: Serve) -> None:
    wire = await serve(echo())
    nasty = "x\r\nset-cookie: a=b\r\n\r\n\n\nevent: error\ndata: {}"
    with refused("TASK_NOT_FOUND"):
        await wire.get(nasty)
    task = await wire.send(message(nasty, contextId=nasty))
    assert task["contextId"] == nasty
    async with wire.send_stream(message(nasty, contextId=nasty)) as stream:
        payloads = await stream.payloads()
    assert payloads[0]["task"]["contextId"] == nasty


@only(*FINAL_JSON)
async def test_both_spellings_of_member_names_are_read(serve: Serve) -> None:
    wire = await serve(echo())
    sent = {"message": {"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "x", "media_type": "text/plain"}]}}
    task = (await wire.call("SendMessage", sent))["task"]
    assert task["history"][0]["parts"] == [{"text": "x", "mediaType": "text/plain"}]
