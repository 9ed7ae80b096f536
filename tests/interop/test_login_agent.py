"""A client that logs in by an agent's card, all the way: a provider by others, an agent of ours, real sockets."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import Agent, TaskContext, connect, sync
from dragoman.auth import ClientCredentialsOAuthFlow, OAuth2, OpenIdConnect
from dragoman.client import KeptLogins, LoginRequired, OAuth, TokenCache
from dragoman.client.receiver.hosting import hosted
from dragoman.errors import UnauthenticatedError
from tests.behaviour.rpc import Bridge
from tests.idp.process import AUDIENCE, IdentityProvider, secret_of
from tests.interop.logging_in import User

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")


def who(auth: Any) -> Agent:
    """Says who calls it."""
    agent = Agent("Who", auth=auth, store="memory")

    @agent.skill
    async def tell(task: TaskContext) -> str:
        return task.caller.rpartition(" ")[2]

    return agent


@asynccontextmanager
async def at(agent: Agent) -> AsyncGenerator[str, None]:
    application: Any = agent.asgi(http2=True)
    async with Bridge(application), hosted(application, "127.0.0.1", 0, None) as url:
        yield url


@pytest.fixture
async def by_openid(idp: IdentityProvider) -> AsyncIterator[str]:
    """An agent that asks for OpenID Connect."""
    async with at(who(OpenIdConnect(idp.issuer, audience=AUDIENCE, scopes=["chat"]))) as url:
        yield url


@pytest.fixture
async def by_oauth(idp: IdentityProvider) -> AsyncIterator[str]:
    """An agent that asks for client credentials."""
    flow = ClientCredentialsOAuthFlow(token_url=idp.token_url, scopes={"chat": "Chat"})
    scheme = OAuth2(flow, issuer=idp.issuer, audience=AUDIENCE, jwks_url=idp.jwks_url, scopes=["chat"])
    async with at(who(scheme)) as url:
        yield url


def service(**options: Any) -> OAuth:
    return OAuth("service", client_secret=secret_of("service"), resource=AUDIENCE, **options)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_service_is_known_by_the_token_that_it_gets_for_the_card(
    idp: IdentityProvider, by_oauth: str, binding: str
) -> None:
    before = idp.calls(idp.token_url)
    async with connect(by_oauth, auth=service(), bindings=[binding]) as client:
        assert [await client.ask("who?") for _ in range(3)] == ["service"] * 3
    assert idp.calls(idp.token_url) == before + 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_token_that_the_agent_refuses_is_renewed_once(
    idp: IdentityProvider, by_oauth: str, binding: str
) -> None:
    before = idp.calls(idp.token_url)
    with idp.clock(-3600):
        login = service()
        async with connect(by_oauth, auth=login, bindings=[binding]) as client:
            with pytest.raises(UnauthenticatedError):
                await client.ask("who?")
    assert idp.calls(idp.token_url) == before + 2
    # The login has an old one still, which looks new to it.
    async with connect(by_oauth, auth=login, bindings=[binding]) as client:
        assert await client.ask("who?") == "service"
    assert idp.calls(idp.token_url) == before + 3


async def test_a_user_logs_in_once_for_all_programs(idp: IdentityProvider, by_openid: str, tmp_path: Path) -> None:
    cache = TokenCache(tmp_path / "tokens")
    user = User(idp)
    asking = OAuth("app", resource=AUDIENCE, interactive=True, show=user, patience=60.0, cache=cache)
    async with connect(by_openid, auth=asking) as client:
        assert await client.ask("who?") == "alice"
    async with connect(by_openid, auth=KeptLogins(cache)) as client:
        assert await client.ask("who?") == "alice"
    # An agent that refuses what is kept, though it looks new, has it renewed by what was kept with it.
    [kept] = cache.every()
    cache.write(msgspec.structs.replace(kept, token=msgspec.structs.replace(kept.token, access="not-any-more")))
    async with connect(by_openid, auth=OAuth("app", resource=AUDIENCE, cache=cache)) as client:
        assert await client.ask("who?") == "alice"
    assert len(user.visits) == 1


async def test_a_program_that_may_not_ask_says_how_to_log_in(by_openid: str, tmp_path: Path) -> None:
    async with connect(by_openid, auth=OAuth("app", cache=TokenCache(tmp_path / "tokens"))) as client:
        with pytest.raises(LoginRequired) as caught:
            await client.ask("who?")
    assert caught.value.command() == f"dragoman auth login {by_openid} --client-id app"


async def test_programs_without_an_event_loop_log_in_too(by_oauth: str) -> None:
    def ask() -> str:
        with sync.connect(by_oauth, auth=service()) as client:
            return client.ask("who?")

    assert await asyncio.to_thread(ask) == "service"
