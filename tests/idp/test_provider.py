"""The identity provider of the tests gives what they ask of it, over plain HTTP."""

import json
import time
from typing import Any

import pybase64
import pytest

from tests.idp.browser import Browser
from tests.idp.process import AUDIENCE, CALLBACK, DEVICE, IdentityProvider


def _part(token: str, number: int) -> dict[str, Any]:
    part = token.split(".")[number]
    members: dict[str, Any] = json.loads(pybase64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return members


def _published(idp: IdentityProvider) -> list[str]:
    return [key["kid"] for key in json.loads(Browser().visit(idp.jwks_url).text)["keys"]]


def test_it_says_where_everything_is(idp: IdentityProvider) -> None:
    for url in (idp.discovery_url, idp.metadata_url):
        told = json.loads(Browser().visit(url).text)
        assert told["issuer"] == idp.issuer
        assert (told["token_endpoint"], told["jwks_uri"]) == (idp.token_url, idp.jwks_url)
        assert told["authorization_endpoint"] == idp.authorization_url
        assert told["device_authorization_endpoint"] == idp.device_authorization_url
        assert (told["introspection_endpoint"], told["revocation_endpoint"]) == (
            idp.introspection_url,
            idp.revocation_url,
        )


@pytest.mark.parametrize("client", ["service", "service-post"])
def test_a_program_gets_a_token_of_its_own(idp: IdentityProvider, client: str) -> None:
    claims = _part(idp.token(client, "chat pay", resource="https://other.example"), 1)
    assert (claims["iss"], claims["sub"], claims["aud"]) == (idp.issuer, client, "https://other.example")
    assert (claims["scope"], claims["exp"] - claims["iat"]) == ("chat pay", 600)
    brief = _part(idp.token(f"{client}-brief"), 1)
    assert (brief["aud"], brief["exp"] - brief["iat"]) == (AUDIENCE, 2)
    refused = idp.post(
        idp.token_url, client, grant_type="client_credentials", scope="call", resource="https://nowhere.example"
    )
    assert refused["error"] == "invalid_target"


@pytest.mark.parametrize("client", ["app", "web"])
def test_somebody_signs_in_with_a_code_and_pkce_and_stays_so_by_refreshing(idp: IdentityProvider, client: str) -> None:
    granted = idp.tokens(client, "openid chat", "bob")
    claims = _part(granted["access_token"], 1)
    assert (claims["sub"], claims["aud"], claims["scope"], claims["org"]) == ("bob", AUDIENCE, "chat", "globex")
    assert _part(granted["id_token"], 1)["sub"] == "bob"
    again = idp.refreshed(granted["refresh_token"], client)
    assert _part(again["access_token"], 1)["sub"] == "bob"
    assert again["refresh_token"] != granted["refresh_token"]
    assert idp.refreshed(granted["refresh_token"], client)["error"] == "invalid_grant"
    # Whoever shows a refresh token twice has stolen one: the whole grant is over.
    assert idp.refreshed(again["refresh_token"], client)["error"] == "invalid_grant"


def test_nobody_signs_in_without_pkce_or_against_their_will(idp: IdentityProvider) -> None:
    ask = f"{idp.authorization_url}?response_type=code&client_id=app&redirect_uri={CALLBACK}&scope=call"
    assert idp.sign_in(ask)["error"] == "invalid_request"
    proof = "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"
    assert idp.sign_in(f"{ask}{proof}&login_hint=nobody")["error"] == "access_denied"
    assert set(idp.sign_in(f"{ask}{proof}&state=s")) == {"code", "state", "iss"}


def test_a_device_is_let_in_by_somebody_who_has_a_browser(idp: IdentityProvider) -> None:
    for abort in (False, True):
        asked = idp.post(idp.device_authorization_url, "app", scope="openid call")
        form = {"grant_type": DEVICE, "device_code": asked["device_code"]}
        assert idp.post(idp.token_url, "app", **form)["error"] == "authorization_pending"
        page = idp.approve(asked["verification_uri_complete"], abort=abort)
        answer = idp.post(idp.token_url, "app", **form)
        assert ("Sign-in Success" in page, answer.get("error")) == ((False, "access_denied") if abort else (True, None))
        assert abort or _part(answer["access_token"], 1)["sub"] == "alice"


def test_what_is_no_jwt_is_introspected_until_it_is_revoked(idp: IdentityProvider) -> None:
    for token, name in (
        (idp.token("service-opaque"), "service-opaque"),
        (idp.tokens("app-opaque")["access_token"], "alice"),
    ):
        told = idp.introspected(token)
        assert (told["active"], told.get("sub", told["client_id"]), told["aud"]) == (True, name, AUDIENCE)
        assert (told["scope"], told["iss"]) == ("call", idp.issuer)
        idp.revoke(token)
        assert idp.introspected(token) == {"active": False}
    assert idp.introspected("made-up") == {"active": False}


def test_keys_change_and_the_old_ones_are_there_until_they_are_retired(idp: IdentityProvider) -> None:
    before = _part(idp.token(), 0)
    assert (before["typ"], before["kid"] in _published(idp)) == ("at+jwt", True)
    for algorithm in ("EdDSA", "RS256", "ES256"):
        kid = idp.rotate(algorithm)
        assert (_part(idp.token(), 0)["kid"], _part(idp.token(), 0)["alg"]) == (kid, algorithm)
    assert before["kid"] in _published(idp)
    idp.retire()
    assert _published(idp) == [kid]


def test_its_clock_can_be_set_and_what_it_answers_made_to_fail(idp: IdentityProvider) -> None:
    with idp.clock(-3600):
        old = idp.token("service-opaque")
        assert _part(idp.token(), 1)["exp"] < time.time() - 2000
        assert idp.introspected(old)["active"]
    assert not idp.introspected(old)["active"]
    before = idp.calls(idp.jwks_url)
    with idp.failing(idp.jwks_url, 503):
        assert Browser().visit(idp.jwks_url).status == 503
    assert Browser().visit(idp.jwks_url).status == 200
    assert idp.calls(idp.jwks_url) == before + 2
