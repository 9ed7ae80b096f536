"""Bearer tokens that are signed JWTs (RFC 6750, RFC 7519, RFC 9068)."""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
import pybase64

from dragoman.auth.kept import Kept
from dragoman.auth.keys import FixedKeys, KeySource, PublishedKeys
from dragoman.auth.scheme import Scheme, challenge, denied, unauthenticated
from dragoman.errors import ConfigurationError
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.signing.jws import ASYMMETRIC, NotVerified, verify
from dragoman.types.card import HTTPAuthSecurityScheme

__all__ = ["Bearer"]

LONGEST = 16 * 1024
"""Characters of a token."""
REMEMBERED = 4096
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_KINDS = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""What `typ` may say; tokens for other ends say so there (RFC 8725 section 3.11)."""


class _Claims(msgspec.Struct):
    exp: int | float
    iss: str = ""
    aud: str | list[str] = ""
    nbf: int | float = 0
    iat: int | float = 0
    scope: str = ""
    scp: str | list[str] = ""


class Bearer(Scheme):
    """Callers by JWTs that an issuer has signed for this agent. The id of the principal is the issuer and the subject,
    with a space between: names are an issuer's own.

    A token that was good is remembered, as an HMAC, until it expires, or the keys change.

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
        algorithms: Collection[str] = ("ES256", "EdDSA", "Ed25519", "RS256"),
        scopes: Sequence[str] = (),
        skew: float = 60.0,
        subject: str = "sub",
        name: str = "bearer",
        description: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            name, HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT", description=description), scopes
        )
        self._audiences = frozenset({audience} if isinstance(audience, str) else audience)
        if not issuer or not self._audiences or "" in self._audiences:
            raise ConfigurationError("bearer tokens are of an issuer= and for an audience=")
        if not algorithms or not frozenset(algorithms) <= ASYMMETRIC:
            raise ConfigurationError(f"algorithms can be {', '.join(sorted(ASYMMETRIC))}")
        self._issuer = issuer
        self._source = _source(jwks_url, keys)
        self._algorithms = frozenset(algorithms)
        self._skew = skew
        self._subject = subject
        self._now = now
        self._lacking = challenge("Bearer", error="insufficient_scope", scope=" ".join(scopes))
        self._good: Kept[Principal] = Kept(REMEMBERED)
        self._edition = 0

    async def known(self, credentials: Credentials) -> Principal:
        token = credentials.authorization("Bearer")
        if token is None:
            raise unauthenticated("Bearer")
        principal = await self._of(token)
        if not principal.scopes.issuperset(self.needs):
            raise denied(self.needs, self._lacking)
        return principal

    async def _of(self, token: str) -> Principal:
        keys, edition = await self._source.keys()
        if edition != self._edition:
            self._edition = edition
            self._good.clear()
        now = self._now()
        principal = self._good.get(token, now)
        if principal is not None:
            return principal
        try:
            key_id = _key_id(token)
            if keys.find(key_id) is None:
                keys, _ = await self._source.keys(key_id)
            verified = verify(token, keys, algorithms=self._algorithms)
            principal, until = self._principal(verified.header, verified.payload, now)
        except NotVerified:
            raise unauthenticated(challenge("Bearer", error="invalid_token")) from None
        self._good.put(token, principal, until)
        return principal

    def _principal(self, header: Mapping[str, Any], payload: bytes, now: float) -> tuple[Principal, float]:
        """Whom a genuine token names, and until when; raises `NotVerified` if it is not for this agent, now."""
        if str(header.get("typ", "JWT")).lower() not in _KINDS:
            raise NotVerified("it is a token for another end")
        try:
            claims = msgspec.json.decode(payload, type=_Claims)
            everything: dict[str, Any] = msgspec.json.decode(payload)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise NotVerified("its claims cannot be read") from None
        audiences = {claims.aud} if isinstance(claims.aud, str) else set(claims.aud)
        if claims.iss != self._issuer or not audiences & self._audiences:
            raise NotVerified("it is of another issuer, or for another audience")
        until = claims.exp + self._skew
        if not max(claims.nbf, claims.iat) - self._skew <= now < until:
            raise NotVerified("it is not good now")
        subject = everything.get(self._subject)
        if not isinstance(subject, str) or not subject or not subject.isprintable():
            raise NotVerified("it names nobody")
        scp = claims.scp.split() if isinstance(claims.scp, str) else claims.scp
        return Principal(
            f"{claims.iss} {subject}", self.name, frozenset([*claims.scope.split(), *scp]), everything
        ), until


def _source(jwks_url: str | None, keys: Mapping[str, Any] | str | bytes | KeySource | None) -> KeySource:
    if jwks_url is not None and keys is None:
        return PublishedKeys(jwks_url)
    if jwks_url is not None or keys is None:
        raise ConfigurationError("bearer tokens are verified with jwks_url= or with keys=")
    return FixedKeys(keys) if isinstance(keys, Mapping | str | bytes) else keys


class _Header(msgspec.Struct):
    kid: str


def _key_id(token: str) -> str:
    """The id of the key that a token names, before anything of it is believed."""
    if len(token) > LONGEST or not _FORM.fullmatch(token):
        raise NotVerified("it is no JWT")
    head = token.partition(".")[0]
    try:
        return msgspec.json.decode(pybase64.urlsafe_b64decode(head + "=" * (-len(head) % 4)), type=_Header).kid
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NotVerified("it does not name its key") from None
