"""Bearer tokens that are signed JWTs (RFC 6750, RFC 7519, RFC 9068)."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from dragoman.auth.claims import Expected
from dragoman.auth.jwt import ALGORITHMS, JwtVerifier
from dragoman.auth.keys import FixedKeys, KeySource, PublishedKeys
from dragoman.auth.tokens import TokenScheme
from dragoman.errors import ConfigurationError
from dragoman.types.card import HTTPAuthSecurityScheme

__all__ = ["Bearer", "key_source"]


class Bearer(TokenScheme):
    """Callers by JWTs that an issuer has signed for this agent. The id of the principal is the issuer and the subject,
    with a space between: names are an issuer's own.

    Args:
        issuer: What `iss` must be.
        audience: What must be in `aud`, one of them where there are several: the agent as the issuer names it.
        jwks_url: Where the issuer publishes its keys, over https; also on a private host.
        keys: Instead, the key set itself. Keys have ids, and tokens name them (`kid`).
        algorithms: What may have signed. None can be among them whose keys for verifying are secrets.
        scopes: What each token must be good for, by `scope` or `scp`.
        skew: Seconds that the issuer's clock and ours may differ.
        subject: The claim that names the caller.
        name: The scheme's name in the card.
        description: What the card says of it.
        now: Seconds since 1970.

    Raises:
        ConfigurationError: not exactly one of `jwks_url` and `keys`, no issuer or audience, or an algorithm is not one.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str | Collection[str],
        jwks_url: str | None = None,
        keys: Mapping[str, Any] | str | bytes | KeySource | None = None,
        algorithms: Collection[str] = ALGORITHMS,
        scopes: Sequence[str] = (),
        skew: float = 60.0,
        subject: str = "sub",
        name: str = "bearer",
        description: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        verifier = JwtVerifier(
            Expected.of([issuer], audience, skew=skew, subject=subject),
            key_source(jwks_url, keys),
            algorithms,
            scheme=name,
            now=now,
        )
        described = HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT", description=description)
        super().__init__(name, described, verifier, scopes)


def key_source(jwks_url: str | None, keys: Mapping[str, Any] | str | bytes | KeySource | None) -> KeySource:
    """The keys as they are given.

    Raises:
        ConfigurationError: not exactly one of both is, or it is of no use.
    """
    if jwks_url is not None and keys is None:
        return PublishedKeys(jwks_url)
    if jwks_url is not None or keys is None:
        raise ConfigurationError("tokens are verified with jwks_url= or with keys=")
    return FixedKeys(keys) if isinstance(keys, Mapping | str | bytes) else keys
