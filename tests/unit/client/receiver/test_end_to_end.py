"""Agents of our own that push to receivers of our own, over sockets, in every binding and version."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette

from dragoman import Agent, InputRequired, Message, PushOptions, TaskContext, TaskHandle, answer, connect, sync
from dragoman.client.client import Client
from dragoman.client.receiver import HmacSignature, JwtSignature, ReceiverLimits
from dragoman.client.receiver.gate import Gate
from dragoman.client.receiver.hosting import hosted
from dragoman.client.receiver.watch import Watch
from dragoman.errors import PushNotificationNotSupportedError
from dragoman.push.options import Retry
from dragoman.push.signer import HmacSigner, JwtSigner
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.signing.webhooks import Secret
from dragoman.testing.bridge import AsgiBridge
from dragoman.types.card import AgentCard, AgentInterface
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.types.requests import GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest
from dragoman.types.task import Task, TaskState
from tests.behaviour.manifest import requirement
from tests.unit.client.receiver.test_order import words

QUICK = Retry(first=0.01, most=0.05, budget=60.0)


def pushing(**options: Any) -> Agent:
    given: dict[str, Any] = {"insecure": True, "retry": QUICK, **options}
    agent = Agent("Pusher", "Does as it is told.", store="memory", push=PushOptions(**given))

    @agent.skill
    async def play(task: TaskContext) -> AsyncIterator[Any]:
        if task.text == "ask":
            answer = await task.ask("Well?")
            yield f"so {answer}"
        else:
            for number in range(int(task.text)):
                yield f"{number} "
                await task.status(f"after {number}")

    return agent


@asynccontextmanager
async def on_a_socket(agent: Agent) -> AsyncGenerator[str, None]:
    """The agent's URL, while it is served."""
    app: Any = agent.asgi()
    async with AsgiBridge(app), hosted(app, "127.0.0.1", 0, None) as origin:
        yield origin


async def narrowed(origin: str, binding: str, version: str) -> AgentCard:
    """The agent's card, which offers this binding in this version alone."""
    async with connect(origin) as client:
        card = await client.card()
    url = origin.removeprefix("http://") if binding == "GRPC" else f"{origin}/"
    interface = AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
    return msgspec.structs.replace(card, supported_interfaces=(interface,))


class Told:
    """A handler that writes down what it is told, and raises as often as it is to."""

    def __init__(self, failures: int = 0) -> None:
        self.events: list[StreamEvent] = []
        self.failures = failures
        self.ended = asyncio.Event()

    async def __call__(self, event: StreamEvent) -> None:
        if self.failures:
            self.failures -= 1
            raise ValueError("not now")
        self.events.append(event)
        if "completed" in words(event):
            self.ended.set()

    @property
    def words(self) -> list[str]:
        return [words(event) for event in self.events]


async def configs(client: Client, task_id: str) -> tuple[TaskPushNotificationConfig, ...]:
    request = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    return (await client.list_task_push_notification_configs(request)).configs


async def started(client: Client, text: str, **options: Any) -> TaskHandle:
    handle = await client.start(text, **options)
    assert isinstance(handle, TaskHandle)
    return handle


CELLS = [(binding, version) for version in ("1.0", "1.0-draft", "0.3") for binding in ("JSONRPC", "HTTP+JSON", "GRPC")]


@pytest.mark.parametrize(("binding", "version"), CELLS, ids=[f"{version} {binding}" for binding, version in CELLS])
async def test_a_task_is_pushed_from_its_creation_to_its_end(binding: str, version: str) -> None:
    told = Told()
    async with (
        on_a_socket(pushing()) as origin,
        connect(await narrowed(origin, binding, version)) as client,
        client.receiver(on_event=told) as receiver,
        receiver.serve(),
    ):
        handle = await started(client, "3", webhook=receiver)
        done = await handle.result(via=receiver, deadline=20)
        assert done.text == "0 1 2 "
        await asyncio.wait_for(told.ended.wait(), 20)
    if version == "0.3":
        assert {type(event) for event in told.events} == {Task}
        assert words(told.events[-1]) == "Task completed: 0 1 2 "
    else:
        first, *others, last = told.events
        assert isinstance(first, Task)
        assert not first.artifacts
        assert last.status.state is TaskState.COMPLETED  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]  # or it fails
        text = [event.artifact.text for event in others if isinstance(event, TaskArtifactUpdateEvent)]
        assert "".join(text) == "0 1 2 "


@pytest.mark.parametrize(("binding", "version"), CELLS, ids=[f"{version} {binding}" for binding, version in CELLS])
async def test_a_task_that_is_there_is_watched_and_unwatched(binding: str, version: str) -> None:
    async with (
        on_a_socket(pushing()) as origin,
        connect(await narrowed(origin, binding, version)) as client,
        client.receiver() as receiver,
        receiver.serve(),
    ):
        handle = await started(client, "ask")
        with pytest.raises(InputRequired):
            await handle.result(deadline=20)
        await receiver.watch(handle)
        await receiver.watch(handle)
        (config,) = await configs(client, handle.id)
        assert config.url == receiver.url
        request = GetTaskPushNotificationConfigRequest(task_id=handle.id, id=config.id)
        assert await client.get_task_push_notification_config(request) == config
        answered = await handle.reply("so")
        done = await answered.result(via=receiver, deadline=20)
        assert done.text == "so so"
        seen = [event async for event in receiver.events(handle)]
        assert "completed" in words(seen[-1])
        await receiver.unwatch(handle)
        assert await configs(client, handle.id) == ()


async def test_the_configuration_of_a_task_that_has_ended_is_deleted() -> None:
    told = Told()
    async with connect(pushing()) as client:
        async with client.receiver(on_event=told) as receiver, receiver.serve():
            handle = await started(client, "1", webhook=receiver)
            await asyncio.wait_for(told.ended.wait(), 20)
        assert await configs(client, handle.id) == ()


async def test_a_handler_that_fails_has_everything_in_order_all_the_same() -> None:
    told = Told(failures=3)
    async with (
        connect(pushing()) as client,
        client.receiver(on_event=told) as receiver,
        receiver.serve(),
    ):
        await started(client, "3", webhook=receiver)
        await asyncio.wait_for(told.ended.wait(), 20)
    text = [event.artifact.text for event in told.events if isinstance(event, TaskArtifactUpdateEvent)]
    assert "".join(text) == "0 1 2 "
    assert isinstance(told.events[0], Task)


async def test_what_is_pushed_while_the_receiver_is_down_comes_later() -> None:
    told = Told()
    async with connect(pushing()) as client:
        receiver = client.receiver(on_event=told)
        async with receiver.serve() as origin:
            port = int(origin.rpartition(":")[2])
        handle = await started(client, "2", webhook=receiver)
        assert (await handle.result(deadline=20)).text == "0 1 "
        assert told.events == []
        async with receiver.serve(port=port):
            await asyncio.wait_for(told.ended.wait(), 20)
    assert isinstance(told.events[0], Task)


async def test_a_direct_answer_is_pushed_too() -> None:
    heard = asyncio.Event()
    told: list[StreamEvent] = []

    async def on_event(event: StreamEvent) -> None:
        told.append(event)
        heard.set()

    agent = Agent("Direct", "Makes no task.", store="memory", push=PushOptions(insecure=True))

    @agent.skill
    async def say(text: str) -> Message:
        return answer(text)

    async with connect(agent) as client, client.receiver(on_event=on_event) as receiver, receiver.serve():
        said = await client.start("directly", webhook=receiver)
        assert isinstance(said, Message)
        await asyncio.wait_for(heard.wait(), 20)
    assert [words(event) for event in told] == ["directly"]


@requirement("R-T-05")
async def test_credentials_are_sent_beside_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    shown: set[str | None] = set()
    admit = Gate.admit

    def seen(gate: Gate, headers: Mapping[str, str]) -> Watch | None:
        shown.add(headers.get("authorization"))
        return admit(gate, headers)

    monkeypatch.setattr(Gate, "admit", seen)
    bearer = AuthenticationInfo(scheme="Bearer", credentials="key-1")
    async with (
        connect(pushing()) as client,
        client.receiver(on_event=told, authentication=bearer) as receiver,
        receiver.serve(),
    ):
        await started(client, "1", webhook=receiver)
        await asyncio.wait_for(told.ended.wait(), 20)
    assert shown == {"Bearer key-1"}


async def test_an_agent_that_does_not_push_is_not_sent_the_message() -> None:
    agent = Agent("Silent", "Does not push.", store="memory", push=False)

    @agent.skill
    async def play(text: str) -> str:
        return text

    async with connect(agent) as client, client.receiver("https://caller.example/hooks") as receiver:
        with pytest.raises(PushNotificationNotSupportedError):
            await client.start("hi", webhook=receiver)
        assert (await client.list_tasks()).total_size == 0


async def test_deliveries_that_are_signed_are_verified() -> None:
    secret = Secret.generate().text
    told = Told()
    async with (
        connect(pushing(signing=HmacSigner(secret))) as client,
        client.receiver(on_event=told, signature=HmacSignature(secret)) as receiver,
        receiver.serve(),
    ):
        await started(client, "1", webhook=receiver)
        await asyncio.wait_for(told.ended.wait(), 20)


async def test_keys_are_had_from_the_agent() -> None:
    ring = KeyRing.of(SigningKey.generate())
    told = Told()
    async with (
        on_a_socket(pushing(signing=JwtSigner(ring, "https://pusher.example"))) as origin,
        connect(origin) as client,
    ):
        signature = JwtSignature(f"{origin}/.well-known/jwks.json", issuer="https://pusher.example")
        async with client.receiver(on_event=told, signature=signature) as receiver, receiver.serve():
            await started(client, "1", webhook=receiver)
            await asyncio.wait_for(told.ended.wait(), 20)
    assert told.events


async def test_the_route_is_mounted_in_another_application() -> None:
    told = Told()
    outer = Starlette()
    app: Any = outer
    async with connect(pushing()) as client, AsgiBridge(app), hosted(app, "127.0.0.1", 0, None) as origin:
        receiver = client.receiver(f"{origin}/hooks/a2a", told)
        outer.mount("/hooks", receiver.app)
        await started(client, "1", webhook=receiver)
        await asyncio.wait_for(told.ended.wait(), 20)


async def test_a_client_that_closes_takes_its_receivers_along() -> None:
    agent = pushing()
    async with on_a_socket(agent) as origin, connect(origin) as lasting:
        async with connect(origin) as client:
            receiver = client.receiver(limits=ReceiverLimits())
            async with receiver.serve():
                handle = await started(client, "ask", webhook=receiver)
                assert len(await configs(lasting, handle.id)) == 1
        assert await configs(lasting, handle.id) == ()


def test_programs_without_an_event_loop_receive_too() -> None:
    told: list[str] = []
    threads: list[int] = []
    ended = threading.Event()

    def on_event(event: StreamEvent) -> None:
        threads.append(threading.get_ident())
        told.append(words(event))
        if told[-1] == "completed":
            ended.set()

    with sync.connect(pushing()) as client, client.receiver(on_event=on_event) as receiver, receiver.serve() as origin:
        assert receiver.url == f"{origin}/"
        handle = client.start("1", webhook=receiver)
        assert isinstance(handle, sync.TaskHandle)
        assert handle.result(via=receiver, deadline=20).text == "0 "
        assert ended.wait(20)
        asking = client.start("ask")
        assert isinstance(asking, sync.TaskHandle)
        receiver.watch(asking)
        receiver.unwatch(asking)
        assert [words(event) for event in receiver.events(handle)] == ["Task completed: 0 "]
    assert told[0].startswith("Task")
    assert threading.get_ident() not in threads
    assert repr(receiver).startswith("Receiver(")
