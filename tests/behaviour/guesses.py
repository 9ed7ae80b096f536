"""How somebody goes for what is another's: every operation, with every id that can be guessed, and what they see."""

import itertools
import json
import secrets
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from dragoman import Agent, Message, Part, TaskContext
from dragoman.auth import OwnScheme, Principal
from dragoman.operations import OPERATIONS
from dragoman.types import Role
from dragoman.types.card import HTTPAuthSecurityScheme
from tests.behaviour.agents import echo
from tests.behaviour.cells import LISTS_SAY_LITTLE, NO_LISTS
from tests.behaviour.configs import HOOK, PUSH, Configs
from tests.behaviour.faults import Fault
from tests.behaviour.wire import Wire, message

__all__ = ["GUESSES", "Caller", "Guess", "Things", "curious", "leaks", "named", "owned", "snapshot", "who"]

SECRET = "of-her-alone"
_numbers = itertools.count(1)


class Caller(msgspec.Struct, frozen=True):
    """Who calls, and as whom of which tenant."""

    name: str
    tenant: str = ""

    @property
    def how(self) -> dict[str, Any]:
        return {"headers": who(self.name), "tenant": self.tenant}


def who(name: str) -> dict[str, str]:
    return {"authorization": f"Name {name}"}


def named(claims: Mapping[str, dict[str, Any]] | None = None) -> OwnScheme:
    """Whoever says a name has it: what is at stake is what comes after."""

    async def known(credentials: Any) -> Principal | None:
        name = credentials.authorization("Name")
        return None if name is None else Principal(name, "name", claims=(claims or {}).get(name, {}))

    return OwnScheme("name", HTTPAuthSecurityScheme(scheme="Name"), known, told="Name")


def curious(**given: Any) -> Agent:
    """Tells how much it sees around a task; asks, if it is told to, and answers directly, never twice the same."""
    agent = Agent("Curious", push=PUSH, extended_card=echo().card, **given)

    @agent.skill
    async def look(task: TaskContext) -> str:
        seen = f"{len(task.references)} and {len(await task.context.tasks())}"
        return f"{seen} {await task.ask('Which?')}" if task.text.startswith("ask") else seen

    @agent.skill
    async def tell(_: str) -> Message:
        return Message(message_id="m", role=Role.AGENT, parts=(Part(text=secrets.token_hex(16)),))

    @agent.router
    async def chosen(text: str) -> str:
        return "tell" if text.startswith("tell") else "look"

    return agent


class Things(msgspec.Struct, frozen=True):
    """What may be named of somebody's: tasks, a context, messages that were sent, a configuration."""

    open: str
    ended: str
    context: str
    said: dict[str, Any]
    told: dict[str, Any]
    config: str
    page: str = ""
    """A token of the list of tasks."""
    config_page: str = "1"
    """One of the list of configurations of the task that has ended."""
    secrets: tuple[str, ...] = ()
    """What shows up nowhere else than in answers to the owner."""

    @property
    def ids(self) -> tuple[str, ...]:
        return self.open, self.ended, self.context, self.config, self.said["messageId"], self.told["messageId"]


def made_up() -> Things:
    """What nobody has, of the same form."""
    number = next(_numbers)
    return Things(
        open=f"0000-open-{number}",
        ended=f"0000-ended-{number}",
        context=f"context-{number}",
        said=message("ask", contextId=f"context-{number}", metadata={"of": SECRET}),
        told=message("tell"),
        config=f"config-{number}",
        page="",
    )


async def owned(wire: Wire, owner: Caller) -> Things:
    """The owner's things, with a secret wherever one can be put."""
    context = f"context-{SECRET}"
    said = message("ask", contextId=context, metadata={"of": SECRET})
    waiting = await wire.send(said, **owner.how)
    ended = await wire.send(message("look", contextId=context, metadata={"of": SECRET}), **owner.how)
    told = message("tell")
    answer = (await wire.call("SendMessage", {"message": told}, **owner.how))["message"]
    for task in (waiting, ended):
        await Configs(wire, task["id"], **owner.how).create(id="config-of-hers", url=f"{HOOK}&{SECRET}", token=SECRET)
    more = Configs(wire, ended["id"], **owner.how)
    await more.create(id="config-of-hers-too", url=f"{HOOK}&{SECRET}")
    page = "" if wire.cell in (*NO_LISTS.cells, *LISTS_SAY_LITTLE.cells) else await _token(wire, owner)
    return Things(
        open=waiting["id"],
        ended=ended["id"],
        context=context,
        said=said,
        told=told,
        config="config-of-hers",
        page=page,
        config_page=(await more.call("List", pageSize=1)).get("nextPageToken") or "1",
        secrets=(SECRET, answer["parts"][0]["text"], waiting["id"], ended["id"]),
    )


async def _token(wire: Wire, owner: Caller) -> str:
    listed = await wire.call("ListTasks", {"pageSize": 1}, **owner.how)
    token: str = listed["nextPageToken"]
    assert token
    return token


class Guess(msgspec.Struct, frozen=True):
    """One call; what it says depends on what is guessed."""

    operation: str
    params: Callable[[Things], dict[str, Any]]
    headers: Mapping[str, str] = {}


def _sends(operation: str) -> list[Guess]:
    afterwards = {"last-event-id": "1"}
    ours = "https://dragoman.dev/extensions/reliable/v1"
    return [
        Guess(operation, lambda it: {"message": message("red", taskId=it.open)}),
        Guess(operation, lambda it: {"message": message("red", taskId=it.ended)}),
        Guess(operation, lambda it: {"message": message("red", taskId=it.open, contextId=it.context)}),
        Guess(operation, lambda it: {"message": message("red", taskId=it.open)}, afterwards),
        Guess(operation, lambda it: {"message": {**it.said, "taskId": it.open}}),
        Guess(operation, lambda it: {"message": message("look", contextId=it.context)}),
        Guess(operation, lambda it: {"message": message("look", referenceTaskIds=[it.open, it.ended])}),
        Guess(operation, lambda it: {"message": it.said}),
        Guess(operation, lambda it: {"message": it.said}, afterwards | {"a2a-extensions": ours}),
        Guess(operation, lambda it: {"message": it.told}),
        Guess(operation, lambda it: {"message": message("look"), "configuration": _configured(it)}),
        Guess(operation, lambda it: {"message": message("x", taskId=it.open), "configuration": _configured(it)}),
    ]


def _configured(it: Things) -> dict[str, Any]:
    return {"taskPushNotificationConfig": {"id": it.config, "url": HOOK}}


_LONG_AGO = "2000-01-01T00:00:00Z"
_GUESSES = (
    *_sends("SendMessage"),
    *_sends("SendStreamingMessage"),
    Guess("GetTask", lambda it: {"id": it.open}),
    Guess("GetTask", lambda it: {"id": it.ended, "historyLength": 9}),
    Guess("ListTasks", lambda _: {}),
    Guess("ListTasks", lambda it: {"contextId": it.context, "includeArtifacts": True}),
    Guess("ListTasks", lambda it: {"contextId": it.context, "statusTimestampAfter": _LONG_AGO}),
    Guess("ListTasks", lambda it: {"contextId": it.context, "status": "TASK_STATE_COMPLETED"}),
    Guess("ListTasks", lambda _: {"status": "TASK_STATE_INPUT_REQUIRED"}),
    Guess("ListTasks", lambda _: {"statusTimestampAfter": _LONG_AGO}),
    Guess("ListTasks", lambda it: {"pageToken": it.page} if it.page else {}),
    Guess("CancelTask", lambda it: {"id": it.open}),
    Guess("CancelTask", lambda it: {"id": it.ended}),
    Guess("SubscribeToTask", lambda it: {"id": it.open}),
    Guess("SubscribeToTask", lambda it: {"id": it.ended}, {"last-event-id": "1"}),
    Guess("CreateTaskPushNotificationConfig", lambda it: {"taskId": it.open, "id": it.config, "url": HOOK}),
    Guess("CreateTaskPushNotificationConfig", lambda it: {"taskId": it.ended, "id": "another", "url": HOOK}),
    Guess("GetTaskPushNotificationConfig", lambda it: {"taskId": it.open, "id": it.config}),
    Guess("GetTaskPushNotificationConfig", lambda it: {"taskId": it.ended, "id": it.ended}),
    Guess("ListTaskPushNotificationConfigs", lambda it: {"taskId": it.open}),
    Guess("ListTaskPushNotificationConfigs", lambda it: {"taskId": it.ended, "pageToken": it.config_page}),
    Guess("DeleteTaskPushNotificationConfig", lambda it: {"taskId": it.open, "id": it.config}),
    Guess("DeleteTaskPushNotificationConfig", lambda it: {"taskId": it.ended, "id": "no-such-config"}),
    Guess("GetExtendedAgentCard", lambda _: {}),
)
GUESSES: dict[str, list[Guess]] = {
    operation.name: [guess for guess in _GUESSES if guess.operation == operation.name] for operation in OPERATIONS
}


async def leaks(wire: Wire, theirs: Things, strangers: Callable[[], Iterable[Caller]]) -> list[str]:
    """What strangers, new ones for each guess, see of somebody's things that they would not see of made up ones, and
    whatever of it is a secret.
    """
    found: list[str] = []
    for operation, guesses in GUESSES.items():
        if operation == "ListTasks" and wire.cell in NO_LISTS.cells:
            continue
        for number, guess in enumerate(guesses):
            for one, other in zip(strangers(), strangers(), strict=True):
                nothing = made_up()
                seen, missing = await _seen(wire, guess, theirs, one), await _seen(wire, guess, nothing, other)
                where = f"{operation} {number} by {one.name} of {one.tenant!r}"
                if _plain(seen[0], theirs) != _plain(missing[0], nothing):
                    found.append(f"{where}: {seen[0]} is not {missing[0]}")
                if operation == "ListTasks" and (seen[0][0]["tasks"] or seen[0][0].get("totalSize")):
                    found.append(f"{where}: {seen[0]}, who has nothing")
                asked = str(guess.params(theirs))
                shown = [secret for secret in theirs.secrets if secret not in asked and secret in seen[1]]
                found += [f"{where} shows {secret}" for secret in shown]
    return found


async def _seen(wire: Wire, guess: Guess, things: Things, caller: Caller) -> tuple[Any, str]:
    """What somebody sees, as far as it would be the same a second time; and all that they were told."""
    how: dict[str, Any] = {"headers": who(caller.name) | dict(guess.headers), "tenant": caller.tenant}
    params = guess.params(things)
    try:
        if guess.operation in ("SendStreamingMessage", "SubscribeToTask"):
            async with wire.stream(guess.operation, params, **how) as stream:
                told: Any = await stream.payloads()
                raw = str(told)
        else:
            request = wire.request(guess.operation, params, **how)
            reply = await wire.send_raw(request)
            raw = f"{reply.headers} {reply.body!r}"
            told = [wire.read(request, reply), sorted(set(reply.headers) - {"content-length"})]
    except Fault as fault:
        details = fault.reply.headers.get("grpc-status-details-bin", "")
        raw = f"{fault.told} {fault.reply.headers} {b64decode(details + '=' * (-len(details) % 4))!r}"
        told = [fault.reason, fault.text, fault.details, fault.reply.status, sorted(fault.reply.headers)]
    return told, raw


_OWN = {"id", "taskId", "contextId", "messageId", "timestamp", "artifactId", "configId", "name"}
"""Members that differ each time where something of one's own is shown."""


def _plain(told: Any, things: Things) -> str:
    """What is told, without what differs each time, and without what was asked for."""
    text = json.dumps(_without(told), sort_keys=True)
    for name in sorted(things.ids, key=len, reverse=True):
        text = text.replace(name, "*")
    return text


def _without(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: "*" if key in _OWN else _without(value) for key, value in cast("dict[str, Any]", told).items()}
    if isinstance(told, list):
        return [_without(one) for one in cast("Sequence[Any]", told)]
    return "*" if isinstance(told, str) and len(told) == 32 and told.isalnum() else told


async def snapshot(wire: Wire, owner: Caller, things: Things) -> Any:
    """All that the owner can see of the things."""
    tasks = [await wire.get(task_id, **owner.how) for task_id in (things.open, things.ended)]
    configs = [await Configs(wire, task_id, **owner.how).ids() for task_id in (things.open, things.ended)]
    if wire.cell in (*NO_LISTS.cells, *LISTS_SAY_LITTLE.cells):
        return tasks, configs
    listed = await wire.call("ListTasks", {}, **owner.how)
    return tasks, configs, listed["totalSize"]
