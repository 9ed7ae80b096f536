"""OpenID Connect: an issuer that says by itself where its keys are."""

import time
from collections.abc import Callable, Collection, Sequence

from dragoman.auth.claims import Expected
from dragoman.auth.jwt import ALGORITHMS, JwtVerifier
from dragoman.auth.metadata import PublishedMetadata
from dragoman.auth.tokens import TokenScheme
from dragoman.types.card import OpenIdConnectSecurityScheme

__all__ = ["OpenIdConnect"]

_DISCOVERY = "/.well-known/openid-configuration"


class OpenIdConnect(TokenScheme):
    """Callers by JWTs of an OpenID Provider. Its discovery document, and the keys to which that leads, are fetched when
    the first token comes, and as they change. Principals are named as by `Bearer`.

    Args:
        url: The issuer, or its discovery document: what ends in `/.well-known/openid-configuration`. Over https, or on
            this machine; also on a private host.
        audience: What must be in `aud`, one of them where there are several: the agent as the issuer names it.
        algorithms: What may have signed, as for `Bearer`.
        scopes: What each token must be good for, by `scope` or `scp`.
        skew: Seconds that the issuer's clock and ours may differ.
        subject: The claim that names the caller.
        name: The scheme's name in the card.
        description: What the card says of it.
        now: Seconds since 1970.

    Raises:
        ConfigurationError: the URL is not https, there is no audience, or an algorithm is not one.
    """

    def __init__(
        self,
        url: str,
        *,
        audience: str | Collection[str],
        algorithms: Collection[str] = ALGORITHMS,
        scopes: Sequence[str] = (),
        skew: float = 60.0,
        subject: str = "sub",
        name: str = "openIdConnect",
        description: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        issuer = url.removesuffix(_DISCOVERY)
        # Of an issuer that is named by its document it is not known whether its name ends with a slash.
        issuers = {url} if issuer == url else {issuer, f"{issuer}/"}
        document = f"{issuer.rstrip('/')}{_DISCOVERY}"
        verifier = JwtVerifier(
            Expected.of(issuers, audience, skew=skew, subject=subject),
            PublishedMetadata(document, issuers).keys(),
            algorithms,
            scheme=name,
            now=now,
        )
        described = OpenIdConnectSecurityScheme(open_id_connect_url=document, description=description)
        super().__init__(name, described, verifier, scopes)
