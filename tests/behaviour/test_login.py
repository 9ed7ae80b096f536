"""A client that makes itself known by the card, to agents of our own on real sockets: every scheme, every binding."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dragoman import Agent, AuthRequired, Client, PushOptions, Task, TaskContext, TaskHandle, connect, sync
from dragoman.client import CredentialsMissing, CredentialsWithheld, Need, Secret
from dragoman.errors import ConnectFailed, UnauthenticatedError
from dragoman.types import (
    AgentInterface,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from tests.behaviour.agents import echo, obedient
from tests.behaviour.callers import KEYS, schemes
from tests.behaviour.manifest import requirement
from tests.behaviour.sockets import Over, at
from tests.unit.auth.tokens import token

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
SECRETS = {
    "header": KEYS["alice"],
    "query": KEYS["alice"],
    "cookie": KEYS["alice"],
    "basic": "alice:alice's password",
    "bearer": token(),
    "own": "open sesame",
}
CHALLENGES = {"basic": "Basic", "bearer": "Bearer", "own": "Word"} | dict.fromkeys(
    ("header", "query", "cookie"), "ApiKey"
)
ELSEWHERE = (AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="1.0"),)


def nothing(_: Need) -> None:
    """Has no credentials."""


def one_after_another(*secrets: str) -> Callable[[Need], str | None]:
    """Gives each secret once."""
    left = iter(secrets)
    return lambda _: next(left, None)


async def everything(client: Client) -> None:
    """Every operation, once at least."""
    assert await client.ask("done") == "done"
    waiting = await client.start("ask")
    assert isinstance(waiting, TaskHandle)
    await waiting.refresh()
    assert [task.id for task in (await client.list_tasks()).tasks if task.id == waiting.id]
    stream = client.subscribe_to_task(SubscribeToTaskRequest(id=waiting.id))
    assert isinstance(await anext(stream), Task)
    await stream.aclose()
    hook = TaskPushNotificationConfig(task_id=waiting.id, id="c", url="http://127.0.0.1:9/")
    await client.create_task_push_notification_config(hook)
    await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=waiting.id, id="c"))
    listed = ListTaskPushNotificationConfigsRequest(task_id=waiting.id)
    assert (await client.list_task_push_notification_configs(listed)).configs
    gone = DeleteTaskPushNotificationConfigRequest(task_id=waiting.id, id="c")
    await client.delete_task_push_notification_config(gone)
    assert (await waiting.cancel()).state is TaskState.CANCELED
    assert (await client.get_extended_agent_card()).name == "Echo"


@requirement("R-3.1.11-01")
@pytest.mark.parametrize("scheme", SECRETS)
async def test_every_operation_carries_what_the_card_asks_for(over: Over, scheme: str) -> None:
    hooks = PushOptions(allow=["http://127.0.0.1:9"])
    extended = msgspec.structs.replace(echo().card, supported_interfaces=ELSEWHERE)
    agent = obedient(auth=schemes()[scheme], extended_card=extended, push=hooks)
    client = await over(agent, auth=SECRETS[scheme])
    if scheme == "query" and over.binding == "GRPC":
        with pytest.raises(CredentialsMissing, match="belongs in the query, which gRPC does not have"):
            await client.ask("done")
    else:
        await everything(client)


@pytest.mark.parametrize("scheme", SECRETS)
async def test_without_credentials_nothing_is_sent_and_the_agent_says_by_what_it_knows_callers(
    over: Over, scheme: str
) -> None:
    client = await over(echo(auth=schemes()[scheme]))
    with pytest.raises(UnauthenticatedError) as raised:
        await client.ask("hello")
    assert [told.split()[0] for told in raised.value.challenges] == [CHALLENGES[scheme]]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_alternatives_are_met_in_the_cards_order_and_each_as_a_whole(over: Over, version: str) -> None:
    both = schemes()["basic"] & schemes()["header"]
    agent = echo(auth=schemes()["bearer"] | both)
    bearer, pair = {"bearer": token()}, {"basic": SECRETS["basic"], "apiKey": KEYS["alice"]}
    enough: list[Any] = [bearer, pair, {**bearer, **pair}, [{"bearer": nothing}, pair]]
    for auth in enough:
        client = await over(agent, auth=auth, versions=[version])
        assert await client.ask("hello") == "hello"
    too_little: list[Any] = [{"basic": SECRETS["basic"]}, {"nothing": "x"}, {"bearer": nothing}]
    for lacking in too_little:
        with pytest.raises(CredentialsMissing, match="bearer, or basic and apiKey"):
            await (await over(agent, auth=lacking, versions=[version])).ask("hello")


async def test_one_token_serves_until_it_ends(over: Over) -> None:
    asked: list[Need] = []
    ends = iter([-1.0, 1000.0])

    async def tokens(need: Need) -> Secret:
        asked.append(need)
        return Secret(token(), expires_at=time.time() + next(ends))

    client = await over(echo(auth=schemes()["bearer"]), auth=tokens)
    assert [await client.ask(word) for word in ("one", "two", "three")] == ["one", "two", "three"]
    assert [(need.name, need.scopes) for need in asked] == [("bearer", ("call",))] * 2


@pytest.mark.parametrize("streaming", [True, False])
async def test_what_is_refused_is_asked_for_once_more(over: Over, streaming: bool) -> None:
    agent = echo(auth=schemes()["bearer"])
    client = await over(agent, auth=one_after_another("made-up", token()))
    if streaming:
        assert [event async for event in client.stream("hello")]
    else:
        assert isinstance(await client.start("hello"), TaskHandle)
    other = await over(agent, auth=one_after_another("made-up", "made-up too", token()))
    with pytest.raises(UnauthenticatedError):
        await other.ask("hello")


async def test_what_was_refused_gives_way_to_the_next_alternative(over: Over) -> None:
    agent = echo(auth=schemes()["bearer"] | schemes()["header"])
    client = await over(agent, auth={"bearer": "made-up", "apiKey": KEYS["alice"]})
    assert await client.ask("hello") == "hello"


async def test_an_agent_whose_card_says_nothing_gets_what_is_there_when_it_asks(over: Over) -> None:
    class Silent:
        """Declares schemes, and requires none of them in the card."""

        def __init__(self) -> None:
            self.inner = schemes()["header"]
            self.schemes = self.inner.schemes
            self.requirements = ()

        async def authenticate(self, credentials: Any) -> Any:
            return await self.inner.authenticate(credentials)

    agent: Any = echo(auth=Silent())
    assert await (await over(agent, auth=KEYS["alice"])).ask("hello") == "hello"
    with pytest.raises(UnauthenticatedError):
        await (await over(agent, auth={"another": KEYS["alice"]})).ask("hello")


@pytest.mark.parametrize("answer", ["reply", "elsewhere", "nothing"])
async def test_a_task_that_waits_for_an_authorization_goes_on_with_what_the_caller_says(
    over: Over, answer: str
) -> None:
    agent = Agent("Clerk", "Asks for a permission.", store="memory")
    asked: list[str] = []

    @agent.skill(tags=["demo"])
    async def pay(task: TaskContext) -> str:
        """Pay."""
        told = await task.require_auth("sign here")
        return f"paid by {told.text}"

    async def sign(task: Task, message: Any) -> str | bool | None:
        asked.append(message.text)
        if answer == "elsewhere":
            async with connect(agent) as local:
                await (await local.task(task.id)).reply("another way")
        answers: dict[str, str | bool] = {"reply": "alice", "elsewhere": True}
        return answers.get(answer)

    client = await over(agent, on_auth_required=sign)
    if answer == "nothing":
        with pytest.raises(AuthRequired):
            await client.ask("pay")
    else:
        assert await client.ask("pay") == ("paid by alice" if answer == "reply" else "paid by another way")
        handle = await client.start("pay")
        assert isinstance(handle, TaskHandle)
        assert "paid by" in (await handle.result()).text
    assert set(asked) == {"sign here"}


async def test_what_the_card_asks_for_takes_the_place_of_headers_of_the_same_name(over: Over) -> None:
    headers = {"Authorization": "Bearer made-up", "Cookie": "a=b"}
    client = await over(echo(auth=schemes()["bearer"]), headers=headers, auth=token())
    assert await client.ask("hello") == "hello"
    client = await over(echo(auth=schemes()["cookie"]), headers=headers, auth=KEYS["alice"])
    assert await client.ask("hello") == "hello"


async def test_a_binding_that_has_no_place_for_the_key_is_passed_over() -> None:
    async with at(echo(auth=schemes()["query"])) as url:
        async with connect(url, auth=KEYS["alice"], bindings=["GRPC", "HTTP+JSON"]) as client:
            assert await client.ask("hello") == "hello"
        async with connect(url, bindings=["GRPC", "HTTP+JSON"], auth=[]) as client:
            with pytest.raises(CredentialsMissing):
                await client.ask("hello")


@requirement("R-13.4-09")
async def test_no_credential_leaves_this_machine_without_tls(over: Over) -> None:
    url = {"GRPC": "grpc://agent.invalid:80"}.get(over.binding, "http://agent.invalid/")
    plain = AgentInterface(url=url, protocol_binding=over.binding, protocol_version="1.0")
    described = schemes()["header"]
    card = msgspec.structs.replace(
        echo().card,
        supported_interfaces=(plain,),
        security_schemes=dict(described.schemes),
        security_requirements=described.requirements,
    )
    async with connect(card, auth=KEYS["alice"]) as client:
        with pytest.raises(CredentialsWithheld, match="without TLS"):
            await client.ask("hello")
    async with connect(card, auth=KEYS["alice"], credential_origins=["http://agent.invalid"]) as client:
        with pytest.raises(ConnectFailed):
            await client.ask("hello")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_programs_without_an_event_loop_log_in_too(binding: str) -> None:
    def asked(_: Need) -> str:
        return KEYS["alice"]

    def signed(_: Task, message: Any) -> str:
        return f"{message.text}!"

    def call(url: str) -> str:
        with sync.connect(url, bindings=[binding], auth=asked, on_auth_required=signed) as client:
            return client.ask("auth")

    async with at(obedient(auth=schemes()["header"])) as url:
        assert await asyncio.to_thread(call, url) == "allowed Please sign in at https://login.example!"
