"""What the card says of OpenID Connect and OAuth 2, and what cannot be declared."""

import json
from typing import Any

import pytest

from dragoman.auth import (
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    Credentials,
    DeviceCodeOAuthFlow,
    ImplicitOAuthFlow,
    Introspection,
    OAuth2,
    OpenIdConnect,
    PasswordOAuthFlow,
)
from dragoman.auth.issuer import IssuerClient
from dragoman.errors import ConfigurationError, PermissionDeniedError, UnauthenticatedError, UnavailableError
from dragoman.types.card import OAuth2SecurityScheme, OAuthFlow, OpenIdConnectSecurityScheme
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, bearer

SCOPES = {"read": "Look", "write": "Change"}
URLS = {"authorization_url": f"{ISSUER}/authorize", "token_url": f"{ISSUER}/token"}
DEVICE = DeviceCodeOAuthFlow(
    device_authorization_url=f"{ISSUER}/device", token_url=URLS["token_url"], scopes=SCOPES, refresh_url=f"{ISSUER}/r"
)
FLOWS: tuple[OAuthFlow, ...] = (
    AuthorizationCodeOAuthFlow(**URLS, scopes=SCOPES, pkce_required=True),
    ClientCredentialsOAuthFlow(token_url=URLS["token_url"], scopes=SCOPES),
    DEVICE,
    ImplicitOAuthFlow(authorization_url=URLS["authorization_url"], scopes=SCOPES),
    PasswordOAuthFlow(token_url=URLS["token_url"], scopes=SCOPES),
)
ASKING = Introspection(client_id="agent", client_secret="agent-secret", url=f"{ISSUER}/introspect")


def oauth2(flow: OAuthFlow = DEVICE, **options: Any) -> OAuth2:
    given: dict[str, Any] = {"issuer": ISSUER, "audience": AUDIENCE, "keys": JWKS, **options}
    return OAuth2(flow, **given)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: type(flow).__name__)
async def test_every_flow_is_declared_and_its_tokens_are_held_to_their_scopes(flow: OAuthFlow) -> None:
    scheme = oauth2(flow, scopes=["read"], description="Sign in")
    assert scheme.schemes == {"oauth2": OAuth2SecurityScheme(flow=flow, description="Sign in")}
    assert scheme.requirements == ({"oauth2": ("read",)},)
    assert (await scheme.authenticate(Credentials(bearer(scope="read")))).id == f"{ISSUER} alice"
    with pytest.raises(PermissionDeniedError) as lacking:
        await scheme.authenticate(Credentials(bearer(scope="write")))
    assert lacking.value.challenges == ('Bearer error="insufficient_scope", scope="read"',)
    with pytest.raises(UnauthenticatedError) as nobody:
        await scheme.authenticate(Credentials())
    assert nobody.value.challenges == ('Bearer scope="read"',)
    with pytest.raises(UnauthenticatedError) as other:
        await scheme.authenticate(Credentials(bearer(aud="https://other.example")))
    assert other.value.challenges == ('Bearer error="invalid_token"',)


def test_the_metadata_are_named_by_the_card_also_where_the_keys_are_stated() -> None:
    url = f"{ISSUER}/.well-known/oauth-authorization-server"
    several: list[dict[str, Any]] = [{"keys": None}, {}, {"keys": None, "jwks_url": f"{ISSUER}/jwks"}]
    for options in several:
        described = oauth2(metadata_url=url, **options).described
        assert isinstance(described, OAuth2SecurityScheme)
        assert described.oauth2_metadata_url == url


@pytest.mark.parametrize(
    ("options", "flow"),
    [
        ({"issuer": ""}, DEVICE),
        ({"audience": ""}, DEVICE),
        ({"audience": []}, DEVICE),
        ({"audience": None}, DEVICE),
        ({"keys": None}, DEVICE),
        ({"jwks_url": f"{ISSUER}/jwks"}, DEVICE),
        ({"introspection": ASKING}, DEVICE),
        ({"keys": None, "introspection": ASKING, "jwks_url": f"{ISSUER}/jwks"}, DEVICE),
        ({"keys": None, "introspection": Introspection(client_id="a", client_secret="b")}, DEVICE),
        (
            {
                "keys": None,
                "introspection": Introspection(client_id="a", client_secret="b", url="http://issuer.example/"),
            },
            DEVICE,
        ),
        ({"keys": None, "metadata_url": "http://issuer.example/metadata"}, DEVICE),
        ({"scopes": ["admin"]}, DEVICE),
        ({"algorithms": ["HS256"]}, DEVICE),
        ({}, ClientCredentialsOAuthFlow(token_url="http://issuer.example/token", scopes=SCOPES)),
        ({}, PasswordOAuthFlow(token_url=f"{ISSUER}/token", scopes=SCOPES, refresh_url="http://issuer.example/r")),
    ],
)
def test_what_cannot_be_held_to_is_refused(options: dict[str, Any], flow: OAuthFlow) -> None:
    with pytest.raises(ConfigurationError):
        oauth2(flow, **options)


def test_tokens_are_for_anybody_only_where_the_issuer_says_whose_they_are() -> None:
    assert oauth2(keys=None, introspection=ASKING, audience=None).name == "oauth2"


@pytest.mark.parametrize(
    ("url", "document"),
    [
        (ISSUER, f"{ISSUER}/.well-known/openid-configuration"),
        (f"{ISSUER}/", f"{ISSUER}/.well-known/openid-configuration"),
        (f"{ISSUER}/realms/x", f"{ISSUER}/realms/x/.well-known/openid-configuration"),
        (f"{ISSUER}/.well-known/openid-configuration", f"{ISSUER}/.well-known/openid-configuration"),
    ],
)
def test_an_issuer_and_its_document_name_the_same(url: str, document: str) -> None:
    scheme = OpenIdConnect(url, audience=AUDIENCE, scopes=["read"], description="Sign in")
    assert scheme.schemes == {
        "openIdConnect": OpenIdConnectSecurityScheme(open_id_connect_url=document, description="Sign in")
    }
    assert scheme.requirements == ({"openIdConnect": ("read",)},)


DOCUMENT = f"{ISSUER}/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("url", "issuer", "known"),
    [
        (ISSUER, ISSUER, True),
        (ISSUER, f"{ISSUER}/", False),
        (f"{ISSUER}/", f"{ISSUER}/", True),
        (f"{ISSUER}/", ISSUER, False),
        (DOCUMENT, ISSUER, True),
        (DOCUMENT, f"{ISSUER}/", True),
        (DOCUMENT, "https://other.example", False),
    ],
)
async def test_an_issuer_that_is_named_is_this_very_one_and_one_that_is_found_may_end_with_a_slash(
    monkeypatch: pytest.MonkeyPatch, url: str, issuer: str, known: bool
) -> None:
    async def get(_: IssuerClient, url: str) -> bytes:
        return json.dumps({"issuer": issuer, "jwks_uri": f"{ISSUER}/k"} if url == DOCUMENT else JWKS).encode()

    monkeypatch.setattr(IssuerClient, "get", get)
    scheme = OpenIdConnect(url, audience=AUDIENCE)
    if known:
        assert (await scheme.authenticate(Credentials(bearer(iss=issuer)))).id == f"{issuer} alice"
        with pytest.raises(UnauthenticatedError):
            await scheme.authenticate(Credentials(bearer(iss="https://other.example")))
    else:
        with pytest.raises(UnavailableError):
            await scheme.authenticate(Credentials(bearer(iss=issuer)))


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://issuer.example", {}),
        ("", {}),
        ("issuer.example", {}),
        (ISSUER, {"audience": ""}),
        (ISSUER, {"audience": []}),
        (ISSUER, {"algorithms": ["HS256"]}),
        (ISSUER, {"scopes": ["a\n"]}),
    ],
)
def test_an_openid_provider_is_named_safely(url: str, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"audience": AUDIENCE, **options}
    with pytest.raises(ConfigurationError):
        OpenIdConnect(url, **given)
