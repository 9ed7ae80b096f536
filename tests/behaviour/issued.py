"""Callers whose tokens come from an identity provider by others, and the same callers as they should not be."""

from collections.abc import Callable

from dragoman.auth import (
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    Introspection,
    OAuth2,
    OpenIdConnect,
    Scheme,
)
from tests.idp.process import AUDIENCE, IdentityProvider, secret_of

__all__ = ["HOWS", "KINDS", "Issued"]

KINDS = ("OpenID Connect", "OAuth 2 with JWTs", "OAuth 2 with introspection")
SCOPES = {"call": "Call the agent", "chat": "Talk", "pay": "Pay"}
_LACKING = 'Bearer error="insufficient_scope", scope="call"'
_INVALID = 'Bearer error="invalid_token"'
HOWS: dict[str, tuple[str, str]] = {
    "none": ("UNAUTHENTICATED", 'Bearer scope="call"'),
    "made up": ("UNAUTHENTICATED", _INVALID),
    "wrong": ("UNAUTHENTICATED", _INVALID),
    "expired": ("UNAUTHENTICATED", _INVALID),
    "wrong audience": ("UNAUTHENTICATED", _INVALID),
    "wrong kind": ("UNAUTHENTICATED", _INVALID),
    "wrong scope": ("PERMISSION_DENIED", _LACKING),
    "right, of a program": ("", ""),
    "right, of somebody": ("", ""),
}
"""What somebody brings, the reason for which they are refused (none if they are let in), and the challenge."""


class Issued:
    """Tokens of one provider, each made when it is first needed."""

    def __init__(self, idp: IdentityProvider) -> None:
        self._idp = idp
        self._tokens: dict[tuple[bool, str], str] = {}

    def scheme(self, kind: str) -> Scheme:
        """One of `KINDS`, which has asked the provider for nothing yet."""
        idp = self._idp
        if kind == "OpenID Connect":
            return OpenIdConnect(idp.issuer, audience=AUDIENCE, scopes=["call"])
        if kind == "OAuth 2 with JWTs":
            flow = AuthorizationCodeOAuthFlow(
                authorization_url=idp.authorization_url,
                token_url=idp.token_url,
                scopes=SCOPES,
                pkce_required=True,
            )
            return OAuth2(flow, issuer=idp.issuer, audience=AUDIENCE, metadata_url=idp.metadata_url, scopes=["call"])
        return OAuth2(
            ClientCredentialsOAuthFlow(token_url=idp.token_url, scopes=SCOPES),
            issuer=idp.issuer,
            audience=AUDIENCE,
            metadata_url=idp.metadata_url,
            introspection=Introspection(client_id="agent", client_secret=secret_of("agent")),
            scopes=["call"],
        )

    def headers(self, kind: str, how: str) -> dict[str, str]:
        """What is sent by somebody who comes as `how` says."""
        opaque = kind == "OAuth 2 with introspection"
        if how == "none":
            return {}
        if (opaque, how) not in self._tokens:
            self._tokens[opaque, how] = _MADE[how](self._idp, "-opaque" if opaque else "")
        return {"authorization": f"Bearer {self._tokens[opaque, how]}"}


def _wrong(idp: IdentityProvider, suffix: str) -> str:
    """A JWT with another's signature; what is no JWT is over before its time."""
    if not suffix:
        mine, other = idp.token(scope="chat"), idp.token()
        return f"{mine.rpartition('.')[0]}.{other.rpartition('.')[2]}"
    token = idp.token(f"service{suffix}")
    idp.revoke(token)
    return token


def _expired(idp: IdentityProvider, suffix: str) -> str:
    with idp.clock(-3600):
        return idp.token(f"service{suffix}")


_MADE: dict[str, Callable[[IdentityProvider, str], str]] = {
    "made up": lambda _, suffix: "made-up" if suffix else "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.e30",
    "wrong": _wrong,
    "expired": _expired,
    "wrong audience": lambda idp, suffix: idp.token(f"service{suffix}", resource="https://other.example"),
    "wrong kind": lambda idp, suffix: str(idp.tokens(f"app{suffix}")["refresh_token" if suffix else "id_token"]),
    "wrong scope": lambda idp, suffix: idp.token(f"service{suffix}", "chat pay"),
    "right, of a program": lambda idp, suffix: idp.token(f"service{suffix}", "pay call"),
    "right, of somebody": lambda idp, suffix: str(idp.tokens(f"app{suffix}", "openid call")["access_token"]),
}
