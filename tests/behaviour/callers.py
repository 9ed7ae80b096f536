"""Callers that an agent knows, by every kind of scheme, and the same callers as they should not be."""

import time
from base64 import b64encode

import msgspec

from dragoman.auth import ApiKey, Basic, Bearer, Credentials, OwnScheme, Principal, Scheme
from dragoman.types.card import HTTPAuthSecurityScheme
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, OTHER_KEY, bearer

__all__ = ["ATTEMPTS", "KEYS", "PASSWORDS", "SECRETS", "Attempt", "basic", "keyed", "schemes"]

KEYS = {"alice": "alice-has-this-key", "bob": "bob-has-another-key"}
# As `hash_password` would, at the least cost that is taken, since tests hash many.
PASSWORDS = {
    "alice": "scrypt$10$1$1$c2FsdHNhbHRzYWx0c2FsdA$xhCx4NRJuRRKgbg25VAmAS0YM87IWf6G_HPM7Pcz5X8",
    "bob": "scrypt$10$1$1$c2FsdHNhbHRzYWx0c2FsdA$X847LP4mWQ-4Vj4P8N6rq7X4kKdGsqejh26M5hn3s3I",
}
SECRETS = ("alice-has", "alice's password", "eyJ", "open sesame", "made-up")
"""What stands in credentials, and nowhere else."""

API_KEY = 'ApiKey in="{}", name="{}"'
BASIC = 'Basic realm="A2A", charset="UTF-8"'
INVALID = 'Bearer error="invalid_token"'
OWN = 'Word realm="cave"'


async def _by_word(credentials: Credentials) -> Principal | str | None:
    match credentials.authorization("Word"):
        case "open sesame":
            return Principal("alice", "word", frozenset({"call"}))
        case "lowly":
            return "bob"
        case _:
            return None


def schemes() -> dict[str, Scheme]:
    """One of each kind."""
    return {
        "header": ApiKey(KEYS),
        "query": ApiKey(KEYS, query="key"),
        "cookie": ApiKey(KEYS, cookie="key"),
        "basic": Basic(PASSWORDS),
        "bearer": Bearer(issuer=ISSUER, audience=AUDIENCE, keys=JWKS, scopes=["call"]),
        "own": OwnScheme("word", HTTPAuthSecurityScheme(scheme="Word"), _by_word, told=OWN, scopes=["call"]),
    }


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody brings, what it leads to (nothing if they are let in), and the challenge that they get."""

    scheme: str
    how: str
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    reason: str = "UNAUTHENTICATED"
    challenge: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}, {self.how}"


def basic(name: str, password: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(f'{name}:{password}'.encode()).decode()}"}


def keyed(name: str) -> dict[str, str]:
    return {"x-api-key": KEYS[name]}


_ALICE, _MADE_UP = KEYS["alice"], "made-up-by-somebody"
_PAST = time.time() - 3600
_PLACES = ("header", "X-API-Key"), ("query", "key"), ("cookie", "key")


def _with_key(place: str, key: str, reason: str = "UNAUTHENTICATED", how: str = "wrong") -> Attempt:
    """Somebody who brings this key; none if it is empty."""
    headers = {"header": {"x-api-key": key}, "cookie": {"cookie": f"a=b; key={key}"}}.get(place, {})
    return Attempt(
        scheme=place,
        how=how if key else "none",
        headers=headers if key else {},
        query={"key": key} if key and place == "query" else {},
        reason=reason,
        challenge=API_KEY.format(place, dict(_PLACES)[place]),
    )


_BEARERS = {
    "signed by another": bearer(key=OTHER_KEY),
    "signed by nobody": {"authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."},
    "expired": bearer(iat=_PAST, exp=_PAST + 300),
    "not yet": bearer(nbf=time.time() + 3600),
    "wrong audience": bearer(aud="https://other.example"),
    "wrong issuer": bearer(iss="https://other.example"),
    "twice": {"authorization": ", ".join([bearer()["authorization"]] * 2)},
}
_LACKING = 'Bearer error="insufficient_scope", scope="call"'

ATTEMPTS = (
    *[_with_key(place, key) for place, _ in _PLACES for key in ("", _MADE_UP)],
    *[_with_key(place, _ALICE, "", "right") for place, _ in _PLACES],
    Attempt(scheme="header", how="of another scheme", headers=bearer(), challenge=API_KEY.format(*_PLACES[0])),
    Attempt(scheme="basic", how="none", challenge=BASIC),
    Attempt(scheme="basic", how="wrong", headers=basic("alice", "made-up"), challenge=BASIC),
    Attempt(scheme="basic", how="nobody's", headers=basic("eve", "alice's password"), challenge=BASIC),
    Attempt(scheme="basic", how="right", headers=basic("alice", "alice's password"), reason=""),
    Attempt(scheme="bearer", how="none", challenge='Bearer scope="call"'),
    *[Attempt(scheme="bearer", how=how, headers=sent, challenge=INVALID) for how, sent in _BEARERS.items()],
    Attempt(
        scheme="bearer", how="wrong scope", headers=bearer(scope="x"), reason="PERMISSION_DENIED", challenge=_LACKING
    ),
    Attempt(scheme="bearer", how="right", headers=bearer(), reason=""),
    Attempt(scheme="own", how="none", challenge=OWN),
    Attempt(scheme="own", how="wrong", headers={"authorization": "Word made-up"}, challenge=OWN),
    Attempt(
        scheme="own",
        how="wrong scope",
        headers={"authorization": "Word lowly"},
        reason="PERMISSION_DENIED",
        challenge=OWN,
    ),
    Attempt(scheme="own", how="right", headers={"authorization": "Word open sesame"}, reason=""),
)
