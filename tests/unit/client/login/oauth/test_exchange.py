"""The token endpoint: how a client shows who it is, and what answers mean."""

import asyncio
import base64
import json
import logging
from typing import Any

import pytest

from dragoman.client.login.need import Need
from dragoman.client.login.oauth import (
    KeptLogins,
    LoginFailed,
    LoginRequired,
    OAuth,
    ProviderUnreachable,
    TokenCache,
)
from dragoman.client.login.oauth.identity import subject_of
from dragoman.client.login.oauth.registration import Registration
from dragoman.errors import ConfigurationError
from dragoman.types.card import APIKeySecurityScheme, ClientCredentialsOAuthFlow
from tests.unit.client.login.oauth.scripted import NOTHING, ORIGIN, TOKEN, Answer, Scripted, need_of, openid_at

SECRET = "a:b c/ü+%"
OPENID = "/.well-known/openid-configuration"


def service(provider: Scripted) -> Need:
    return need_of(ClientCredentialsOAuthFlow(token_url=f"{provider.base}/token", scopes={}))


async def test_basic_codes_id_and_secret_as_in_a_form_first(provider: Scripted) -> None:
    provider.says("/token", (200, TOKEN))
    await OAuth("my:app", client_secret=SECRET).credentials(service(provider))
    sent = base64.b64decode(provider.headers[0]["authorization"].removeprefix("Basic ")).decode()
    assert sent == "my%3Aapp:a%3Ab+c%2F%C3%BC%2B%25"
    assert provider.forms[0][1] == {
        "grant_type": "client_credentials",
        "scope": "chat",
        "resource": f"{ORIGIN}/agent",
    }


async def test_a_secret_in_the_form_is_in_no_header(provider: Scripted) -> None:
    provider.says("/token", (200, TOKEN))
    login = OAuth("my:app", client_secret=SECRET, client_auth="client_secret_post", resource="", scopes=["pay"])
    await login.credentials(service(provider))
    assert "authorization" not in provider.headers[0]
    assert provider.forms[0][1] == {
        "grant_type": "client_credentials",
        "scope": "chat pay",
        "client_id": "my:app",
        "client_secret": SECRET,
    }


async def test_a_provider_is_told_what_else_it_wants_to_know_each_time(provider: Scripted) -> None:
    clock = [1000.0]
    provider.says("/token", (200, TOKEN))
    told = {"audience": "https://api.example", "grant_type": "password"}
    login = OAuth("app", client_secret=SECRET, resource="", parameters=told, now=lambda: clock[0])
    for now in (1000.0, 1300.0):
        clock[0] = now
        await login.credentials(service(provider))
    expected = {"audience": "https://api.example", "grant_type": "client_credentials", "scope": "chat"}
    assert provider.asked("/token") == [expected] * 2


async def test_a_login_is_renewed_where_the_card_says_and_for_what_it_was_made(
    provider: Scripted, cache: TokenCache
) -> None:
    clock = [1000.0]
    flow = ClientCredentialsOAuthFlow(
        token_url=f"{provider.base}/token", refresh_url=f"{provider.base}/refresh", scopes={}
    )
    provider.says("/token", (200, TOKEN | {"refresh_token": "r1"}))
    provider.says("/refresh", (200, TOKEN | {"access_token": "second", "scope": "chat"}))
    login = OAuth("app", client_secret=SECRET, cache=cache, now=lambda: clock[0])
    await login.credentials(need_of(flow))
    clock[0] = 1300.0
    second = await login.credentials(need_of(flow))
    assert second is not None
    assert second.value == "second"
    again = {"grant_type": "refresh_token", "refresh_token": "r1", "resource": f"{ORIGIN}/agent"}
    assert provider.asked("/refresh") == [again]
    assert cache.every()[0].token.refresh == "r1"
    # What was made for one resource is not sent as if it was for another.
    other = OAuth("app", client_secret=SECRET, resource="urn:other", cache=cache, now=lambda: clock[0])
    third = await other.credentials(need_of(flow))
    assert third is not None
    assert third.value == "of-the-provider"


async def test_a_kept_login_never_begins_anew_where_the_card_leads_by_now(
    provider: Scripted, cache: TokenCache
) -> None:
    provider.says("/token", (200, TOKEN))
    login = OAuth("app", client_secret=SECRET, cache=cache, secret_variable="APP_SECRET")
    kept = await login.login(service(provider))
    provider.says("/token", (404, NOTHING))
    provider.says("/changed", (200, TOKEN))
    need = need_of(ClientCredentialsOAuthFlow(token_url=f"{provider.base}/changed", scopes={}))
    with pytest.raises(LoginRequired):
        await KeptLogins(cache, variables={"APP_SECRET": SECRET}).credentials(need, refused=kept.token.secret())
    assert provider.asked("/changed") == []


async def test_what_replaces_a_refresh_token_is_kept_also_for_callers_who_have_left(
    provider: Scripted, cache: TokenCache
) -> None:
    need = service(provider)
    provider.says("/token", (200, TOKEN | {"refresh_token": "r1"}), (200, TOKEN | {"refresh_token": "r2"}))
    login = OAuth("app", client_secret=SECRET, cache=cache)
    first = await login.credentials(need)
    provider.asked_now.clear()
    provider.answers_now.clear()
    call = asyncio.create_task(login.credentials(need, refused=first))
    await provider.asked_now.wait()
    call.cancel()
    provider.answers_now.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert cache.every()[0].token.refresh == "r2"


@pytest.mark.parametrize(
    ("offered", "method"),
    [
        ((), "client_secret_basic"),
        (("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (("private_key_jwt", "client_secret_post"), "client_secret_post"),
    ],
)
def test_the_secret_is_sent_as_the_provider_takes_it(offered: tuple[str, ...], method: str) -> None:
    assert Registration.chosen("app", SECRET, "auto", offered).method == method


def test_a_provider_that_takes_no_secret_is_told_of() -> None:
    with pytest.raises(LoginFailed, match="private_key_jwt"):
        Registration.chosen("app", SECRET, "auto", ("private_key_jwt",))
    with pytest.raises(LoginFailed, match="is needed"):
        Registration.chosen("app", None, "client_secret_post", ())
    assert Registration.chosen("app", SECRET, "none", ()).secret == ""


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ((400, {"error": "invalid_scope", "error_description": "no chat"}), "invalid_scope", "invalid_scope (no chat)"),
        ((401, {"error": "invalid_client"}), "invalid_client", "refuses: invalid_client"),
        ((400, {"error": "x" * 5000, "error_description": "y" * 5000}), "x" * 200, "y" * 200 + ")"),
        ((400, {"error": "a\x1b[2Jb", "error_description": "c\nd"}), "a [2Jb", "(c d)"),
        ((400, {"error": "e", "error_description": f"your secret is {SECRET}"}), "e", "your secret is [redacted]"),
        ((400, {"error": ["e"], "error_description": 1}), "", "with status 400 and without a word"),
        ((403, b"<html>"), "", "with status 403"),
        ((307, "/elsewhere"), "", "with status 307"),
        ((200, NOTHING), "", "another type than Bearer"),
        ((200, TOKEN | {"token_type": "DPoP"}), "", "another type than Bearer"),
        ((200, TOKEN | {"access_token": ""}), "", "no access token"),
        ((200, TOKEN | {"access_token": "a b"}), "", "no access token"),
        ((200, TOKEN | {"access_token": "a\r\nX-Evil: 1"}), "", "no access token"),
        ((200, TOKEN | {"access_token": "ü"}), "", "no access token"),
        ((200, TOKEN | {"access_token": "a" * 16_385}), "", "no access token"),
        ((200, TOKEN | {"access_token": 7}), "", "is none"),
        ((200, b"access_token=a&token_type=bearer"), "", "another type than Bearer"),
    ],
)
async def test_answers_that_give_no_token_are_told_of(
    provider: Scripted, answer: Answer, code: str, words: str
) -> None:
    provider.says("/token", answer)
    with pytest.raises(LoginFailed) as caught:
        await OAuth("app", client_secret=SECRET).credentials(service(provider))
    assert caught.value.code == code
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert len(provider.forms) == 1


@pytest.mark.parametrize(
    ("told", "left"),
    [(300, 300.0), ("300", 300.0), (0, 0.0), (-1, None), ("soon", None), ("nan", None), (1e300, None), (None, None)],
)
async def test_the_end_of_a_token_is_when_the_provider_says(provider: Scripted, told: Any, left: float | None) -> None:
    provider.says("/token", (200, TOKEN | {"token_type": "bearer", "expires_in": told}))
    secret = await OAuth("app", client_secret=SECRET, now=lambda: 1000.0).credentials(service(provider))
    assert secret is not None
    assert secret.expires_at == (None if left is None else 1000.0 + left)


async def test_a_token_is_renewed_half_a_minute_before_its_end(provider: Scripted) -> None:
    clock = [1000.0]
    provider.says("/token", (200, TOKEN), (200, TOKEN | {"access_token": "second"}))
    login = OAuth("app", client_secret=SECRET, now=lambda: clock[0])
    values: list[str] = []
    for now in (1000.0, 1269.0, 1270.5, 1300.5):
        clock[0] = now
        secret = await login.credentials(service(provider))
        assert secret is not None
        values.append(secret.value)
    assert values == ["of-the-provider", "of-the-provider", "second", "second"]


async def test_what_a_provider_cannot_give_now_is_not_a_refusal(provider: Scripted) -> None:
    for status in (429, 500, 503):
        provider.says("/token", (status, {"error": "server_error"}))
        with pytest.raises(ProviderUnreachable, match=str(status)):
            await OAuth("app", client_secret=SECRET).credentials(service(provider))


async def test_secrets_are_in_no_log_and_no_repr(provider: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    provider.says("/token", (200, TOKEN))
    login = OAuth("app", client_secret="seldom-0c61")
    kept = await login.login(service(provider))
    shown = caplog.text + repr(login) + repr(kept) + repr(Registration("app", "seldom-0c61")) + str(kept.token)
    assert "seldom-0c61" not in shown
    assert "of-the-provider" not in shown


async def test_other_schemes_are_not_taken() -> None:
    scheme = APIKeySecurityScheme(location="header", name="X-Key")
    need = Need(name="key", scheme=scheme, origin=ORIGIN, agent=ORIGIN)
    login = OAuth("app")
    assert not login.takes(need)
    assert await login.credentials(need) is None
    with pytest.raises(LoginFailed, match="'key' is neither"):
        await login.login(need)
    assert login.takes(openid_at("https://idp.example/"))


def test_an_id_and_a_known_grant_are_needed() -> None:
    with pytest.raises(ConfigurationError, match="id"):
        OAuth("")
    with pytest.raises(ConfigurationError, match="client_credentials"):
        OAuth("app", grant="password")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] -- the point


def coded(**claims: Any) -> str:
    payload = {"iss": "https://idp.example", "aud": "app", "exp": 2000, "nonce": "n", "sub": "7", **claims}
    return f"e30.{base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip('=')}.sig"


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({}, "7"),
        ({"email": "a@b.example"}, "a@b.example"),
        ({"preferred_username": "alice", "email": "a@b.example"}, "alice"),
        ({"preferred_username": "\x1b[2Jalice"}, " [2Jalice"),
        ({"sub": 7}, ""),
        ({"aud": ["other", "app"]}, "7"),
    ],
)
def test_an_id_token_says_who_has_logged_in(claims: dict[str, Any], name: str) -> None:
    assert subject_of(coded(**claims), "https://idp.example", "app", "n", 1000.0) == name


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"iss": "https://evil.example"}, "issuer"),
        ({"aud": "other"}, "client"),
        ({"aud": None}, "client"),
        ({"nonce": "m"}, "login"),
        ({"exp": 900}, "time"),
        ({"exp": "never"}, "time"),
    ],
)
def test_an_id_token_for_another_is_refused(claims: dict[str, Any], words: str) -> None:
    with pytest.raises(LoginFailed, match=f"another {words}"):
        subject_of(coded(**claims), "https://idp.example", "app", "n", 1000.0)


@pytest.mark.parametrize("token", ["a.b", "a.b.c.d", "..", "e30.!!!.x", "e30.W10.x", "é"])
def test_what_is_no_id_token_is_refused(token: str) -> None:
    with pytest.raises(LoginFailed, match="is none"):
        subject_of(token, "", "app", "", 1000.0)
