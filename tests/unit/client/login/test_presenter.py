"""Which of a card's alternatives is met, seen by an agent that keeps what it is asked."""

import asyncio
import json
from typing import Any, Literal

import pytest

from dragoman import connect
from dragoman.client import CredentialsMissing, LoginError, Need, Secret
from dragoman.client.network import Guard
from dragoman.errors import TimedOut, UnauthenticatedError
from dragoman.outbound import Policy
from dragoman.types import GetTaskRequest
from tests.unit.client.scripted import Exchange, Script, error, events, message, plain, result, status, task

GET = GetTaskRequest(id="t-1")
DONE = result(task("COMPLETED", "done"))
SCHEMES: dict[str, Any] = {
    "token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
    "mtls": {"mtlsSecurityScheme": {}},
}


def asking(agent: Script, *requirements: dict[str, list[str]], **changes: Any) -> None:
    shown = [{"schemes": {name: {"list": scopes} for name, scopes in each.items()}} for each in requirements]
    agent.offer(securitySchemes=SCHEMES, securityRequirements=shown, **changes)
    agent.answers["GetTask"] = [DONE]


async def sent(agent: Script, **options: Any) -> tuple[str | None, str | None]:
    """What the last call carried: the token and the key."""
    async with connect(agent.url, **options) as client:
        await client.get_task(GET)
    headers = agent.seen[-1].headers
    return headers.get("authorization"), headers.get("x-key")


async def test_who_has_credentials_is_known_also_where_nobody_need_be(agent: Script) -> None:
    asking(agent, {}, {"token": []})
    assert await sent(agent, auth={"token": "t"}) == ("Bearer t", None)
    assert await sent(agent, auth={"key": "k"}) == (None, None)
    assert await sent(agent) == (None, None)


async def test_what_the_card_does_not_ask_for_is_not_sent(agent: Script) -> None:
    asking(agent)
    assert await sent(agent, auth={"token": "t", "key": "k"}) == (None, None)
    asking(agent, {"key": []})
    assert await sent(agent, auth={"token": "t", "key": "k"}) == (None, "k")


async def test_an_alternative_that_nobody_can_meet_is_passed_over(agent: Script) -> None:
    asking(agent, {"unheard of": []}, {"mtls": []}, {"token": [], "mtls": []}, {"key": []})
    assert await sent(agent, auth={"token": "t", "key": "k", "unheard of": "x", "mtls": "y"}) == (None, "k")
    asking(agent, {"unheard of": []}, {"mtls": []})
    with pytest.raises(CredentialsMissing, match="unheard of, or mtls") as raised:
        await sent(agent, auth={"unheard of": "x"})
    assert raised.value.schemes == ("unheard of", "mtls")
    assert agent.names()[-1:] == ["GetTask"]


async def test_one_secret_is_not_sent_to_two_places(agent: Script) -> None:
    asking(agent, {"token": [], "key": []}, {"key": []})
    assert await sent(agent, auth="s") == (None, "s")
    asking(agent, {"token": [], "key": []})
    with pytest.raises(CredentialsMissing, match="token and key"):
        await sent(agent, auth="s")


async def test_what_skills_ask_for_is_sent_when_the_agent_wants_it(agent: Script) -> None:
    skill: dict[str, Any] = {
        "id": "s",
        "name": "s",
        "description": "",
        "tags": [],
        "securityRequirements": [{"schemes": {"key": {}}}],
    }
    asking(agent, skills=[skill])

    async def picky(exchange: Exchange) -> None:
        known = exchange.seen.headers.get("x-key") == "k"
        await (DONE if known else plain(b"", 401))(exchange)

    async def short_lived(_: Need) -> Secret:
        return Secret("k", expires_at=0.0)

    agent.answers["GetTask"] = [picky]
    async with connect(agent.url, auth={"token": "t", "key": short_lived}) as client:
        for _ in range(3):
            await client.get_task(GET)
    assert [seen.headers.get("x-key") for seen in agent.asked("GetTask")] == [None, "k", "k", "k"]
    assert all("authorization" not in seen.headers for seen in agent.seen)


async def test_a_refusal_in_the_words_of_the_binding_counts_as_one(agent: Script) -> None:
    asking(agent, {"token": ["read"]})
    agent.answers["GetTask"] = [error(-32000, "UNAUTHENTICATED"), DONE]
    secrets = iter(["old", "new"])
    needs: list[Need] = []

    async def issued(need: Need) -> Secret:
        needs.append(need)
        return Secret(next(secrets))

    assert await sent(agent, auth=issued) == ("Bearer new", None)
    assert [need.scopes for need in needs] == [("read",), ("read",)]
    assert (needs[0].origin, needs[0].agent) == (agent.url, agent.url)
    assert needs[0].card == f"{agent.url}/.well-known/agent-card.json"


@pytest.mark.parametrize(
    ("challenge", "asked"),
    [
        ("ApiKey", ["key"]),
        ("Bearer", ["token"]),
        ("", ["token", "key"]),
        ('ApiKey in="header", name="X-Key", Bearer error="invalid_token"', ["token"]),
        ('ApiKey in="header", name="X-Key", Bearer scope="read"', ["token", "key"]),
    ],
)
async def test_only_what_was_refused_is_asked_for_again(agent: Script, challenge: str, asked: list[str]) -> None:
    asking(agent, {"token": [], "key": []})
    agent.answers["GetTask"] = [plain(b"", 401, www_authenticate=challenge), DONE]
    names: list[str] = []

    async def numbered(need: Need) -> str:
        names.append(need.name)
        return f"{len(names)}"

    await sent(agent, auth=numbered)
    assert names == ["token", "key", *asked]


async def test_calls_that_are_refused_together_are_made_good_by_one_login(agent: Script) -> None:
    asking(agent, {"token": []})
    barrier = asyncio.Barrier(10)

    async def picky(exchange: Exchange) -> None:
        if exchange.seen.headers["authorization"] == "Bearer old":
            await barrier.wait()
            await plain(b"", 401)(exchange)
        else:
            await DONE(exchange)

    agent.answers["GetTask"] = [picky]
    given = iter(["old", "new", "too new"])

    async def issued(_: Need) -> str:
        return next(given)

    async with connect(agent.url, auth=issued) as client:
        await asyncio.gather(*(client.get_task(GET) for _ in range(10)))
    assert next(given) == "too new"
    assert len(agent.asked("GetTask")) == 20


async def test_a_login_that_takes_the_user_ends_the_call_before_anything_is_sent(agent: Script) -> None:
    asking(agent, {"token": []})

    async def refuses(_: Need) -> str:
        raise LoginError("log in first")

    with pytest.raises(LoginError, match="log in first"):
        await sent(agent, auth=refuses)
    assert agent.names() == []


async def test_an_issuer_that_is_away_for_a_while_does_not_end_the_wait_for_a_task(agent: Script) -> None:
    asking(agent, {"token": []})
    agent.answers["SendStreamingMessage"] = [events({"task": task("WORKING")}, then="cut")]
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING")}, status("COMPLETED", "done"))]
    agent.answers["GetTask"] = [result(task("COMPLETED", said="done"))]
    moments = iter([Secret("one", expires_at=0.0), None, None, Secret("two")])

    async def issued(_: Need) -> Secret:
        secret = next(moments)
        if secret is None:
            raise TimedOut("the issuer says nothing")
        return secret

    async with connect(agent.url, auth=issued, poll_interval=0.01) as client:
        assert await client.ask("go") == "done"
    assert agent.seen[-1].headers["authorization"] == "Bearer two"


async def test_a_stream_that_has_begun_is_not_begun_again(agent: Script) -> None:
    asking(agent, {"token": []})

    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "UNAUTHENTICATED"}
    said = {"result": {"task": task("WORKING")}}, {"error": {"code": -32000, "message": "no", "data": [info]}}

    async def then_refused(exchange: Exchange) -> None:
        await exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for event in said:
            await exchange.chunk(f"data: {json.dumps(event)}\n\n".encode())
        exchange.keep = False

    agent.answers["SendStreamingMessage"] = [then_refused, events({"message": message("again")})]
    secrets = iter(["one", "two"])

    async def issued(_: Need) -> str:
        return next(secrets)

    async with connect(agent.url, auth=issued) as client:
        stream = client.stream("go")
        await anext(stream)
        with pytest.raises(UnauthenticatedError):
            await anext(stream)
    assert agent.names() == ["SendStreamingMessage"]


@pytest.mark.parametrize("network", ["any", "public"])
async def test_who_gives_a_secret_knows_whether_the_public_may_be_called_alone(
    agent: Script, network: Literal["any", "public"], monkeypatch: pytest.MonkeyPatch
) -> None:
    def everywhere(_: str) -> Guard:
        return Guard(Policy(insecure=True))

    monkeypatch.setattr("dragoman.client.connecting.guard_of", everywhere)
    asking(agent, {"token": []})
    needs: list[Need] = []

    def told(need: Need) -> str:
        needs.append(need)
        return "t"

    await sent(agent, auth=told, network=network)
    assert [need.public for need in needs] == [network == "public"]
