"""Tokens as an issuer makes them, and wrongly."""

import json
import time
from typing import Any

from dragoman.signing.keys import SigningKey
from tests.unit.signing.fixed import FIXED

__all__ = ["AUDIENCE", "ISSUER", "JWKS", "KEY", "OTHER_KEY", "bearer", "token"]

ISSUER = "https://issuer.example"
AUDIENCE = "https://agent.example"
KEY = SigningKey.load(FIXED["ES256"])
OTHER_KEY = SigningKey.load(FIXED["EdDSA"])
"""Not of the issuer."""
JWKS = {"keys": [KEY.public_jwk()]}


def token(subject: str = "alice", *, key: SigningKey = KEY, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A good one, unless it is told otherwise; None leaves a claim out."""
    now = time.time()
    said = {"iss": ISSUER, "sub": subject, "aud": AUDIENCE, "iat": now, "exp": now + 300, "scope": "call", **claims}
    said = {name: value for name, value in said.items() if value is not None}
    return key.sign(json.dumps(said).encode(), {"typ": "at+jwt", **(header or {})})


def bearer(subject: str = "alice", **how: Any) -> dict[str, str]:
    """The header with such a token."""
    return {"authorization": f"Bearer {token(subject, **how)}"}
