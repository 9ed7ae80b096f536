"""Who signs deliveries: given as `signing` among the options of push."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dragoman.errors import ConfigurationError
from dragoman.signing.keys import KeyRing
from dragoman.signing.webhooks import (
    HMAC_HEADER,
    JWT_HEADER,
    LIFETIME,
    Claims,
    Secret,
    audience_of,
    body_hash,
    hmac_signature,
    jwt,
)

__all__ = ["HmacSigner", "JwtSigner", "WebhookSigner"]


@runtime_checkable
class WebhookSigner(Protocol):
    """Signs each attempt of a delivery anew. Quick: it is called on the event loop. Its `repr` shows no secret."""

    def sign(self, *, url: str, identity: str, timestamp: int, task_id: str, body: bytes) -> dict[str, str]:
        """The headers that show from whom the delivery is, names in lower case.

        `identity` and `timestamp` (seconds since 1970) are those of its headers; a direct answer has no `task_id`.
        """
        ...

    def key_set(self, now: float) -> bytes | None:
        """The JWK Set with which receivers verify, to be published; None where they share a secret."""
        ...


class JwtSigner:
    """Signs with a JWT, by keys that receivers find at `/.well-known/jwks.json`.

    Args:
        keys: the ring; ES256 and EdDSA sign in a tenth of a millisecond, RS256 takes more than one.
        issuer: the agent as receivers know it, best the URL of its card without the path.
        lifetime: seconds for which a JWT is good.
    """

    def __init__(self, keys: KeyRing, issuer: str, *, lifetime: float = LIFETIME) -> None:
        if not issuer:
            raise ConfigurationError("JwtSigner needs an issuer: the agent's URL, by which receivers know it")
        if not lifetime >= 1:
            raise ConfigurationError("JwtSigner: lifetime must be 1 second or more")
        self._keys = keys
        self._issuer = issuer
        self._lifetime = int(lifetime)

    def __repr__(self) -> str:
        return f"JwtSigner(issuer={self._issuer!r})"

    def sign(self, *, url: str, identity: str, timestamp: int, task_id: str, body: bytes) -> dict[str, str]:
        claims = Claims(
            issuer=self._issuer,
            audience=audience_of(url),
            issued=timestamp,
            expires=timestamp + self._lifetime,
            id=identity,
            task_id=task_id,
            body_sha256=body_hash(body),
        )
        return {JWT_HEADER: jwt(claims, self._keys.current(timestamp))}

    def key_set(self, now: float) -> bytes | None:
        return self._keys.jwks(now)


class HmacSigner:
    """Signs as Standard Webhooks has it, with secrets (`whsec_...`) that every receiver has, so that each of them could
    sign as well: for receivers of one owner.

    With several secrets there are several signatures, and receivers need one: so a secret is replaced.
    """

    def __init__(self, secrets: str | Sequence[str]) -> None:
        """
        Raises:
            ConfigurationError: there is none, or one is no such secret.
        """
        given = [secrets] if isinstance(secrets, str) else secrets
        if not given:
            raise ConfigurationError("HmacSigner needs a secret")
        self._secrets = tuple(Secret(text) for text in given)

    def __repr__(self) -> str:
        return "HmacSigner(...)"

    def sign(self, *, url: str, identity: str, timestamp: int, task_id: str, body: bytes) -> dict[str, str]:  # noqa: ARG002 -- as every signer
        return {HMAC_HEADER: hmac_signature(self._secrets, identity, timestamp, body)}

    def key_set(self, now: float) -> bytes | None:  # noqa: ARG002 -- as every signer
        return None
