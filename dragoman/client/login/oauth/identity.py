"""Who has logged in, by the ID token that came with the access token (OpenID Connect Core section 3.1.3.7)."""

from base64 import urlsafe_b64decode
from typing import Any

import msgspec

from dragoman.client.login.oauth.failures import LoginFailed, shown

__all__ = ["subject_of"]

SKEW = 60.0
_NAMES = ("preferred_username", "email", "sub")


def subject_of(id_token: str, issuer: str, client_id: str, nonce: str, now: float) -> str:
    """A name for whoever has logged in; empty if there is no ID token.

    The token came from the token endpoint itself over TLS, which stands for its signature (rule 6). It opens nothing
    here: the agent never gets it.

    Raises:
        LoginFailed: it was made by another issuer, for another client or another login, or has expired.
    """
    if not id_token:
        return ""
    claims = _claims(id_token)
    end = claims.get("exp")
    wrong = [
        what
        for what, is_right in (
            ("issuer", not issuer or claims.get("iss") == issuer),
            ("client", _is_for(claims.get("aud"), client_id)),
            ("login", not nonce or claims.get("nonce") == nonce),
            ("time", isinstance(end, int | float) and now < end + SKEW),
        )
        if not is_right
    ]
    if wrong:
        raise LoginFailed(f"The ID token is for another {wrong[0]}")
    return next((shown(name) for key in _NAMES if isinstance(name := claims.get(key), str) and name), "")


def _is_for(audience: Any, client_id: str) -> bool:
    return audience == client_id or (isinstance(audience, list) and client_id in audience)


def _claims(token: str) -> dict[str, Any]:
    try:
        _, payload, _ = token.split(".")
        raw = urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise LoginFailed("The ID token is none") from None
