"""Kept logins, where several agents are at one origin, and where what renews them is not there."""

import asyncio
from typing import Any

import msgspec
import pytest

from dragoman.client.login.need import Need
from dragoman.client.login.oauth import KeptLogins, LoginFailed, OAuth, TokenCache
from dragoman.client.login.oauth.callback import waiting_for_callback
from dragoman.types.card import ClientCredentialsOAuthFlow
from tests.unit.client.login.oauth.scripted import TOKEN, Scripted, need_of

HERE = "https://agents.example"


def service(provider: Scripted, agent: str) -> Need:
    need = need_of(ClientCredentialsOAuthFlow(token_url=f"{provider.base}/token", scopes={}), origin=HERE)
    return msgspec.structs.replace(need, agent=agent)


async def logged_in(provider: Scripted, cache: TokenCache, agent: str, token: str, **options: Any) -> None:
    provider.says("/token", (200, {**TOKEN, "access_token": token}))
    login = OAuth("app", client_secret="s", cache=cache, secret_variable="APP", issuer="", **options)
    await login.login(service(provider, agent))


async def given(cache: TokenCache, provider: Scripted, agent: str) -> str:
    secret = await KeptLogins(cache, variables={"APP": "s"}).credentials(service(provider, agent))
    assert secret is not None
    return secret.value


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider is on this machine, and the agents are not."""

    def everywhere(_: str) -> bool:
        return True

    monkeypatch.setattr("dragoman.client.login.oauth.login._is_here", everywhere)


@pytest.mark.usefixtures("here")
async def test_each_of_several_agents_at_one_origin_has_its_own_login(provider: Scripted, cache: TokenCache) -> None:
    for name in ("red", "blue", "red/dark"):
        await logged_in(provider, cache, f"{HERE}/{name}", f"of-{name}")
    assert len(cache.every()) == 3
    for name in ("red", "blue", "red/dark"):
        assert await given(cache, provider, f"{HERE}/{name}") == f"of-{name}"
        # The card in a file says where it is called, which is below.
        assert await given(cache, provider, f"{HERE}/{name}/rpc") == f"of-{name}"


@pytest.mark.usefixtures("here")
async def test_the_login_to_one_agent_serves_the_others_at_its_origin_that_have_none(
    provider: Scripted, cache: TokenCache
) -> None:
    await logged_in(provider, cache, f"{HERE}/red", "of-red", resource="https://audience.example")
    assert await given(cache, provider, f"{HERE}/green") == "of-red"


@pytest.mark.usefixtures("here")
async def test_a_secret_that_is_not_in_its_variable_is_named_by_that(provider: Scripted, cache: TokenCache) -> None:
    await logged_in(provider, cache, HERE, "first")
    logins = KeptLogins(cache, variables={})
    [kept] = logins.kept
    with pytest.raises(LoginFailed, match="and APP does not have it"):
        await logins.credentials(service(provider, HERE), refused=kept.token.secret())
    assert len(provider.asked("/token")) == 1


async def test_a_port_that_is_taken_is_told() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(LoginFailed, match=f"Port {port} of .* is not free"):
        async with waiting_for_callback("s", port):
            pass
    server.close()
