"""Flows whose endpoints are where the issuer says."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from dragoman.auth.issuer import IssuerClient
from dragoman.auth.metadata import IssuerMetadata
from dragoman.errors import ConfigurationError, DragomanError
from dragoman.types.card import AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow

__all__ = ["flow_at"]

F = TypeVar("F", AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow)

_ENDPOINTS = {
    "authorization_url": "authorization_endpoint",
    "token_url": "token_endpoint",
    "device_authorization_url": "device_authorization_endpoint",
}


async def flow_at(
    metadata_url: str,
    kind: type[F],
    *,
    issuer: str,
    scopes: Mapping[str, str],
    fetch: Callable[[str], Awaitable[bytes]] | None = None,
) -> F:
    """The flow of this kind with the endpoints that the issuer's metadata name (RFC 8414). It is read once, when an
    agent is put together: `flow = asyncio.run(flow_at(...))`. An authorization code asks for PKCE. `fetch` stands in
    for the network.

    Raises:
        ConfigurationError: the metadata cannot be had, are another issuer's, or do not name an endpoint of this flow;
            or the URL is not https.
    """
    fetch = fetch or IssuerClient(metadata_url).get
    try:
        found = IssuerMetadata.read(await fetch(metadata_url), {issuer})
    except DragomanError as error:
        raise ConfigurationError(f"the metadata at {metadata_url} cannot be had: {error}") from error
    said: dict[str, Any] = {"scopes": dict(scopes)}
    for field in kind.__struct_fields__:
        if field in _ENDPOINTS:
            said[field] = getattr(found, _ENDPOINTS[field])
            if not said[field]:
                raise ConfigurationError(f"the issuer's metadata name no {_ENDPOINTS[field]}")
    if kind is AuthorizationCodeOAuthFlow:
        said["pkce_required"] = True
    return kind(**said)
