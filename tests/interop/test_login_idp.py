"""Logging in with a provider that others have written: each grant, what renews a token, and what a provider refuses."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dragoman.client.login.need import Secret
from dragoman.client.login.oauth import (
    KeptLogins,
    LoginFailed,
    LoginRequired,
    OAuth,
    ProviderUnreachable,
    TokenCache,
    Visit,
)
from dragoman.types.card import (
    ClientCredentialsOAuthFlow,
)
from tests.idp.browser import Browser
from tests.idp.process import IdentityProvider, secret_of
from tests.interop.logging_in import (
    AGENT,
    LIMIT,
    Clock,
    User,
    by_card,
    by_openid,
    claims_of,
    code,
    device,
    given,
    service,
)
from tests.interop.stage import ROOT


@pytest.fixture
def cache(tmp_path: Path) -> TokenCache:
    return TokenCache(tmp_path / "tokens")


async def test_a_service_gets_a_token_for_the_agent_and_asks_once(idp: IdentityProvider) -> None:
    login = OAuth("service", client_secret=secret_of("service"))
    before = idp.calls(idp.token_url)
    first = await given(login, service(idp))
    assert first.expires_at is not None
    assert await given(login, service(idp)) == first
    assert idp.calls(idp.token_url) == before + 1
    claims = claims_of(first.value)
    assert (claims["aud"], claims["scope"], claims["client_id"]) == (AGENT, "chat", "service")


async def test_a_service_whose_token_was_refused_asks_again(idp: IdentityProvider) -> None:
    login = OAuth("service", client_secret=secret_of("service"))
    first = await given(login, service(idp))
    assert (await given(login, service(idp), first)).value != first.value


async def test_a_secret_is_sent_in_the_form_where_that_is_wished(idp: IdentityProvider) -> None:
    login = OAuth("service-post", client_secret=lambda: secret_of("service-post"), client_auth="client_secret_post")
    assert claims_of((await given(login, service(idp))).value)["client_id"] == "service-post"


async def test_openid_with_a_secret_and_nobody_to_ask_is_client_credentials(idp: IdentityProvider) -> None:
    login = OAuth("service", client_secret=secret_of("service"))
    assert claims_of((await given(login, by_openid(idp))).value)["client_id"] == "service"


async def test_an_issuer_that_is_named_counts_and_not_the_endpoints_of_the_card(idp: IdentityProvider) -> None:
    need = by_card(ClientCredentialsOAuthFlow(token_url="http://127.0.0.1:9/steals", scopes={}))
    login = OAuth("service", client_secret=secret_of("service"), issuer=idp.issuer)
    assert claims_of((await given(login, need)).value)["aud"] == AGENT


@pytest.mark.parametrize("way", ["card", "card and metadata", "openid"])
async def test_a_user_logs_in_with_the_browser(idp: IdentityProvider, cache: TokenCache, way: str) -> None:
    need = by_openid(idp) if way == "openid" else code(idp, idp.metadata_url if "metadata" in way else "")
    user = User(idp)
    login = OAuth("app", interactive=True, show=user, cache=cache)
    secret = await given(login, need)
    assert claims_of(secret.value)["sub"] == "alice"
    asked = parse_qs(urlsplit(user.visits[0].url).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["resource"] == [AGENT]
    [kept] = cache.every()
    assert kept.token.subject == ("alice" if "openid" in asked["scope"][0] else "")
    # Another program of the same user's needs nobody.
    assert await given(OAuth("app", cache=TokenCache(cache.folder)), need) == secret
    assert await given(KeptLogins(TokenCache(cache.folder)), need) == secret
    assert len(user.visits) == 1


async def test_a_user_lets_a_device_in(idp: IdentityProvider, cache: TokenCache) -> None:
    clock = Clock()
    user = User(idp)
    waiting: list[Visit] = []

    async def show(visit: Visit) -> None:
        waiting.append(visit)

    async def pause(seconds: float) -> None:
        await clock.pause(seconds)
        if len(clock.pauses) == 2:
            await user(waiting[0])

    login = OAuth("app", interactive=True, show=show, cache=cache, now=clock.now, pause=pause)
    assert claims_of((await given(login, device(idp))).value)["sub"] == "alice"
    assert clock.pauses == [5.0, 5.0]
    assert waiting[0].code in waiting[0].words()


@pytest.mark.parametrize("grant", ["browser", "device"])
async def test_a_user_who_refuses_is_told_of(idp: IdentityProvider, cache: TokenCache, grant: str) -> None:
    need = code(idp) if grant == "browser" else device(idp)
    clock = Clock()
    user = User(idp, login="nobody", abort=True)
    login = OAuth("app", interactive=True, show=user, cache=cache, now=clock.now, pause=clock.pause)
    with pytest.raises(LoginFailed) as caught:
        await given(login, need)
    assert caught.value.code == "access_denied"
    assert cache.every() == []


async def test_a_user_is_asked_once_by_all_who_wait(idp: IdentityProvider, cache: TokenCache) -> None:
    user = User(idp)
    login = OAuth("app", interactive=True, show=user, cache=cache)
    secrets = await asyncio.gather(*(given(login, code(idp)) for _ in range(3)))
    assert len({secret.value for secret in secrets}) == 1
    assert len(user.visits) == 1


async def test_nobody_is_asked_inside_a_server(idp: IdentityProvider, cache: TokenCache) -> None:
    with pytest.raises(LoginRequired, match="dragoman auth login") as caught:
        await given(OAuth("app", cache=cache), code(idp))
    assert caught.value.command() == f"dragoman auth login {AGENT} --client-id app"


async def logged_in(idp: IdentityProvider, cache: TokenCache, client: str = "app", **options: Any) -> Secret:
    return await given(OAuth(client, interactive=True, show=User(idp), cache=cache, **options), code(idp))


async def test_a_token_is_renewed_before_it_ends_and_what_renews_it_is_replaced(
    idp: IdentityProvider, cache: TokenCache
) -> None:
    first = await logged_in(idp, cache)
    [before] = cache.every()
    clock = Clock()
    assert first.expires_at is not None
    clock.ahead = first.expires_at - time.time() - 29
    login = OAuth("app", cache=cache, now=clock.now)
    second = await given(login, code(idp))
    [after] = cache.every()
    assert second.value != first.value
    assert after.token.refresh not in {"", before.token.refresh}
    # The provider ends a login whose refresh token comes twice: that it goes on shows that the new one is used.
    third = await given(login, code(idp), second)
    assert claims_of(third.value)["sub"] == "alice"


async def test_a_login_that_the_provider_has_ended_has_to_be_made_again(
    idp: IdentityProvider, cache: TokenCache
) -> None:
    first = await logged_in(idp, cache)
    [kept] = cache.every()
    await asyncio.to_thread(idp.revoke, kept.token.refresh, "app")
    for login in (OAuth("app", cache=cache), OAuth("app", cache=cache)):
        with pytest.raises(LoginRequired):
            await given(login, code(idp), first)
        assert cache.every() == []


RENEW = """
import asyncio, sys
from dragoman.client.login.need import Secret
from dragoman.client.login.oauth import OAuth, TokenCache
from tests.idp.process import IdentityProvider
from tests.interop.logging_in import code

need = code(IdentityProvider(sys.argv[1]))
print("ready", flush=True)
refused = Secret(sys.stdin.readline().strip())
print(asyncio.run(OAuth("app", cache=TokenCache(sys.argv[2])).credentials(need, refused=refused)).value)
"""


async def test_two_processes_renew_a_token_once(idp: IdentityProvider, cache: TokenCache) -> None:
    first = await logged_in(idp, cache)
    before = idp.calls(idp.token_url)
    async with asyncio.timeout(LIMIT):
        running = [
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                RENEW,
                idp.issuer,
                str(cache.folder),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            for _ in range(3)
        ]
        for process in running:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        told = await asyncio.gather(*(process.communicate(first.value.encode() + b"\n") for process in running))
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len({out for out, _ in told}) == 1
    assert told[0][0].decode().strip() not in {"", first.value}
    assert idp.calls(idp.token_url) == before + 1


async def test_many_clients_of_one_process_renew_a_token_once(idp: IdentityProvider, cache: TokenCache) -> None:
    first = await logged_in(idp, cache)
    before = idp.calls(idp.token_url)
    secrets = await asyncio.gather(*(given(OAuth("app", cache=cache), code(idp), first) for _ in range(5)))
    assert len({secret.value for secret in secrets}) == 1
    assert idp.calls(idp.token_url) == before + 1


async def test_what_comes_back_with_another_state_or_for_another_host_changes_nothing(
    idp: IdentityProvider, cache: TokenCache
) -> None:
    seen: list[int] = []

    async def attacked(visit: Visit) -> None:
        callback = parse_qs(urlsplit(visit.url).query)["redirect_uri"][0]
        by_name = callback.replace("127.0.0.1", "localhost")
        state = parse_qs(urlsplit(visit.url).query)["state"][0]
        forged = ["code=stolen&state=guessed", "code=stolen", "error=access_denied&state="]
        for url in [*(f"{callback}?{query}" for query in forged), f"{by_name}?code=stolen&state={state}"]:
            page = await asyncio.to_thread(Browser().visit, url)
            seen.append(page.status)
        await User(idp)(visit)

    login = OAuth("app", interactive=True, show=attacked, cache=cache)
    assert claims_of((await given(login, code(idp))).value)["sub"] == "alice"
    assert seen == [400, 400, 400, 404]


@pytest.mark.parametrize(
    ("issuer", "metadata"),
    [("https://evil.example", True), (None, True), ("https://evil.example", False), ("none", False)],
)
async def test_an_answer_of_another_issuer_is_refused(
    idp: IdentityProvider, cache: TokenCache, issuer: str | None, metadata: bool
) -> None:
    async def mixed_up(visit: Visit) -> None:
        query = parse_qs(urlsplit(visit.url).query)
        end = query["redirect_uri"][0]
        page = await asyncio.to_thread(Browser().visit, visit.url, end=end)
        told = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
        assert told["iss"] == idp.issuer
        again = f"{end}?code={told['code']}&state={told['state']}" + (f"&iss={issuer}" if issuer else "")
        await asyncio.to_thread(Browser().visit, again)

    before = idp.calls(idp.token_url)
    login = OAuth("app", interactive=True, show=mixed_up, cache=cache)
    with pytest.raises(LoginFailed, match="another issuer" if issuer else "whose it is"):
        await given(login, code(idp, idp.metadata_url if metadata else ""))
    assert idp.calls(idp.token_url) == before


async def test_what_the_provider_refuses_is_told_without_the_secret(idp: IdentityProvider) -> None:
    wrong = OAuth("service", client_secret="not-this-one-5d1f")
    with pytest.raises(LoginFailed) as caught:
        await given(wrong, service(idp))
    assert caught.value.code == "invalid_client"
    assert "not-this-one" not in str(caught.value) + repr(wrong)
    elsewhere = OAuth("service", client_secret=secret_of("service"), resource="https://nowhere.example")
    with pytest.raises(LoginFailed) as caught:
        await given(elsewhere, service(idp))
    assert caught.value.code == "invalid_target"


async def test_a_provider_in_trouble_is_no_refusal(idp: IdentityProvider, cache: TokenCache) -> None:
    first = await logged_in(idp, cache)
    with idp.failing(idp.token_url, 503):
        with pytest.raises(ProviderUnreachable, match="503"):
            await given(OAuth("service", client_secret=secret_of("service")), service(idp))
        with pytest.raises(ProviderUnreachable):
            await given(OAuth("app", cache=cache), code(idp), first)
    assert (await given(OAuth("app", cache=cache), code(idp), first)).value != first.value


async def test_a_kept_login_of_a_service_goes_on_with_the_secret_of_its_variable(
    idp: IdentityProvider, cache: TokenCache
) -> None:
    login = OAuth("service", client_secret=secret_of("service"), cache=cache, secret_variable="SERVICE_SECRET")
    kept = await login.login(service(idp))
    # Wherever the card leads by now: the secret goes where it went before.
    need = by_card(ClientCredentialsOAuthFlow(token_url="http://127.0.0.1:9/steals", scopes={}))
    logins = KeptLogins(cache, variables={"SERVICE_SECRET": secret_of("service")})
    assert (await given(logins, need, kept.token.secret())).value != kept.token.access
    with pytest.raises(LoginFailed, match="secret of the client is needed"):
        await given(KeptLogins(cache, variables={}), need, cache.every()[0].token.secret())


async def test_a_login_that_is_ended_is_worth_nothing(idp: IdentityProvider, cache: TokenCache) -> None:
    need = code(idp, idp.metadata_url)
    await given(OAuth("app", interactive=True, show=User(idp), cache=cache), need)
    [kept] = cache.every()
    await KeptLogins(cache).end(kept)
    assert cache.every() == []
    assert list(cache.folder.iterdir()) == []
    told = await asyncio.to_thread(idp.refreshed, kept.token.refresh, "app")
    assert told["error"] == "invalid_grant"
