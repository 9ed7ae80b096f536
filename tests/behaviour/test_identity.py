"""An agent and the identity provider that vouches for its callers, over time: keys change, tokens are revoked, and
sometimes nobody answers.
"""

import asyncio
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from dragoman.auth import (
    AuthorizationCodeOAuthFlow,
    Bearer,
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    Introspection,
    OAuth2,
    OpenIdConnect,
)
from dragoman.types.card import OAuthFlow
from tests.behaviour.agents import echo
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.issued import SCOPES, Issued
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start, card_of, refused
from tests.idp.process import AUDIENCE, IdentityProvider, secret_of

ASKING = Introspection(client_id="agent", client_secret=secret_of("agent"))


def by(token: str) -> dict[str, Any]:
    return {"headers": {"authorization": f"Bearer {token}"}}


def introspecting(idp: IdentityProvider, asking: Introspection = ASKING) -> OAuth2:
    flow = ClientCredentialsOAuthFlow(token_url=idp.token_url, scopes=SCOPES)
    return OAuth2(flow, issuer=idp.issuer, audience=AUDIENCE, metadata_url=idp.metadata_url, introspection=asking)


@only(FINAL_JSON[0])
@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
async def test_a_new_key_is_followed_and_old_tokens_stay_good_until_their_key_is_retired(
    serve: Serve, idp: IdentityProvider, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = await serve(echo(auth=OpenIdConnect(idp.issuer, audience=AUDIENCE)))
    old = idp.token()
    task = await wire.send(**by(old))
    idp.rotate(algorithm)
    new = idp.token()
    assert await wire.get(task["id"], **by(new)) == task
    assert await wire.get(task["id"], **by(old)) == task
    idp.retire()
    assert await wire.get(task["id"], **by(new)) == task
    # As if half a minute had passed since a key was missed.
    monkeypatch.setattr("dragoman.auth.published.PAUSE", 0.0)
    idp.rotate()
    assert await wire.get(task["id"], **by(idp.token())) == task
    with refused("UNAUTHENTICATED"):
        await wire.get(task["id"], **by(old))


@only(FINAL_JSON[0])
async def test_a_key_that_is_made_up_has_the_provider_asked_no_more_than_twice_a_minute(
    serve: Serve, idp: IdentityProvider
) -> None:
    wire = await serve(echo(auth=Bearer(issuer=idp.issuer, audience=AUDIENCE, jwks_url=idp.jwks_url)))
    token = idp.token()
    await wire.send(**by(token))
    before = idp.calls(idp.jwks_url)
    for number in range(20):
        with refused("UNAUTHENTICATED"):
            await wire.send(**by(_under_another_key(token, f"made up {number}")))
    assert idp.calls(idp.jwks_url) == before + 1
    await wire.send(**by(token))


def _under_another_key(token: str, kid: str) -> str:
    head = json.dumps({"alg": "ES256", "kid": kid}).encode()
    return f"{urlsafe_b64encode(head).decode().rstrip('=')}.{token.partition('.')[2]}"


@only(FINAL_JSON[0])
async def test_a_token_that_is_revoked_counts_no_longer_than_an_answer_is_kept(
    serve: Serve, idp: IdentityProvider
) -> None:
    asking = Introspection(client_id="agent", client_secret=secret_of("agent"), keep=0)
    wire = await serve(echo(auth=introspecting(idp, asking)))
    token = idp.tokens("app-opaque")["access_token"]
    await wire.send(**by(token))
    idp.revoke(token)
    with refused("UNAUTHENTICATED"):
        await wire.send(**by(token))


@only(FINAL_JSON[0])
async def test_many_calls_with_one_new_token_have_the_provider_asked_once(serve: Serve, idp: IdentityProvider) -> None:
    wire = await serve(echo(auth=introspecting(idp)))
    token = idp.token("service-opaque")
    before = idp.calls(idp.introspection_url)
    tasks = await asyncio.gather(*[wire.send(**by(token)) for _ in range(50)])
    assert len({task["id"] for task in tasks}) == 50
    assert idp.calls(idp.introspection_url) == before + 1


@requirement("R-7.4-02")
@pytest.mark.parametrize("kind", ["keys", "introspection"])
async def test_a_provider_that_does_not_answer_is_no_refusal(serve: Serve, idp: IdentityProvider, kind: str) -> None:
    opaque = kind == "introspection"
    auth = introspecting(idp) if opaque else OpenIdConnect(idp.issuer, audience=AUDIENCE)
    wire = await serve(echo(auth=auth))
    token = idp.token("service-opaque" if opaque else "service")
    with idp.failing(idp.introspection_url if opaque else idp.jwks_url), refused("UNAVAILABLE") as caught:
        await wire.send(**by(token))
    headers = caught.value.reply.headers
    assert (headers["retry-after"], "www-authenticate" in headers) == ("2", False)
    if opaque:
        assert (await wire.send(**by(token)))["status"]["state"] == "TASK_STATE_COMPLETED"


@only(FINAL_JSON[0])
async def test_who_is_known_comes_in_while_the_provider_hangs(serve: Serve, idp: IdentityProvider) -> None:
    wire = await serve(echo(auth=introspecting(idp)))
    known, new = idp.token("service-opaque"), idp.token("service-opaque")
    await wire.send(**by(known))
    with idp.failing(idp.introspection_url, 0):
        waiting = asyncio.create_task(wire.send(**by(new)))
        await asyncio.sleep(0)
        assert (await wire.send(**by(known)))["status"]["state"] == "TASK_STATE_COMPLETED"
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@requirement("R-13.1-02")
async def test_a_program_and_somebody_are_two_callers_also_if_they_are_called_alike(
    serve: Serve, idp: IdentityProvider
) -> None:
    wire = await serve(echo(auth=introspecting(idp)))
    program = idp.token("service-opaque")
    somebody = idp.tokens("app-opaque", login="service-opaque")["access_token"]
    task = await wire.send(**by(program))
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], **by(somebody))
    assert await wire.get(task["id"], **by(idp.token("service-opaque"))) == task


@only(FINAL_JSON[0])
async def test_any_of_several_providers_lets_in_and_none_is_shown_anothers_tokens(
    serve: Serve, idp: IdentityProvider
) -> None:
    flow = ClientCredentialsOAuthFlow(token_url=idp.token_url, scopes=SCOPES)
    other = OAuth2(
        flow,
        issuer="https://other.example",
        audience=AUDIENCE,
        introspection=Introspection(client_id="a", client_secret="b", url="https://other.example/introspect"),
    )
    wire = await serve(echo(auth=other | OpenIdConnect(idp.issuer, audience=AUDIENCE)))
    assert (await wire.send(**by(idp.token())))["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("R-4.5-01")
@pytest.mark.parametrize("flow", ["authorizationCode", "clientCredentials", "deviceCode"])
async def test_the_card_describes_the_flow_in_the_shape_of_both_lines(
    started: Start, idp: IdentityProvider, flow: str
) -> None:
    flows: dict[str, OAuthFlow] = {
        "authorizationCode": AuthorizationCodeOAuthFlow(
            authorization_url=idp.authorization_url, token_url=idp.token_url, scopes=SCOPES, pkce_required=True
        ),
        "clientCredentials": ClientCredentialsOAuthFlow(token_url=idp.token_url, scopes=SCOPES),
        "deviceCode": DeviceCodeOAuthFlow(
            device_authorization_url=idp.device_authorization_url, token_url=idp.token_url, scopes=SCOPES
        ),
    }
    auth = OAuth2(
        flows[flow], issuer=idp.issuer, audience=AUDIENCE, metadata_url=idp.metadata_url, scopes=["call"]
    ) | Issued(idp).scheme("OpenID Connect")
    card = await card_of(await started(echo(auth=auth).asgi()))
    assert card["securityRequirements"] == [
        {"schemes": {"oauth2": {"list": ["call"]}}},
        {"schemes": {"openIdConnect": {"list": ["call"]}}},
    ]
    assert card["security"] == [{"oauth2": ["call"]}, {"openIdConnect": ["call"]}]
    oauth2 = card["securitySchemes"]["oauth2"]
    assert oauth2["type"] == "oauth2"
    assert oauth2["oauth2MetadataUrl"] == oauth2["oauth2SecurityScheme"]["oauth2MetadataUrl"] == idp.metadata_url
    [(name, said)] = oauth2["oauth2SecurityScheme"]["flows"].items()
    assert (name, said["tokenUrl"], said["scopes"]) == (flow, idp.token_url, SCOPES)
    assert said.get("pkceRequired", False) == (flow == "authorizationCode")
    oidc = card["securitySchemes"]["openIdConnect"]
    assert (oidc["type"], oidc["openIdConnectUrl"]) == ("openIdConnect", idp.discovery_url)
    assert oidc["openIdConnectSecurityScheme"] == {"openIdConnectUrl": idp.discovery_url}
