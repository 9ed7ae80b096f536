"""`dragoman auth`: tokens are got as the card says, kept for their owner alone, and go where they are for."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.program import Program, Ran
from tests.cli.scripted import Json, Refused, ScriptedAgent
from tests.cli.serving import serving
from tests.idp.browser import Browser
from tests.idp.process import IdentityProvider
from tests.unit.client.login.oauth.scripted import TOKEN, Scripted, providing

SECRET = "client-secret-81c2"
ACCESS = str(TOKEN["access_token"])
HERE = {"A2ACLI_CLIENT_ID": "app"}
SERVICE = {"A2ACLI_CLIENT_ID": "service", "A2ACLI_CLIENT_SECRET": SECRET}


@pytest.fixture
async def provider() -> AsyncIterator[Scripted]:
    async with providing() as scripted:
        scripted.says("/token", (200, TOKEN))
        yield scripted


def asks(agent: ScriptedAgent, flow: str, **urls: str) -> None:
    """The card asks for OAuth 2 by this flow."""
    scheme = {"oauth2SecurityScheme": {"flows": {flow: {"scopes": {"chat": "Chat"}, **urls}}}}
    demand(agent, oauth=scheme)


def demand(agent: ScriptedAgent, **schemes: Json) -> None:
    agent.card_extra = {
        "securitySchemes": schemes,
        "securityRequirements": [{"schemes": {name: {"list": ["chat"]}}} for name in schemes],
    }


def bearers(agent: ScriptedAgent) -> set[str | None]:
    """What calls brought."""
    return {request.headers.get("authorization") for request in agent.calls()}


def files(program: Program) -> list[Any]:
    return sorted((program.home / ".local/state/dragoman/tokens").glob("*"))


async def logged_in(program: Program, *args: str, env: dict[str, str] | None = None) -> Ran:
    ran = await program.run("auth", "login", *args, env=env or SERVICE)
    assert ran.code == 0, ran.err
    return ran


@pytest.mark.row("A2ACLI_AUTH_006")
async def test_a_service_logs_in_and_the_next_command_carries_its_token(
    bound: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    asks(bound, "clientCredentials", tokenUrl=f"{provider.base}/token")
    ran = await logged_in(program)
    assert ran.fields["Scopes"] == ["chat"]
    assert ran.fields["Client ID"] == ["service"]
    [form] = provider.asked("/token")
    assert form == {"grant_type": "client_credentials", "scope": "chat", "resource": bound.base}
    sent = await program.run("send", "hi", "--debug")
    assert sent.code == 0, sent.err
    assert bearers(bound) == {f"Bearer {ACCESS}"}
    assert not [
        request for request in bound.requests if request.operation == "card" and "authorization" in request.headers
    ]
    assert ACCESS not in sent.out + sent.err + ran.out + ran.err
    assert SECRET not in sent.out + sent.err + ran.out + ran.err


@pytest.mark.row("A2ACLI_AUTH_007")
async def test_tokens_are_kept_for_their_owner_alone_and_go_to_their_agent_alone(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    before = os.umask(0)
    try:
        ran = await program.run_afresh("auth", "login", env=SERVICE)
    finally:
        os.umask(before)
    assert ran.code == 0, ran.err
    [kept] = [path for path in files(program) if path.suffix == ".json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(program)} == {0o600}
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert SECRET not in kept.read_text()
    async with serving() as other:
        other.card_extra = agent.card_extra
        refused = await program.run("send", "hi", "-a", other.base, "-o", "json")
        assert refused.code == 4
        assert refused.error["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
        assert f"dragoman auth login {other.base}" in refused.error["hint"]
        assert other.calls() == []
        # The card of the agent, changed so that it leads elsewhere, leads no token there.
        agent.url = other.url  # type: ignore[method-assign]  # the card leads there
        led = await program.run("send", "hi")
        assert led.code == 4
        assert other.calls() == []
        assert ACCESS not in str(other.requests)
    shown = await program.run("auth", "status")
    assert ACCESS not in shown.out + shown.err
    assert shown.fields["File"] == [str(kept)]


@pytest.mark.row("A2ACLI_AUTH_007")
async def test_a_file_that_others_can_read_is_not_used(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    await logged_in(program)
    for path in files(program):
        path.chmod(0o644)
    ran = await program.run("send", "hi")
    assert ran.code == 4
    assert "can be opened by others" in ran.err
    files(program)[0].parent.chmod(0o755)
    assert (await program.run("send", "hi")).code == 4
    assert agent.calls() == []


@pytest.mark.row("A2ACLI_AUTH_005")
async def test_a_device_is_let_in(agent: ScriptedAgent, program: Program, provider: Scripted) -> None:
    asks(agent, "deviceCode", deviceAuthorizationUrl=f"{provider.base}/device", tokenUrl=f"{provider.base}/token")
    page = {"device_code": "d-1", "user_code": "WDJB-MJHT", "verification_uri": "https://idp.example/d"}
    provider.says("/device", (200, page | {"expires_in": 600, "interval": 1}))
    provider.says("/token", (400, {"error": "authorization_pending"}), (400, {"error": "slow_down"}), (200, TOKEN))
    ran = await logged_in(program, "--no-browser", "-o", "json", env=HERE)
    assert "https://idp.example/d" in ran.err
    assert "WDJB-MJHT" in ran.err
    assert "d-1" not in ran.err
    assert ran.seconds > 1 + 1 + 6
    assert ran.json["logins"][0]["grant"] == "device_code"
    assert (await program.run("send", "hi")).code == 0
    assert bearers(agent) == {f"Bearer {ACCESS}"}


async def by_browser(idp: IdentityProvider, program: Program, *args: str, client: str = "app") -> Ran:
    """Somebody logs in with the page that the program names."""
    words = ["auth", "login", "--client-id", client, "--no-browser", *args]
    async with program.started(*words) as running:
        said = await running.complaint()
        url = said.rpartition(" ")[2]
        assert parse_qs(urlsplit(url).query)["code_challenge_method"] == ["S256"]
        await asyncio.to_thread(Browser().visit, f"{url}&login_hint=alice")
        return await running.ended()


@pytest.mark.row("A2ACLI_AUTH_010")
async def test_a_user_logs_in_is_shown_and_logs_out(
    agent: ScriptedAgent, program: Program, idp: IdentityProvider
) -> None:
    demand(agent, openid={"openIdConnectSecurityScheme": {"openIdConnectUrl": idp.discovery_url}})
    ran = await by_browser(idp, program, "-o", "json")
    assert ran.code == 0, ran.err
    assert (await program.run("send", "hi")).code == 0
    [bearer] = bearers(agent)
    assert bearer is not None
    shown = await program.run("auth", "status", agent.base, "--json")
    [login] = shown.json["logins"]
    assert login == ran.json["logins"][0]
    assert (login["subject"], login["issuer"], login["renewable"]) == ("alice", idp.issuer, True)
    assert "chat" in login["scopes"]
    token = bearer.removeprefix("Bearer ")
    assert token not in shown.out + ran.out + ran.err
    assert (await program.run("auth", "status", "https://other.example", "--json")).json == {"logins": []}
    ended = await program.run("auth", "logout", agent.base)
    assert ended.code == 0
    assert ended.fields["Deleted"] == ["yes"]
    assert "Warning" not in ended.err
    assert files(program) == []
    again = await program.run("send", "hi", "-o", "json")
    assert again.code == 4
    assert again.error["hint"] == f"Log in: dragoman auth login {agent.base}"
    assert (await program.run("auth", "logout", agent.base)).code == 0


async def test_a_login_is_renewed_without_further_ado(
    agent: ScriptedAgent, program: Program, idp: IdentityProvider
) -> None:
    demand(agent, openid={"openIdConnectSecurityScheme": {"openIdConnectUrl": idp.discovery_url}})
    assert (await by_browser(idp, program)).code == 0
    assert (await program.run("send", "hi")).code == 0
    [first] = bearers(agent)
    agent.requests.clear()
    agent.refuse["SendMessage"] = agent.refuse["SendStreamingMessage"] = Refused("", "expired", status=401)
    # Refused twice, with another token: then it is told.
    ran = await program.run("send", "hi", "-o", "json")
    assert ran.code == 4
    assert ran.error["code"] == "A2ACLI_ERR_AUTH_FAILED"
    assert len(bearers(agent)) == 2
    assert first in bearers(agent)
    agent.refuse.clear()
    agent.requests.clear()
    assert (await program.run("send", "hi")).code == 0
    assert first not in bearers(agent)


async def test_a_login_that_the_provider_has_ended_is_told_of(
    agent: ScriptedAgent, program: Program, idp: IdentityProvider
) -> None:
    flow = {"authorizationUrl": idp.authorization_url, "tokenUrl": idp.token_url}
    asks(agent, "authorizationCode", **flow)
    assert (await by_browser(idp, program, client="app-brief")).code == 0
    with idp.failing(idp.token_url, 503):
        agent.refuse["SendMessage"] = agent.refuse["SendStreamingMessage"] = Refused("", "expired", status=401)
        away = await program.run("send", "hi", "-o", "json")
        assert away.code == 3
    with idp.clock(10**9):
        ran = await program.run("send", "hi", "-o", "json")
    assert ran.code == 4
    assert ran.error["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert ran.error["hint"] == f"Log in: dragoman auth login {agent.base} --client-id app-brief"
    assert files(program) == []


async def test_nobody_logs_in_to_where_the_card_leads_away(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    async with serving() as other:
        agent.url = other.url  # type: ignore[method-assign]  # the card leads there
        ran = await program.run("auth", "login", env=SERVICE)
        assert ran.code == 4
        assert "--credential-origin" in ran.err
        assert provider.forms == []
        await logged_in(program, "--credential-origin", other.base)
        assert provider.asked("/token")[0]["resource"] == f"{other.base}/rpc"


async def test_the_card_of_another_leads_no_login_to_its_agent_unless_the_user_says_so(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    """Else whoever has a card could choose what is called there in the name of the user."""
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    await logged_in(program)
    async with serving() as other:
        other.card_extra = agent.card_extra
        other.url = agent.url  # type: ignore[method-assign]  # the card leads there
        ran = await program.run("send", "hi", "-a", other.base)
        assert ran.code == 4
        assert "--credential-origin" in ran.err
        assert agent.calls() == []
        ran = await program.run("send", "hi", "-a", other.base, "--credential-origin", agent.base)
        assert ran.code == 0, ran.err
    assert bearers(agent) == {f"Bearer {ACCESS}"}


async def test_only_public_providers_are_asked_where_that_is_wished(program: Program, provider: Scripted) -> None:
    async with serving() as other:
        asks(other, "clientCredentials", tokenUrl=f"{provider.base}/token")
        card = program.cwd / "card.json"
        card.write_text(json.dumps(other.card()))
        ran = await program.run("auth", "login", "-a", str(card), "--network", "public", env=SERVICE)
        assert ran.code == 4
        assert "may not be called" in ran.err
        assert provider.forms == []


async def test_a_bearer_token_that_is_given_goes_before(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    await logged_in(program)
    assert (await program.run("send", "hi", env={"A2ACLI_BEARER": "given-by-hand"})).code == 0
    assert bearers(agent) == {"Bearer given-by-hand"}


async def test_what_the_provider_refuses_is_told(agent: ScriptedAgent, program: Program, provider: Scripted) -> None:
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    provider.says("/token", (401, {"error": "invalid_client", "error_description": f"{SECRET} is wrong"}))
    refused = await program.run("auth", "login", "-o", "json", env=SERVICE)
    assert refused.code == 4
    assert refused.error["code"] == "A2ACLI_ERR_AUTH_FAILED"
    assert refused.error["message"] == "The provider refuses: invalid_client ([redacted] is wrong)"
    provider.says("/token", (400, {"error": "invalid_target"}))
    assert "--resource" in (await program.run("auth", "login", env=SERVICE)).err
    provider.says("/token", (503, {}))
    away = await program.run("auth", "login", "-o", "json", env=SERVICE)
    assert (away.code, away.error["code"]) == (3, "A2ACLI_ERR_UNREACHABLE")
    assert [path for path in files(program) if path.suffix == ".json"] == []


@pytest.mark.row("A2ACLI_AUTH_010")
async def test_metadata_of_another_issuer_is_refused(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    place = "/.well-known/openid-configuration"
    provider.says(place, (200, provider.metadata(issuer="https://evil.example")))
    demand(agent, openid={"openIdConnectSecurityScheme": {"openIdConnectUrl": provider.base + place}})
    ran = await program.run("auth", "login", "--flow", "client-credentials", env=SERVICE)
    assert ran.code == 4
    assert "another issuer" in ran.err
    assert provider.asked("/token") == []


async def test_nobody_is_waited_for_longer_than_the_time_out(
    agent: ScriptedAgent, program: Program, provider: Scripted
) -> None:
    flow = {"authorizationUrl": f"{provider.base}/auth", "tokenUrl": f"{provider.base}/token"}
    asks(agent, "authorizationCode", **flow)
    ran = await program.run("auth", "login", "--no-browser", "--timeout", "500ms", env=HERE)
    assert ran.code == 5
    assert "nothing final within 0.5 s\n" in ran.err


async def test_logins_that_cannot_be_are_refused(agent: ScriptedAgent, program: Program, provider: Scripted) -> None:
    asks(agent, "clientCredentials", tokenUrl=f"{provider.base}/token")
    runs = [
        await program.run("auth", "login"),
        await program.run("auth", "login", "--scheme", "other", env=HERE),
        await program.run("auth", "login", "--device", "--flow", "client-credentials", env=HERE),
        await program.run("auth", "login", "https://a.example", "-a", "https://b.example", env=HERE),
        await program.run("auth", "logout", env={"A2ACLI_AGENT_CARD": ""}),
    ]
    assert [ran.code for ran in runs] == [2] * 5
    assert "--client-id" in runs[0].err
    assert "oauth" in runs[1].err
    demand(agent, key={"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}})
    nothing = await program.run("auth", "login", env=HERE)
    assert nothing.code == 4
    assert "nothing to log in to" in nothing.err
    assert provider.forms == []


async def test_without_any_login_there_is_nothing_to_show_or_end(agent: ScriptedAgent, program: Program) -> None:
    shown = await program.run("auth", "status")
    assert (shown.code, shown.out) == (0, "")
    assert "nobody is logged in" in shown.err
    assert (await program.run("auth", "logout")).code == 0
    assert not (program.home / ".local").exists()
