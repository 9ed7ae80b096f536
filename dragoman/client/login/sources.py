"""What callers may say for `auth`, as ways to log in."""

import asyncio
import inspect
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, cast

from dragoman.client.login.need import Login, Need, Secret
from dragoman.errors import ConfigurationError
from dragoman.types.card import HTTPAuthSecurityScheme

__all__ = ["Auth", "Environment", "login_of"]

Given: TypeAlias = str | Secret | None
Source: TypeAlias = str | Secret | Login | Callable[[Need], Given | Awaitable[Given]]
Auth: TypeAlias = Source | Mapping[str, Source] | Sequence[Source | Mapping[str, Source]]
"""Credentials, or where they come from: a secret for an agent that asks for one; a function, which is called with the
need, in a thread unless it is a coroutine; a `Login`; any of these by the names of the card's schemes; or several, of
which the first that has something counts.
"""

VARIABLE = "DRAGOMAN_TOKEN"
MOST = 64
"""Needs of which it is known who met them."""


def login_of(auth: Auth) -> Login:
    """The way to log in that a caller means.

    Raises:
        ConfigurationError: it is none, or an empty secret.
    """
    given: object = auth
    if isinstance(given, Mapping):
        return _ByName(cast("Mapping[str, Source]", given))
    if isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray):
        return _Several([login_of(each) for each in cast("Sequence[Source]", given)])
    return _source(given)


def _source(source: object, *, named: bool = False) -> Login:
    if isinstance(source, str | Secret):
        return _One(source, named=named)
    if not isinstance(source, type):
        if isinstance(source, Login):
            return source
        if callable(source):
            return _Called(cast("Callable[[Need], Given]", source))
    raise ConfigurationError(f"auth is a secret, a mapping, a function or a Login, not {type(source).__name__}")


class _One:
    """One secret: for the scheme that is named, else for whatever is asked for alone."""

    def __init__(self, secret: str | Secret, *, named: bool) -> None:
        self._secret = Secret(secret) if isinstance(secret, str) else secret
        self._named = named
        if not self._secret.value:
            raise ConfigurationError("auth has an empty secret")

    def takes(self, need: Need) -> bool:
        return (need.alone or self._named) and _fits(need, self._secret.value)

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        return self._secret if self.takes(need) and refused is None else None


def _fits(need: Need, value: str) -> bool:
    """Whether it may be what is asked for: HTTP Basic takes a name and a password, with a colon between."""
    is_basic = isinstance(need.scheme, HTTPAuthSecurityScheme) and need.scheme.scheme.lower() == "basic"
    return not is_basic or ":" in value


class _ByName:
    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._logins = {name: _source(source, named=True) for name, source in sources.items()}

    def takes(self, need: Need) -> bool:
        login = self._logins.get(need.name)
        return login is not None and login.takes(need)

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        login = self._logins.get(need.name)
        return None if login is None else await login.credentials(need, refused=refused)


class _Called:
    def __init__(self, function: Callable[[Need], Given | Awaitable[Given]]) -> None:
        self._function = function

    def takes(self, need: Need) -> bool:  # noqa: ARG002 -- only the call tells
        return True

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        given = self._function(need) if _is_coroutine(self._function) else await asyncio.to_thread(self._function, need)
        secret = _secret(await given if inspect.isawaitable(given) else given)
        return None if secret is None or (refused is not None and refused.value == secret.value) else secret


def _secret(found: object) -> Secret | None:
    """What a function gave; nothing, if that is empty."""
    if found is None or isinstance(found, Secret):
        return found if found is not None and found.value else None
    if isinstance(found, str):
        return Secret(found) if found else None
    raise ConfigurationError(f"A function of auth gives a string, a Secret or None, not {type(found).__name__}")


def _is_coroutine(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 -- its kind is asked, not whether it is there


class _Several:
    """Several logins in order. What was refused goes back to who gave it, and then those behind are asked."""

    def __init__(self, logins: Sequence[Login]) -> None:
        self._logins = logins
        self._givers: dict[tuple[str, str], int] = {}

    def takes(self, need: Need) -> bool:
        return any(login.takes(need) for login in self._logins)

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        who = (need.origin, need.name)
        giver = self._givers.pop(who, 0) if refused is not None else 0
        for number, login in enumerate(self._logins[giver:], giver):
            if login.takes(need):
                found = await login.credentials(need, refused=refused if number == giver else None)
                if found is not None and (refused is None or found.value != refused.value):
                    self._givers[who] = number
                    if len(self._givers) > MOST:
                        del self._givers[next(iter(self._givers))]
                    return found
        return None


class Environment:
    """Credentials from variables: of the scheme `corp-key` `DRAGOMAN_TOKEN_CORP_KEY`, else `DRAGOMAN_TOKEN`, which is
    for an agent that asks for one alone. Read when they are asked for; blanks around them do not count.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = variables

    def takes(self, need: Need) -> bool:
        value = self._value(need)
        return value is not None and _fits(need, value)

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        value = self._value(need)
        if value is None or not _fits(need, value) or (refused is not None and refused.value == value):
            return None
        return Secret(value)

    def _value(self, need: Need) -> str | None:
        variables = os.environ if self._variables is None else self._variables
        own = f"{VARIABLE}_{re.sub(r'[^A-Z0-9]', '_', need.name.upper())}"
        value = variables.get(own, "").strip() or (variables.get(VARIABLE, "").strip() if need.alone else "")
        return value or None
