"""Who is not let in, and what they are told."""

import logging
from collections.abc import MutableMapping
from typing import Any

import pytest

from dragoman.client.receiver import Receiver
from dragoman.errors import TaskNotFoundError
from dragoman.types.events import StreamEvent
from dragoman.types.push import AuthenticationInfo
from tests.behaviour.manifest import requirement
from tests.unit.client.receiver.stage import URL, Agent, headers_of, post, status, task, virtual

BEARER = AuthenticationInfo(scheme="Bearer", credentials="key-1")


@virtual
async def test_a_token_is_taken_in_either_spelling() -> None:
    agent = Agent()
    receiver = agent.receiver()
    token = await agent.watched(receiver)
    for name in ("x-a2a-notification-token", "a2a-notification-token"):
        assert (await post(receiver, task(), {"content-type": "application/json", name: token})).status == 200


@requirement("R-4.3.3-05", "R-13.2-05")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-a2a-notification-token": ""},
        {"x-a2a-notification-token": "wrong"},
        {"a2a-notification-token": "T\xf6ken"},
        {"x-a2a-notification-token": "RIGHT", "a2a-notification-token": "wrong"},
        {"authorization": "Bearer RIGHT"},
    ],
    ids=["nothing", "empty", "wrong", "not ascii", "two that differ", "token as credentials"],
)
@virtual
async def test_a_stranger_is_refused_before_the_body_is_read(headers: dict[str, str]) -> None:
    agent = Agent()
    receiver = agent.receiver()
    token = await agent.watched(receiver)
    shown = {name: value.replace("RIGHT", token) for name, value in headers.items()}

    async def never() -> MutableMapping[str, Any]:
        raise AssertionError("the body is read")

    reply = await post(receiver, b"", shown, receive=never)
    assert reply.status == 401
    assert reply.headers["www-authenticate"]
    assert token not in reply.text


@requirement("R-13.2-05", "R-T-05")
@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"token": True, "authorization": "Bearer key-1"}, 200),
        ({"token": True}, 200),
        ({"authorization": "Bearer key-1"}, 200),
        ({"authorization": "bearer  key-1"}, 200),
        ({"token": True, "authorization": "Bearer key-2"}, 401),
        ({"token": True, "authorization": "Basic key-1"}, 401),
        ({"token": True, "authorization": ""}, 401),
        ({"authorization": "Bearer KEY-1"}, 401),
        ({}, 401),
    ],
)
@virtual
async def test_of_token_and_credentials_one_must_come_and_what_comes_must_be_right(
    shown: dict[str, Any], expected: int
) -> None:
    agent = Agent()
    receiver = agent.receiver(authentication=BEARER)
    token = await agent.watched(receiver)
    headers = headers_of(token if shown.get("token") else None)
    if "authorization" in shown:
        headers["authorization"] = shown["authorization"]
    assert (await post(receiver, task(), headers)).status == expected
    assert agent.configs[0].authentication == BEARER


@virtual
async def test_credentials_with_a_colon_come_encoded_as_basic_has_them() -> None:
    agent = Agent()
    receiver = agent.receiver(authentication=AuthenticationInfo(scheme="Basic", credentials="me:secret"))
    await agent.watched(receiver)
    assert (await post(receiver, task(), headers_of(authorization="Basic bWU6c2VjcmV0"))).status == 200
    assert (await post(receiver, task(), headers_of(authorization="Basic me:secret"))).status == 401


@requirement("R-4.3.3-04", "R-13.2-06", "R-13.2-13")
@virtual
async def test_a_token_is_for_its_own_task() -> None:
    agent = Agent()
    receiver = agent.receiver()
    first = await agent.watched(receiver, "t-1")
    second = await agent.watched(receiver, "t-2")
    assert first != second
    assert (await post(receiver, task(task_id="t-2"), headers_of(first))).status == 403
    assert (await post(receiver, task(task_id="t-2"), headers_of(second))).status == 200


@requirement("R-4.3.3-04", "R-13.2-06")
@virtual
async def test_a_token_for_all_is_good_for_tasks_that_are_known_unless_any_may_come() -> None:
    agent = Agent()
    strict = agent.receiver(token="ours")
    await agent.watched(strict, "t-1")
    assert (await post(strict, task(task_id="t-9"), headers_of("ours"))).status == 404
    assert (await post(strict, task(task_id="t-1"), headers_of("ours"))).status == 200
    open_to_all = Receiver(None, URL, token="ours", any_task=True)
    assert (await post(open_to_all, task(task_id="t-9"), headers_of("ours"))).status == 200
    assert (await post(open_to_all, task(task_id="t-9"), headers_of("theirs"))).status == 401


@requirement("R-13.2-11")
@virtual
async def test_who_is_not_wanted_any_more_is_told_so_for_good() -> None:
    agent = Agent()
    receiver = agent.receiver()
    token = await agent.watched(receiver)
    assert (await post(receiver, task(), headers_of(token, 1))).status == 200
    await receiver.unwatch("t-1")
    assert agent.deleted == [("t-1", agent.configs[0].id)]
    assert (await post(receiver, status("WORKING"), headers_of(token, 2))).status == 410
    assert (await post(receiver, task(), headers_of(token, 1))).status == 200, "it was taken then"
    again = await agent.watched(receiver)
    assert again != token
    assert (await post(receiver, status("WORKING"), headers_of(again, 2))).status == 200


@virtual
async def test_a_configuration_that_could_not_be_made_is_none() -> None:
    agent = Agent()
    receiver = agent.receiver(token="ours")
    agent.trouble = TaskNotFoundError()
    with pytest.raises(TaskNotFoundError):
        await receiver.watch("t-1")
    assert (await post(receiver, task(), headers_of("ours"))).status == 410
    agent.trouble = None
    assert (await post(receiver, task(), headers_of(await agent.watched(receiver)))).status == 200


@virtual
async def test_two_tokens_that_are_both_right_are_still_two() -> None:
    agent = Agent()
    receiver = agent.receiver()
    one, other = await agent.watched(receiver, "t-1"), await agent.watched(receiver, "t-2")
    both = {"x-a2a-notification-token": one, "a2a-notification-token": other}
    assert (await post(receiver, task(), both)).status == 401
    assert (await post(receiver, task(), {**both, "a2a-notification-token": one})).status == 200


@virtual
async def test_a_closed_receiver_takes_nothing_and_leaves_nothing_at_the_agent() -> None:
    agent = Agent()
    async with agent.receiver(token="ours", any_task=True) as receiver:
        token = await agent.watched(receiver, "t-1")
        await agent.watched(receiver, "t-2")
        assert (await post(receiver, task(), headers_of(token))).status == 200
    assert sorted(agent.deleted) == sorted((config.task_id, config.id) for config in agent.configs)
    for shown in (token, "ours"):
        assert (await post(receiver, task(task_id="t-9"), headers_of(shown))).status == 410


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE"])
@virtual
async def test_notifications_are_posted(method: str) -> None:
    reply = await post(Agent().receiver(), b"", {}, method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"task": {}}', "application/json", 400),
        (b'{"other": {"id": "t-1"}}', "application/json", 400),
        (b'{"task": {"id": "t-1", "metadata": ' + b"[" * 200 + b"]" * 200 + b"}}", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"task": {"id": "t-1"}}', "text/plain", 415),
    ],
    ids=["cut", "empty", "list", "nothing", "no id", "unknown", "deep", "very deep", "not JSON by its word"],
)
@virtual
async def test_what_is_no_notification_is_refused_for_good(body: bytes, content_type: str, expected: int) -> None:
    agent = Agent()
    events: list[StreamEvent] = []

    async def on_event(event: StreamEvent) -> None:
        events.append(event)

    receiver = agent.receiver(on_event)
    token = await agent.watched(receiver)
    assert (await post(receiver, body, headers_of(token, content_type=content_type))).status == expected
    assert events == []


@requirement("R-T-06")
@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1000000", 200),
        ("999700", 200),
        ("1000300", 200),
        ("999699", 400),
        ("1000301", 400),
        ("", 400),
        ("-5", 400),
        ("1e6", 400),
        ("\xb2", 400),
        ("9" * 40, 400),
    ],
)
@virtual
async def test_what_was_sent_at_another_time_is_a_replay(stamp: str, expected: int) -> None:
    agent = Agent()
    receiver = agent.receiver()
    token = await agent.watched(receiver)
    assert (await post(receiver, task(), headers_of(token, webhook_timestamp=stamp))).status == expected


@virtual
async def test_an_id_that_is_too_long_to_be_remembered_is_refused() -> None:
    agent = Agent()
    receiver = agent.receiver()
    token = await agent.watched(receiver)
    assert (await post(receiver, task(), headers_of(token, webhook_id="x" * 1024))).status == 200
    assert (await post(receiver, task(), headers_of(token, webhook_id="x" * 1025))).status == 400


@requirement("R-13.2-11")
@virtual
async def test_nothing_that_is_shown_of_a_receiver_has_a_secret_in_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    agent = Agent()

    async def on_event(event: StreamEvent) -> None:
        raise ValueError("no")

    receiver = agent.receiver(on_event, authentication=BEARER, token="standing")
    token = await agent.watched(receiver)
    replies = [
        await post(receiver, task(), headers_of(token, authorization="Bearer key-1")),
        await post(receiver, task(), headers_of("standing")),
        await post(receiver, task(), headers_of(token + "x")),
    ]
    assert [reply.status for reply in replies] == [500, 500, 401]
    shown = "".join([caplog.text, repr(receiver), repr(vars(receiver)), *(reply.text for reply in replies)])
    for secret in (token, "key-1", "standing"):
        assert secret not in shown


@requirement("R-13.2-10")
@pytest.mark.parametrize(
    ("url", "warnings"),
    [
        ("http://caller.example/hooks", 1),
        ("https://caller.example/hooks", 0),
        ("http://127.0.0.1:8000/", 0),
        ("http://[::1]:8000/", 0),
    ],
)
@virtual
async def test_who_is_pushed_to_without_encryption_is_warned_once(
    caplog: pytest.LogCaptureFixture, url: str, warnings: int
) -> None:
    client: Any = Agent()
    receiver = Receiver(client, url)
    for task_id in ("t-1", "t-2"):
        await receiver.watch(task_id)
    assert [record.message for record in caplog.records if "without encryption" in record.message] == [
        "notifications, and the tokens in them, come over the network without encryption"
    ] * warnings
