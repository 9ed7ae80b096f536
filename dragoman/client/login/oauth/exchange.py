"""The token endpoint: what is asked there, and what its answers mean (RFC 6749 section 5)."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.client.login.oauth.failures import LoginFailed
from dragoman.client.login.oauth.identity import subject_of
from dragoman.client.login.oauth.registration import Registration
from dragoman.client.login.oauth.tokens import Token
from dragoman.client.login.oauth.web import OK, Web

__all__ = ["Exchange", "refusal", "secrets_in"]

_VISIBLE = re.compile(r"[\x21-\x7e]{1,16384}", re.ASCII)
LONGEST_LIFE = 10 * 365 * 86_400.0
CREATED = 201


class _Answer(msgspec.Struct):
    """What is looked at. `expires_in` is a number also where it comes as text."""

    access_token: str = ""
    token_type: str = ""
    refresh_token: str | None = None
    expires_in: float | str | None = None
    scope: str | None = None
    id_token: str | None = None


class Exchange:
    """Asks one token endpoint in the name of one client. `now` stands in for the clock, in seconds since 1970."""

    def __init__(self, web: Web, url: str, client: Registration, now: Callable[[], float]) -> None:
        self._web = web
        self._url = url
        self._client = client
        self._now = now

    async def token(
        self, form: dict[str, str], *, scopes: tuple[str, ...] = (), issuer: str = "", nonce: str = ""
    ) -> Token:
        """What a grant gives. `scopes` were asked for, and count as granted if the answer does not say otherwise.

        Raises:
            LoginFailed: it is refused; `code` says why.
            ProviderUnreachable: there is no answer now.
        """
        began = self._now()
        headers, signed = self._client.signed(form)
        status, members = await self._web.post(self._url, "token endpoint", signed, headers)
        if status not in {OK, CREATED}:
            raise refusal(status, members, secrets_in(form, self._client))
        try:
            answer = msgspec.convert(members, _Answer)
        except msgspec.ValidationError:
            raise LoginFailed("The answer of the token endpoint is none") from None
        return Token(
            access=_access(answer),
            refresh=_refresh(answer),
            obtained_at=began,
            expires_at=_end(answer.expires_in, began),
            scopes=scopes if answer.scope is None else tuple(answer.scope.split()),
            subject=subject_of(answer.id_token or "", issuer, self._client.client_id, nonce, self._now()),
        )


def refusal(status: int, members: dict[str, Any], secrets: tuple[str, ...]) -> LoginFailed:
    """What an answer that gives nothing says."""
    code, description = members.get("error"), members.get("error_description")
    if not isinstance(code, str) or not code:
        return LoginFailed(f"The provider refuses, with status {status} and without a word")
    return LoginFailed.told(code, description if isinstance(description, str) else "", secrets)


def secrets_in(form: dict[str, str], client: Registration) -> tuple[str, ...]:
    """What a provider might repeat of a request, and nobody should read."""
    names = ("refresh_token", "code", "code_verifier", "device_code", "token")
    return (client.secret, *(form[name] for name in names if name in form))


def _access(answer: _Answer) -> str:
    if answer.token_type.lower() != "bearer":
        raise LoginFailed("The token is of another type than Bearer, which is the only one that is understood")
    if _VISIBLE.fullmatch(answer.access_token) is None:
        raise LoginFailed("The answer of the token endpoint has no access token that can be sent")
    return answer.access_token


def _refresh(answer: _Answer) -> str:
    token = answer.refresh_token or ""
    return token if _VISIBLE.fullmatch(token) is not None else ""


def _end(told: float | str | None, began: float) -> float | None:
    try:
        seconds = float(told) if told is not None else None
    except ValueError:
        return None
    # Neither nan nor an eternity.
    return None if seconds is None or not 0 <= seconds < LONGEST_LIFE else began + seconds
