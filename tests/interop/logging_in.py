"""Agents that ask for tokens of the identity provider, and users who log in there."""

import asyncio
import base64
import json
import time
from typing import Any

from dragoman.client.login.need import Login, Need, Secret
from dragoman.client.login.oauth import Visit
from dragoman.types.card import (
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    OAuth2SecurityScheme,
    OAuthFlow,
    OpenIdConnectSecurityScheme,
)
from tests.idp.browser import Browser
from tests.idp.process import IdentityProvider

__all__ = ["AGENT", "LIMIT", "Clock", "User", "by_card", "by_openid", "claims_of", "code", "device", "given", "service"]

ORIGIN = "http://127.0.0.1:9999"
AGENT = f"{ORIGIN}/agent"
LIMIT = 60.0


def by_card(flow: OAuthFlow, metadata: str = "") -> Need:
    scheme = OAuth2SecurityScheme(flow=flow, oauth2_metadata_url=metadata)
    return Need(name="oauth", scheme=scheme, scopes=("chat",), origin=ORIGIN, agent=AGENT)


def by_openid(idp: IdentityProvider) -> Need:
    scheme = OpenIdConnectSecurityScheme(open_id_connect_url=idp.discovery_url)
    return Need(name="openid", scheme=scheme, scopes=("chat",), origin=ORIGIN, agent=AGENT)


def service(idp: IdentityProvider) -> Need:
    return by_card(ClientCredentialsOAuthFlow(token_url=idp.token_url, scopes={"chat": "Chat"}))


def code(idp: IdentityProvider, metadata: str = "") -> Need:
    urls = {"authorization_url": idp.authorization_url, "token_url": idp.token_url}
    return by_card(AuthorizationCodeOAuthFlow(scopes={"chat": "Chat"}, pkce_required=True, **urls), metadata)


def device(idp: IdentityProvider) -> Need:
    urls = {"device_authorization_url": idp.device_authorization_url, "token_url": idp.token_url}
    return by_card(DeviceCodeOAuthFlow(scopes={"chat": "Chat"}, **urls))


class User:
    """Opens the pages that a login names, as a browser does."""

    def __init__(self, idp: IdentityProvider, *, login: str = "alice", abort: bool = False) -> None:
        self._idp = idp
        self._login = login
        self._abort = abort
        self.visits: list[Visit] = []

    async def __call__(self, visit: Visit) -> None:
        self.visits.append(visit)
        if visit.code:
            await asyncio.to_thread(self._idp.approve, visit.complete_url, abort=self._abort)
        else:
            await asyncio.to_thread(Browser().visit, f"{visit.url}&login_hint={self._login}")


class Clock:
    """A clock that goes on only when it is told to; pausing tells it."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return time.time() + self.ahead

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.ahead += seconds


def claims_of(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return found


async def given(login: Login, need: Need, refused: Secret | None = None) -> Secret:
    async with asyncio.timeout(LIMIT):
        secret = await login.credentials(need, refused=refused)
    assert secret is not None
    return secret
