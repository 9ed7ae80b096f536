"""Signatures over webhook deliveries: as a JWT with a hash of the body, and by HMAC as Standard Webhooks has it.

Making and verifying stand side by side, so that they cannot drift apart. Nothing here looks at a clock: `now` is in
seconds since 1970. Names of headers are in lower case. What a receiver gets is told in `docs/webhooks.md`.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec
import pybase64

from dragoman.errors import ConfigurationError
from dragoman.signing import jws
from dragoman.signing.jws import JWT_ALGORITHMS, NotVerified, PublicKeys
from dragoman.signing.keys import SigningKey

__all__ = [
    "HMAC_HEADER",
    "ID_HEADER",
    "JWT_HEADER",
    "TIMESTAMP_HEADER",
    "Claims",
    "Secret",
    "audience_of",
    "body_hash",
    "hmac_signature",
    "jwt",
    "verify_hmac",
    "verify_jwt",
]

ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
HMAC_HEADER = "webhook-signature"
JWT_HEADER = "a2a-notification-signature"

LIFETIME = 300.0
"""Seconds for which a JWT is good."""
SKEW = 60.0
"""Seconds that two clocks may differ."""
WINDOW = 300.0
"""Seconds after which a signature is too old, whatever it says itself."""

_PREFIX = "whsec_"
_VERSION = "v1,"
_SECRET_BYTES = range(24, 65)
_MOST_SIGNATURES = 32
_DEFAULT_PORTS = {"http": 80, "https": 443}


def audience_of(url: str) -> str:
    """The origin of a URL, by which a JWT says for whom it is: scheme, host and port, without a default port."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def body_hash(body: bytes) -> str:
    """SHA-256 in base64url without padding."""
    return pybase64.urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip("=")


# As a JWT.


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What the JWT of a delivery says. Times in whole seconds since 1970."""

    issuer: str = msgspec.field(name="iss")
    """The agent, as its owner names it."""
    audience: str | list[str] = msgspec.field(name="aud")
    """The origin of the webhook."""
    issued: int | float = msgspec.field(name="iat")
    expires: int | float = msgspec.field(name="exp")
    id: str = msgspec.field(name="jti")
    """The id of the delivery: what stands in `webhook-id`."""
    task_id: str = msgspec.field(name="taskId")
    """Empty for a message that is the answer to a message."""
    body_sha256: str
    """The hash of the body, as `body_hash` makes it."""


def jwt(claims: Claims, key: SigningKey) -> str:
    """What stands in the header `a2a-notification-signature`."""
    return key.sign(msgspec.json.encode(claims), {"typ": "JWT"})


def verify_jwt(
    headers: Mapping[str, str],
    body: bytes,
    *,
    keys: PublicKeys,
    audience: str | Collection[str],
    now: float,
    issuer: str | None = None,
    algorithms: Collection[str] = JWT_ALGORITHMS,
    window: float = WINDOW,
    skew: float = SKEW,
) -> Claims:
    """What the JWT of a delivery says, if one of the keys has signed it, now, for this audience, over this body and id.

    `keys` are the agent's own, had from it beforehand, never by what a delivery says. A JWT is good until it says
    itself, but for `window` seconds at most, and `skew` more at either end. The same delivery comes again when an
    answer was lost, so the id is for the receiver to remember for `window` and twice `skew`.

    Raises:
        NotVerified: it is not so, or there is no JWT.
    """
    token = headers.get(JWT_HEADER)
    if not token:
        raise NotVerified(f"there is no {JWT_HEADER}")
    verified = jws.verify(token, keys, algorithms=algorithms)
    if verified.header.get("typ", "JWT") != "JWT":
        raise NotVerified("what is signed is no JWT")
    try:
        claims = msgspec.json.decode(verified.payload, type=Claims)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NotVerified("the JWT lacks claims") from None
    _check_time(claims, now, window, skew)
    _check_claims(claims, headers, body, {audience} if isinstance(audience, str) else audience, issuer)
    return claims


def _check_time(claims: Claims, now: float, window: float, skew: float) -> None:
    if claims.issued > now + skew:
        raise NotVerified("the JWT is not good yet")
    if min(claims.expires, claims.issued + window) <= now - skew:
        raise NotVerified("the JWT is not good any more")


def _check_claims(
    claims: Claims, headers: Mapping[str, str], body: bytes, audience: Collection[str], issuer: str | None
) -> None:
    stated = [claims.audience] if isinstance(claims.audience, str) else claims.audience
    if not any(one in audience for one in stated):
        raise NotVerified("the JWT is for another receiver")
    if issuer is not None and claims.issuer != issuer:
        raise NotVerified("the JWT is from another agent")
    if headers.get(ID_HEADER) != claims.id:
        raise NotVerified(f"the JWT is of another {ID_HEADER}")
    if not hmac.compare_digest(claims.body_sha256.encode(), body_hash(body).encode()):
        raise NotVerified("the body is not the one that was signed")


# By HMAC.


class Secret:
    """A secret that agent and receiver share: `whsec_` and the base64 of 24 to 64 bytes. `repr` does not tell it."""

    def __init__(self, text: str) -> None:
        """
        Raises:
            ConfigurationError: it is no such text.
        """
        try:
            self._key = pybase64.b64decode(text.removeprefix(_PREFIX), validate=True)
        except ValueError:
            self._key = b""
        if len(self._key) not in _SECRET_BYTES:
            raise ConfigurationError(f"a secret of webhooks is {_PREFIX} and the base64 of 24 to 64 random bytes")
        self.text = _PREFIX + text.removeprefix(_PREFIX)

    @classmethod
    def generate(cls) -> "Secret":
        return cls(pybase64.b64encode(secrets.token_bytes(32)).decode())

    def __repr__(self) -> str:
        return "Secret(...)"

    def digest(self, text: bytes) -> str:
        return pybase64.b64encode(hmac.digest(self._key, text, hashlib.sha256)).decode()


def hmac_signature(shared: Sequence[Secret], delivery_id: str, timestamp: int, body: bytes) -> str:
    """What stands in the header `webhook-signature`: one signature for each secret."""
    signed = _signed(delivery_id, str(timestamp), body)
    return " ".join([_VERSION + secret.digest(signed) for secret in shared])


def verify_hmac(
    headers: Mapping[str, str], body: bytes, *, shared: Sequence[Secret], now: float, window: float = WINDOW
) -> str:
    """The id of a delivery that was signed with one of the secrets, at most `window` seconds from now.

    The same delivery may come again until then, so the id is for the receiver to remember for twice the window: the
    clock of the agent may be ahead.

    Raises:
        NotVerified: it is not so, or there is no signature.
    """
    delivery_id, timestamp = headers.get(ID_HEADER, ""), headers.get(TIMESTAMP_HEADER, "")
    stated = headers.get(HMAC_HEADER, "")
    if not (delivery_id and stated):
        raise NotVerified(f"there is no {HMAC_HEADER if delivery_id else ID_HEADER}")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):  # noqa: PLR2004 -- no year has more
        raise NotVerified(f"there is no {TIMESTAMP_HEADER} in seconds")
    if abs(now - int(timestamp)) > window:
        raise NotVerified("the delivery is too old, or not due yet")
    signed = _signed(delivery_id, timestamp, body)
    signatures = [one[len(_VERSION) :].encode() for one in stated.split(" ") if one.startswith(_VERSION)]
    wanted = [secret.digest(signed).encode() for secret in shared]
    # All are compared, so that the time tells nothing of which one it was.
    same = [hmac.compare_digest(one, other) for one in signatures[:_MOST_SIGNATURES] for other in wanted]
    if not any(same):
        raise NotVerified("the signature is wrong")
    return delivery_id


def _signed(delivery_id: str, timestamp: str, body: bytes) -> bytes:
    return b"%b.%b.%b" % (delivery_id.encode(errors="replace"), timestamp.encode(), body)
