"""Flows whose endpoints are read from what the issuer says of itself."""

import json
from typing import Any

import pytest

from dragoman.auth import (
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    flow_at,
)
from dragoman.errors import ConfigurationError
from dragoman.ports.webhook import Undelivered
from tests.idp.process import IdentityProvider
from tests.unit.auth.tokens import ISSUER

URL = f"{ISSUER}/.well-known/oauth-authorization-server"
SCOPES = {"call": "Call"}


async def test_every_flow_finds_its_endpoints_at_a_real_issuer(idp: IdentityProvider) -> None:
    given: Any = {"issuer": idp.issuer, "scopes": SCOPES}
    assert await flow_at(idp.metadata_url, ClientCredentialsOAuthFlow, **given) == ClientCredentialsOAuthFlow(
        token_url=idp.token_url, scopes=SCOPES
    )
    assert await flow_at(idp.metadata_url, AuthorizationCodeOAuthFlow, **given) == AuthorizationCodeOAuthFlow(
        authorization_url=idp.authorization_url, token_url=idp.token_url, scopes=SCOPES, pkce_required=True
    )
    assert await flow_at(idp.discovery_url, DeviceCodeOAuthFlow, **given) == DeviceCodeOAuthFlow(
        device_authorization_url=idp.device_authorization_url, token_url=idp.token_url, scopes=SCOPES
    )


@pytest.mark.parametrize(
    "said",
    [
        None,
        {"issuer": ISSUER},
        {"issuer": ISSUER, "token_endpoint": ""},
        {"issuer": ISSUER, "token_endpoint": "http://issuer.example/token"},
        {"issuer": "https://other.example", "token_endpoint": f"{ISSUER}/token"},
        [],
    ],
)
async def test_an_agent_is_not_put_together_with_a_flow_that_leads_nowhere(said: Any) -> None:
    async def fetch(_: str) -> bytes:
        if said is None:
            raise Undelivered("No connection")
        return json.dumps(said).encode()

    with pytest.raises(ConfigurationError):
        await flow_at(URL, ClientCredentialsOAuthFlow, issuer=ISSUER, scopes=SCOPES, fetch=fetch)
