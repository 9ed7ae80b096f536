"""Scenarios of push notifications: configurations of a task, and what is posted to a receiver of the test's own."""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from tests.behaviour.webhooks import Posted, Receiver, receiving
from tests.interop.seeing import Facts
from tests.interop.words import Caller, Event, Say, Webhook, text_of

__all__ = ["webhook", "webhook_settings", "webhook_with_message"]

HOOK = Webhook("", "c", "http://127.0.0.1:9/hook", "of-mine", "Bearer", "secret")
ENDED = {"completed", "TASK_STATE_COMPLETED"}


async def webhook_settings(caller: Caller) -> Facts:
    """Webhooks of a task are set, read, set anew, listed and deleted; credentials are not shown."""
    task = (await caller.send(Say("count 2 0"))).id
    given, other = replace(HOOK, task=task), Webhook(task, "d", HOOK.url)
    created = await _answered(caller, caller.push("create", given))
    read = await _answered(caller, caller.push("get", Webhook(task, "c")))
    again = replace(given, token="another")
    for each in (other, again):
        await _answered(caller, caller.push("create", each))
    listed = await _answered(caller, caller.push("list", Webhook(task)))
    deleted = [await _answered(caller, caller.push("delete", other)) for _ in range(2)]
    left = await _answered(caller, caller.push("list", Webhook(task)))
    return {
        "created": _told(created, [given]),
        "read": _told(read, [given]),
        "credentials": "secret" in str((created, read, listed)),
        "listed": _told(listed, [again, other]),
        "deleted": deleted[-1],
        "left": _told(left, [again]),
        "gone": await _answered(caller, caller.push("get", other)),
    }


async def webhook(caller: Caller) -> Facts:
    """Two webhooks of a waiting task are told in order what happens to it: one with a token, one with credentials."""
    async with receiving() as hook, receiving() as other:
        task = await caller.send(Say("count 3 0.02"))
        known = Webhook(task.id, "c", hook.url, HOOK.token)
        trusted = Webhook(task.id, "d", other.url, "", HOOK.scheme, HOOK.credentials)
        for each in (known, trusted):
            await caller.push("create", each)
        await caller.send(Say("up", task=task))
        seen, seen_by_other = await _posted(caller, hook, task.id), await _posted(caller, other, task.id)
    assert seen_by_other["text"] == seen["text"]
    assert (seen["authorizations"], seen_by_other["tokens"]) == (["none"], ["none"])
    return {**seen, "authorizations": seen_by_other["authorizations"]}


async def webhook_with_message(caller: Caller) -> Facts:
    """A webhook that has come with a message is told of the task, with its token and its credentials."""
    async with receiving() as hook:
        task = await caller.send(Say("count 3 0.02 up", webhook=replace(HOOK, url=hook.url)))
        return await _posted(caller, hook, task.id)


async def _answered(caller: Caller, call: Awaitable[list[Webhook]]) -> list[Webhook] | str:
    """The answer, or the name of the error."""
    try:
        return await call
    except Exception as error:  # noqa: BLE001 -- each client has errors of its own
        return caller.name_of(error) or f"untyped: {str(error).strip().rpartition(chr(10))[2]}"


def _told(answer: list[Webhook] | str, given: list[Webhook]) -> str:
    """`as given`, whatever is said of credentials and whatever the order; else what is told."""
    if isinstance(answer, str):
        return answer
    plain = sorted((replace(each, credentials="") for each in answer), key=lambda each: each.id)
    return "as given" if plain == [replace(each, credentials="") for each in given] else str(plain)


async def _posted(caller: Caller, hook: Receiver, task: str) -> Facts:
    """What was posted until the end of the task, and how the caller reads it."""
    await hook.until(lambda receiver: bool(receiver.posts) and _state(receiver.bodies[-1]) in ENDED)
    events = [await caller.read(body) for body in hook.bodies]
    numbers = [int(post.headers.get("webhook-id", f"{task}:0:c").split(":")[1]) for post in hook.posts]
    return {
        "forms": sorted({_form(post.body) for post in hook.posts}),
        "types": sorted({post.headers["content-type"] for post in hook.posts}),
        "tokens": _headers(hook.posts, "x-a2a-notification-token"),
        "authorizations": _headers(hook.posts, "authorization"),
        "versions": _headers(hook.posts, "a2a-version"),
        "tasks": {_task(post.body) for post in hook.posts} == {task},
        "numbered": numbers == sorted(set(numbers)),
        "text": _text(events),
        "state": events[-1].seen.state if events[-1].seen else events[-1].state,
    }


def _headers(posts: list[Posted], name: str) -> list[str]:
    """Its values over all posts; `none` for posts without it."""
    return sorted({post.headers.get(name, "none") for post in posts})


def _form(body: dict[str, Any]) -> str:
    """The version of a body: a bare task in 0.3, one of four members in 1.0."""
    if body.get("kind") == "task":
        return "0.3"
    return "1.0" if set(body) < {"task", "message", "statusUpdate", "artifactUpdate"} else f"neither: {sorted(body)}"


def _event(body: dict[str, Any]) -> dict[str, Any]:
    return body if "kind" in body else next(iter(body.values()))


def _task(body: dict[str, Any]) -> str:
    event = _event(body)
    return str(event.get("taskId") or event["id"])


def _state(body: dict[str, Any]) -> str:
    return str(_event(body).get("status", {}).get("state"))


def _text(events: list[Event]) -> str:
    """The text of all artifacts as whoever reads in this order has it at the end; `backwards` if it ever shrank."""
    text = ""
    for event in events:
        before = text
        if event.seen is not None:
            text = event.seen.text
        elif event.kind == "artifact":
            text = (before if event.append else "") + text_of(event.parts)
        if not text.startswith(before):
            return "backwards"
    return text
