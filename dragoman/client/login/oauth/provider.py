"""Who gives tokens: read from a card, and from the metadata that it points to (RFC 8414, OpenID Connect Discovery)."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.client.login.oauth.failures import LoginFailed, shown
from dragoman.client.login.oauth.web import Web, origin
from dragoman.outbound.url import read_url
from dragoman.ports.webhook import AddressRefused
from dragoman.types.card import (
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    OAuth2SecurityScheme,
    OAuthFlow,
    OpenIdConnectSecurityScheme,
)

__all__ = ["GRANTS", "OAuthScheme", "Provider", "provider_of"]

OAuthScheme = OAuth2SecurityScheme | OpenIdConnectSecurityScheme

GRANTS: dict[type[OAuthFlow], str] = {
    AuthorizationCodeOAuthFlow: "authorization_code",
    ClientCredentialsOAuthFlow: "client_credentials",
    DeviceCodeOAuthFlow: "device_code",
}
"""The grant that each flow of a card means. The deprecated two are not among them."""

_OPENID = "/.well-known/openid-configuration"
_OAUTH = "/.well-known/oauth-authorization-server"


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """Where to ask for tokens. What is not known is empty."""

    issuer: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    device_authorization_endpoint: str = ""
    revocation_endpoint: str = ""
    refresh_endpoint: str = ""
    """Only cards have such."""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ()
    scopes_supported: tuple[str, ...] = ()
    authorization_response_iss_parameter_supported: bool = False

    def needed(self, endpoint: str) -> str:
        """The URL of an endpoint.

        Raises:
            LoginFailed: there is none.
        """
        found: str = getattr(self, endpoint)
        if not found:
            raise LoginFailed(f"Neither the card nor the provider names a {endpoint.replace('_', ' ')}")
        return found

    def may_be(self, issuer: str) -> bool:
        """Whether this is the issuer; where the name is not known, whether it is at least at its place."""
        if self.issuer:
            return issuer == self.issuer
        try:
            return _origin(issuer) == _origin(self.token_endpoint)
        except AddressRefused:
            return False


_ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "device_authorization_endpoint",
    "revocation_endpoint",
    "refresh_endpoint",
)


async def provider_of(scheme: OAuthScheme, web: Web, issuer: str = "") -> Provider:
    """What the card's flow names counts before what the metadata says, as long as it is of the same provider: a card
    that sends users to one and their codes to another is after the codes. An `issuer` that the user names stands for
    itself: then nothing counts but its own metadata, and the card names no place that gets a secret.

    Raises:
        LoginFailed: the metadata is none, of another issuer, or names endpoints that are neither https nor here; or
            the card's endpoints are of several providers.
        ProviderUnreachable: it cannot be had now.
    """
    if issuer:
        return await _of_issuer(issuer.rstrip("/"), web)
    if isinstance(scheme, OpenIdConnectSecurityScheme):
        return await _at(scheme.open_id_connect_url, web)
    told = await _at(scheme.oauth2_metadata_url, web) if scheme.oauth2_metadata_url else Provider()
    flow = scheme.flow
    named = {
        "authorization_endpoint": getattr(flow, "authorization_url", ""),
        "token_endpoint": getattr(flow, "token_url", ""),
        "device_authorization_endpoint": getattr(flow, "device_authorization_url", ""),
        "refresh_endpoint": flow.refresh_url,
    }
    named = {name: web.checked(url, name.replace("_", " ")) for name, url in named.items() if url}
    _of_one(named.values(), told)
    return msgspec.structs.replace(told, **named)


def _of_one(urls: Iterable[str], told: Provider) -> None:
    """Whether URLs of a card are those of one provider: of that whose metadata there are, else at one origin."""
    vouched = {_origin(url) for url in (told.issuer, *(getattr(told, name) for name in _ENDPOINTS)) if url}
    origins = {_origin(url) for url in urls}
    strange = origins - vouched if vouched else origins
    if len(strange) > (0 if vouched else 1):
        places = shown(", ".join(sorted(origins | vouched)))
        raise LoginFailed(f"The card names places of several providers, say which issuer is meant: {places}")


def _origin(url: str) -> str:
    return origin(read_url(url))


async def _of_issuer(issuer: str, web: Web) -> Provider:
    parts = urlsplit(issuer)
    places = (f"{issuer}{_OPENID}", f"{parts.scheme}://{parts.netloc}{_OAUTH}{parts.path}")
    try:
        return await _at(places[0], web)
    except LoginFailed:
        return await _at(places[1], web)


async def _at(url: str, web: Web) -> Provider:
    document = await web.document(url, "metadata")
    try:
        found = msgspec.convert(_without_null(document), Provider)
    except msgspec.ValidationError as error:
        raise LoginFailed(f"The metadata of the provider has a member of a wrong kind: {error}") from None
    if not _speaks_for(found.issuer, url):
        raise LoginFailed(f"The metadata at {shown(url)} names another issuer: {shown(found.issuer) or 'none'}")
    for name in _ENDPOINTS:
        place: str = getattr(found, name)
        if place:
            web.checked(place, name.replace("_", " "))
    return msgspec.structs.replace(found, refresh_endpoint="")


def _without_null(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}


def _speaks_for(issuer: str, url: str) -> bool:
    """Whether metadata at this URL may be the issuer's: by the rules for well-known places (RFC 8414 section 3.3), and
    at a place of another form by its origin.
    """
    parts, told = urlsplit(url), urlsplit(issuer)
    if (parts.scheme, parts.netloc.lower()) != (told.scheme, told.netloc.lower()) or told.query or told.fragment:
        return False
    path = told.path.rstrip("/")
    if _OPENID not in parts.path and _OAUTH not in parts.path:
        return True
    return parts.path in {f"{path}{_OPENID}", f"{_OPENID}{path}", f"{_OAUTH}{path}"}
