"""Where tokens are asked for: what a card and metadata may say, and what of it is not believed."""

from typing import Any

import msgspec
import pytest

from dragoman.client.login.oauth import LoginFailed, OAuth, ProviderUnreachable, Visit
from dragoman.types.card import AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, ImplicitOAuthFlow
from tests.unit.client.login.oauth.scripted import TOKEN, Answer, Scripted, need_of, openid_at

OPENID = "/.well-known/openid-configuration"
OAUTH = "/.well-known/oauth-authorization-server"
SECRET = "client-secret-81c2"


def service(**options: Any) -> OAuth:
    return OAuth("service", client_secret=SECRET, **options)


def flow(url: str) -> ClientCredentialsOAuthFlow:
    return ClientCredentialsOAuthFlow(token_url=url, scopes={})


async def refusal(login: OAuth, need: Any) -> str:
    with pytest.raises(LoginFailed) as caught:
        await login.credentials(need)
    assert SECRET not in str(caught.value)
    assert caught.value.code == ""
    return str(caught.value)


async def test_endpoints_come_from_discovery(provider: Scripted) -> None:
    provider.says(OPENID, (200, provider.metadata()))
    provider.says("/token", (200, TOKEN))
    secret = await service().credentials(openid_at(provider.base + OPENID))
    assert secret is not None
    assert secret.value == TOKEN["access_token"]


@pytest.mark.parametrize(
    ("issuer", "place"),
    [
        ("/t1", f"/t1{OPENID}"),
        ("/t1/", f"/t1{OPENID}"),
        ("/t1", f"{OPENID}/t1"),
        ("/t1", f"{OAUTH}/t1"),
        ("", "/elsewhere/metadata.json"),
    ],
)
async def test_an_issuer_with_a_path_is_found_at_all_its_well_known_places(
    provider: Scripted, issuer: str, place: str
) -> None:
    provider.says(place, (200, provider.metadata(issuer=provider.base + issuer)))
    provider.says("/token", (200, TOKEN))
    assert await service().credentials(openid_at(provider.base + place)) is not None


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"issuer": "https://evil.example"}, "another issuer"),
        ({"issuer": None}, "another issuer: none"),
        ({"issuer": "{base}/tenant"}, "another issuer"),
        ({"issuer": "{base}?a=b"}, "another issuer"),
        ({"issuer": "{base}.evil.example"}, "another issuer"),
        ({"token_endpoint": "http://idp.example/token"}, "token endpoint is not https"),
        ({"token_endpoint": "http://10.0.0.1/token"}, "token endpoint is not https"),
        ({"token_endpoint": "https://user:pw@idp.example/token"}, "token endpoint cannot be used"),
        ({"token_endpoint": "https://idp.example\\@evil.example/"}, "token endpoint cannot be used"),
        ({"token_endpoint": "file:///etc/passwd"}, "token endpoint cannot be used"),
        ({"token_endpoint": "https://idp.example/#f"}, "token endpoint cannot be used"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "authorization endpoint cannot be used"),
        ({"authorization_endpoint": "http://idp.example/auth"}, "authorization endpoint is not https"),
        ({"revocation_endpoint": "http://idp.example/revoke"}, "revocation endpoint is not https"),
        ({"device_authorization_endpoint": "ftp://idp.example/"}, "device authorization endpoint cannot be used"),
        ({"token_endpoint": 7}, "member of a wrong kind"),
        ({"token_endpoint": None}, "names a token endpoint"),
    ],
)
async def test_hostile_metadata_is_not_believed(provider: Scripted, members: dict[str, Any], words: str) -> None:
    told = {name: _placed(value, provider.base) for name, value in members.items()}
    provider.says(OPENID, (200, provider.metadata(**told)))
    provider.says("/token", (200, TOKEN))
    assert words in await refusal(service(), openid_at(provider.base + OPENID))
    assert provider.asked("/token") == []


def _placed(value: Any, base: str) -> Any:
    return value.format(base=base) if isinstance(value, str) else value


@pytest.mark.parametrize(
    "answer",
    [
        (404, {}),
        (302, "/metadata"),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"\xff"),
        (200, b"[" * 100_000),
        (200, {"issuer": []}),
    ],
)
async def test_what_is_no_metadata_is_told_of(provider: Scripted, answer: Answer) -> None:
    provider.says(OPENID, answer)
    assert "metadata" in await refusal(service(), openid_at(provider.base + OPENID))


async def test_metadata_without_end_is_left(provider: Scripted) -> None:
    provider.says(OPENID, (200, b" " * 300_000))
    with pytest.raises(ProviderUnreachable, match="longer than 262144 bytes"):
        await service().credentials(openid_at(provider.base + OPENID))


@pytest.mark.parametrize(
    ("page", "token", "metadata"),
    [
        ("https://login.example/auth", "{base}/token", False),
        ("{base}/auth", "https://evil.example/token", False),
        ("{base}/auth", "https://evil.example/token", True),
        ("https://login.example/auth", "{base}/token", True),
    ],
)
async def test_a_card_that_sends_users_and_codes_to_different_providers_is_refused(
    provider: Scripted, page: str, token: str, metadata: bool
) -> None:
    """Whoever gets code and verifier has what the user gave to the other."""
    provider.says(OAUTH, (200, provider.metadata()))
    urls = {"authorization_url": page.format(base=provider.base), "token_url": token.format(base=provider.base)}
    flow = AuthorizationCodeOAuthFlow(scopes={}, pkce_required=True, **urls)
    shown: list[Visit] = []

    async def show(visit: Visit) -> None:
        shown.append(visit)

    login = OAuth("app", interactive=True, show=show, patience=0.01)
    words = await refusal(login, need_of(flow, metadata=provider.base + OAUTH if metadata else ""))
    assert "several providers" in words
    assert shown == []


async def test_a_page_that_says_already_what_a_login_says_is_refused(provider: Scripted) -> None:
    page, token = f"{provider.base}/auth?code_challenge=theirs", f"{provider.base}/token"
    flow = AuthorizationCodeOAuthFlow(authorization_url=page, token_url=token, scopes={})
    assert "says already" in await refusal(OAuth("app", interactive=True, patience=0.01), need_of(flow))


async def test_endpoints_of_the_card_count_before_those_of_the_metadata(provider: Scripted) -> None:
    provider.says(OAUTH, (200, provider.metadata(token_endpoint=f"{provider.base}/other")))
    provider.says("/token", (200, TOKEN))
    assert await service().credentials(need_of(flow(f"{provider.base}/token"), metadata=provider.base + OAUTH))
    assert provider.asked("/other") == []


async def test_metadata_that_the_card_names_must_be_there(provider: Scripted) -> None:
    need = need_of(flow(f"{provider.base}/token"), metadata=provider.base + OAUTH)
    assert "no metadata" in await refusal(service(), need)


@pytest.mark.parametrize("origin", ["https://agent.example", "http://10.0.0.1:9999"])
async def test_the_card_of_an_agent_elsewhere_cannot_have_this_machine_called(provider: Scripted, origin: str) -> None:
    provider.says("/token", (200, TOKEN))
    words = await refusal(service(), need_of(flow(f"{provider.base}/token"), origin=origin))
    assert "on this machine" in words
    assert provider.forms == []
    # But the user can.
    provider.says(OPENID, (200, provider.metadata()))
    named = service(issuer=provider.base)
    assert await named.credentials(need_of(flow("https://evil.example/token"), origin=origin)) is not None


async def test_only_public_providers_are_called_where_that_is_wished(provider: Scripted) -> None:
    provider.says("/token", (200, TOKEN))
    words = await refusal(service(network="public"), need_of(flow(f"{provider.base}/token")))
    assert "may not be called" in words
    assert "private" in await refusal(service(network="public"), need_of(flow("https://10.0.0.1:8443/token")))
    assert provider.forms == []


async def test_an_issuer_that_is_named_must_speak_for_itself(provider: Scripted) -> None:
    need = need_of(flow(f"{provider.base}/token"))
    provider.says(OPENID, (200, provider.metadata(issuer=f"{provider.base}/other")))
    provider.says(OAUTH, (404, {}))
    assert "no metadata" in await refusal(service(issuer=provider.base), need)
    provider.says(OAUTH, (200, provider.metadata()))
    provider.says("/token", (200, TOKEN))
    assert await service(issuer=f"{provider.base}/").credentials(need) is not None


async def test_a_flow_that_is_deprecated_is_not_used() -> None:
    need = need_of(ImplicitOAuthFlow(authorization_url="https://idp.example/auth", scopes={}))
    assert "deprecated" in await refusal(service(), need)


async def test_a_provider_that_is_away_is_no_refusal(provider: Scripted) -> None:
    provider.says("/token", (503, {}))
    with pytest.raises(ProviderUnreachable, match="503"):
        await service().credentials(need_of(flow(f"{provider.base}/token")))
    with pytest.raises(ProviderUnreachable):
        await service().credentials(need_of(flow("http://127.0.0.1:1/token")))


async def test_a_card_that_names_no_page_for_users_cannot_ask_them(provider: Scripted) -> None:
    login = OAuth("app", grant="authorization_code", interactive=True)
    assert "authorization endpoint" in await refusal(login, need_of(flow(f"{provider.base}/token")))
    bad = AuthorizationCodeOAuthFlow(authorization_url="javascript:x", token_url=f"{provider.base}/token", scopes={})
    assert "authorization endpoint" in await refusal(OAuth("app", interactive=True), need_of(bad))


async def test_a_client_that_calls_the_public_alone_asks_no_other_provider_unless_its_user_names_it(
    provider: Scripted,
) -> None:
    provider.says(OAUTH, (200, provider.metadata()))
    provider.says("/token", (200, TOKEN))
    need = msgspec.structs.replace(need_of(flow(f"{provider.base}/token")), public=True)
    assert "may not be called" in await refusal(service(), need)
    assert provider.forms == []
    secret = await service(issuer=provider.base).credentials(need)
    assert secret is not None
