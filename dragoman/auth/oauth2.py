"""OAuth 2: the flow by which callers get their tokens, and how the tokens are verified."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from dragoman.auth.bearer import key_source
from dragoman.auth.claims import Expected
from dragoman.auth.introspection import Introspection, Introspector, Post, Where
from dragoman.auth.issuer import IssuerClient, is_safe
from dragoman.auth.jwt import ALGORITHMS, JwtVerifier
from dragoman.auth.keys import KeySource
from dragoman.auth.metadata import PublishedMetadata
from dragoman.auth.tokens import TokenScheme, TokenVerifier
from dragoman.errors import ConfigurationError
from dragoman.ports.webhook import Undelivered
from dragoman.types.card import OAuth2SecurityScheme, OAuthFlow

__all__ = ["OAuth2"]

_URLS = ("authorization_url", "token_url", "device_authorization_url", "refresh_url")


class OAuth2(TokenScheme):
    """Callers by access tokens, which they get by a flow that the card describes. Tokens are verified as JWTs, with
    keys from `jwks_url`, from `keys`, or from where `metadata_url` leads; or by asking the issuer (`introspection`).
    Principals are named as by `Bearer`; a client of which introspection names no `sub`, with `client ` in front.

    Args:
        flow: The flow, with its endpoints and the scopes that there are.
        issuer: What `iss` must be.
        audience: What must be in `aud`, one of them where there are several: the agent as the issuer names it. None
            only with introspection at an issuer that says of a token of others that it is not active.
        metadata_url: What the issuer says of itself (RFC 8414), which the card names too.
        jwks_url: Where the issuer publishes its keys, over https; also on a private host.
        keys: Instead, the key set itself.
        introspection: Instead, how to ask.
        algorithms: What may have signed, as for `Bearer`.
        scopes: What each token must be good for; the flow declares them.
        skew: Seconds that the issuer's clock and ours may differ.
        subject: The claim that names the caller.
        name: The scheme's name in the card.
        description: What the card says of it.
        now: Seconds since 1970.

    Raises:
        ConfigurationError: it cannot be known how to verify, or in two ways; a URL is not https; there is no issuer or
            audience; a scope is not declared; an algorithm is not one.
    """

    def __init__(
        self,
        flow: OAuthFlow,
        *,
        issuer: str,
        audience: str | Collection[str] | None,
        metadata_url: str | None = None,
        jwks_url: str | None = None,
        keys: Mapping[str, Any] | str | bytes | KeySource | None = None,
        introspection: Introspection | None = None,
        algorithms: Collection[str] = ALGORITHMS,
        scopes: Sequence[str] = (),
        skew: float = 60.0,
        subject: str = "sub",
        name: str = "oauth2",
        description: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        _check(flow, scopes)
        wanted = Expected.of([issuer], () if audience is None else audience, skew=skew, subject=subject)
        if introspection is not None and (jwks_url is not None or keys is not None):
            raise ConfigurationError("tokens are verified with keys or with introspection=")
        metadata = None if metadata_url is None else PublishedMetadata(metadata_url, [issuer])
        verifier: TokenVerifier
        if introspection is not None:
            where, post = _asked(introspection, metadata)
            verifier = Introspector(wanted, introspection, where, post, scheme=name, now=now)
        else:
            led_to = metadata.keys() if metadata is not None and jwks_url is None and keys is None else None
            source = led_to or key_source(jwks_url, keys)
            verifier = JwtVerifier(wanted, source, algorithms, scheme=name, now=now)
        described = OAuth2SecurityScheme(flow=flow, oauth2_metadata_url=metadata_url or "", description=description)
        super().__init__(name, described, verifier, scopes)


def _check(flow: OAuthFlow, scopes: Sequence[str]) -> None:
    """Nobody is sent to where others read along, nor refused for want of what nobody can get."""
    for name in _URLS:
        url: str = getattr(flow, name, "")
        if url and not is_safe(url):
            raise ConfigurationError(f"{name} is over https, or on this machine")
    unknown = [scope for scope in scopes if scope not in flow.scopes]
    if unknown:
        raise ConfigurationError(f"the flow declares no scope {', '.join(unknown)}")


def _asked(asking: Introspection, metadata: PublishedMetadata | None) -> tuple[Where, Post]:
    """Where tokens are introspected, and what asks there."""

    async def stated() -> str:
        return asking.url

    if asking.url:
        return stated, IssuerClient(asking.url).post
    if metadata is None:
        raise ConfigurationError("introspection needs its url=, or metadata_url=")

    async def found() -> str:
        url = (await metadata.current()).introspection_endpoint
        if not url:
            raise Undelivered("The issuer's metadata name no introspection endpoint")
        return url

    return found, IssuerClient(metadata.url).post
