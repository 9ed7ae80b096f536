"""The grants for which a user opens a page: authorization code with PKCE, and device code."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from dragoman.client.login.oauth.callback import waiting_for_callback
from dragoman.client.login.oauth.exchange import Exchange, refusal, secrets_in
from dragoman.client.login.oauth.failures import LoginFailed, ProviderUnreachable, shown
from dragoman.client.login.oauth.provider import Provider
from dragoman.client.login.oauth.registration import Registration
from dragoman.client.login.oauth.tokens import Token
from dragoman.client.login.oauth.visit import Show, Visit
from dragoman.client.login.oauth.web import OK, Web

__all__ = ["Asked", "Pause", "by_browser", "by_device"]

Pause = Callable[[float], Awaitable[None]]

OPENID, OFFLINE = "openid", "offline_access"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
INTERVAL = 5.0
"""Seconds between two questions if the provider does not say (RFC 8628 section 3.2), and what `slow_down` adds."""
SHORTEST, LONGEST = 1.0, 300.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user is asked to agree to, and of whom."""

    provider: Provider
    client: Registration
    web: Web
    exchange: Exchange
    scopes: tuple[str, ...]
    resource: str
    parameters: Mapping[str, str]
    """What the user adds; nothing that is said here anyway."""
    show: Show
    patience: float
    """Seconds that the user has."""

    @property
    def wish(self) -> dict[str, str]:
        """What is the same in every grant."""
        scope = {"scope": " ".join(self.scopes)} if self.scopes else {}
        return {**self.parameters, **scope, **({"resource": self.resource} if self.resource else {})}


async def by_browser(asked: Asked, port: int = 0) -> Token:
    """Authorization code with PKCE by S256 (RFC 7636) and the answer's issuer (RFC 9207).

    Raises:
        LoginFailed: the user or the provider refuses, the answer is another issuer's, or none has come in time.
    """
    state, nonce, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    place = asked.web.checked(asked.provider.needed("authorization_endpoint"), "authorization endpoint")
    is_openid = OPENID in asked.scopes
    async with waiting_for_callback(state, port) as callback:
        query = {
            **asked.wish,
            "response_type": "code",
            "client_id": asked.client.client_id,
            "redirect_uri": callback.url,
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            **({"nonce": nonce} if is_openid else {}),
            # Without it the wish to stay logged in is ignored (OpenID Connect Core section 11).
            **({"prompt": "consent"} if OFFLINE in asked.scopes else {}),
        }
        await asked.show(Visit(url=_extended(place, query), seconds=asked.patience))
        try:
            async with asyncio.timeout(asked.patience):
                told = await callback.told
        except TimeoutError:
            raise LoginFailed(f"Nobody has logged in within {asked.patience:g} s") from None
    form = {
        "grant_type": "authorization_code",
        "code": _code(told, asked.provider),
        "redirect_uri": callback.url,
        "code_verifier": verifier,
        **({"resource": asked.resource} if asked.resource else {}),
    }
    return await asked.exchange.token(
        form, scopes=asked.scopes, issuer=asked.provider.issuer, nonce=nonce if is_openid else ""
    )


def _extended(place: str, query: dict[str, str]) -> str:
    """The URL with the query added to its own, which must not say the same things: of two the provider might take the
    one that is not ours.
    """
    own = urlsplit(place).query
    if any(name in query for name, _ in parse_qsl(own, keep_blank_values=True)):
        raise LoginFailed("The authorization endpoint says already what a login has to say")
    return f"{place}{'&' if own else '?'}{urlencode(query)}"


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _code(told: dict[str, str], provider: Provider) -> str:
    """The code, if it is this provider's: another one may have been mixed in (RFC 9207 section 2.4)."""
    issuer = told.get("iss")
    if issuer is None and provider.authorization_response_iss_parameter_supported:
        raise LoginFailed("The answer does not say whose it is, which this provider says always")
    if issuer is not None and not provider.may_be(issuer):
        raise LoginFailed(f"The answer is that of another issuer: {shown(issuer)}")
    if "error" in told:
        raise LoginFailed.told(told["error"], told.get("error_description", ""))
    if not told.get("code"):
        raise LoginFailed("The answer has no code")
    return told["code"]


class _Device(msgspec.Struct):
    """The answer of the device authorization endpoint (RFC 8628 section 3.2)."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float = 600.0
    interval: float = INTERVAL


async def by_device(asked: Asked, pause: Pause, now: Callable[[], float]) -> Token:
    """Device code (RFC 8628): asks as often as the provider wishes, until the code has expired or the time is up.

    Raises:
        LoginFailed: the user or the provider refuses, or nobody has answered in time.
    """
    device = await _begun(asked)
    end = now() + min(max(device.expires_in, 0.0), asked.patience)
    visit = Visit(
        url=asked.web.checked(device.verification_uri, "verification page"),
        code=shown(device.user_code),
        complete_url=device.verification_uri_complete
        and asked.web.checked(device.verification_uri_complete, "verification page"),
        seconds=end - now(),
    )
    await asked.show(visit)
    interval = min(max(device.interval, SHORTEST), LONGEST)
    form = {"grant_type": DEVICE, "device_code": device.device_code}
    if asked.resource:
        form["resource"] = asked.resource
    while now() + interval < end:
        await pause(interval)
        try:
            return await asked.exchange.token(form, scopes=asked.scopes, issuer=asked.provider.issuer)
        except LoginFailed as error:
            interval = _next(interval, error)
        except ProviderUnreachable:
            # As section 3.5 says of time-outs.
            interval = min(interval * 2, LONGEST)
    raise LoginFailed("Nobody has logged in before the code expired", code="expired_token")


async def _begun(asked: Asked) -> _Device:
    url = asked.provider.needed("device_authorization_endpoint")
    headers, form = asked.client.signed(asked.wish)
    # Section 3.1 wants the id also of clients that show otherwise who they are.
    form = {**form, "client_id": asked.client.client_id}
    status, members = await asked.web.post(url, "device authorization endpoint", form, headers)
    if status != OK:
        raise refusal(status, members, secrets_in(form, asked.client))
    # An early draft has another name for it, which large providers still use.
    told: dict[str, Any] = {"verification_uri": members.get("verification_url"), **members}
    try:
        return msgspec.convert({name: value for name, value in told.items() if value is not None}, _Device)
    except msgspec.ValidationError:
        raise LoginFailed("The answer of the device authorization endpoint is none") from None


def _next(interval: float, error: LoginFailed) -> float:
    """How long to wait now."""
    if error.code == "authorization_pending":
        return interval
    if error.code == "slow_down":
        return min(interval + INTERVAL, LONGEST)
    raise error
