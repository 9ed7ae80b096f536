"""HTTP Basic: names and passwords (RFC 7617)."""

import asyncio
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pybase64

from dragoman.auth.kept import Kept
from dragoman.auth.passwords import check_form, is_password
from dragoman.auth.scheme import Scheme, challenge, unauthenticated
from dragoman.errors import ConfigurationError, UnauthenticatedError, UnavailableError
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.types.card import HTTPAuthSecurityScheme

__all__ = ["Basic"]

REMEMBERED = 1024
LIFETIME = 300.0
"""Seconds for which a password that was right need not be hashed again."""
AT_ONCE = 1
"""Passwords that are hashed at a time, so that those who guess get one core at most, also if they do not wait for the
answer: a thread cannot be stopped."""
WAITING = 64
"""Passwords that wait to be hashed; callers beyond are told to come back."""
LONGEST = 1024
"""Characters of name and password, coded."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
"""What is in neither (RFC 7617 section 2). A NUL more behind it is the same password to scrypt."""


class Basic(Scheme):
    """Callers by name and password. The name is the id of the principal.

    A password that was right is remembered for five minutes, as a digest, so that only the first call waits for scrypt,
    which runs in a thread of its own.

    Args:
        users: By the caller's name, what `hash_password` makes of the password.
        realm: What the password is for, as browsers show it.
        name: The scheme's name in the card.
        description: What the card says of it.

    Raises:
        ConfigurationError: a password is not hashed, or a name is empty or has a colon.
    """

    def __init__(
        self, users: Mapping[str, str], *, realm: str = "A2A", name: str = "basic", description: str = ""
    ) -> None:
        super().__init__(name, HTTPAuthSecurityScheme(scheme="basic", description=description))
        self._challenge = challenge("Basic", realm=realm, charset="UTF-8")
        self._users: dict[str, str] = {}
        self._right: Kept[str] = Kept(REMEMBERED)
        self._hashing = ThreadPoolExecutor(AT_ONCE, "dragoman-passwords")
        self._waiting = 0
        for user, stored in users.items():
            self.put(user, stored)

    def put(self, user: str, stored: str) -> None:
        """Lets a caller in by this password from now on, and by no earlier one. Raises as the constructor does."""
        if not user or ":" in user:
            raise ConfigurationError("the name of a caller is not empty and has no colon")
        self._users[user] = check_form(stored)

    def remove(self, user: str) -> bool:
        """Refuses the caller from the next call on; False if there is none of that name."""
        return self._users.pop(user, None) is not None

    async def known(self, credentials: Credentials) -> Principal:
        given = _read(credentials.authorization("Basic"))
        if given is None or not self._users:
            raise self._refusal()
        user, password = given
        stored = self._users.get(user)
        now = time.monotonic()
        # What is remembered is right for this very hash: with another it counts no more.
        secret = f"{stored}:{user}:{password}"
        if stored is None or self._right.get(secret, now) is None:
            if not await self._checked(password, stored):
                raise self._refusal()
            self._right.put(secret, user, now + LIFETIME)
        return Principal(user, self.name)

    async def _checked(self, password: str, stored: str | None) -> bool:
        """Whether the password is right. Nobody's is held to somebody's, so that time tells no names."""
        if self._waiting >= WAITING:
            raise UnavailableError
        self._waiting += 1
        try:
            held_to = stored or next(iter(self._users.values()))
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._hashing, is_password, password, held_to) and stored is not None
        finally:
            self._waiting -= 1

    def _refusal(self) -> UnauthenticatedError:
        return unauthenticated(self._challenge)


def _read(coded: str | None) -> tuple[str, str] | None:
    """Name and password; None if that is not what it is."""
    if not coded or len(coded) > LONGEST:
        return None
    try:
        told = pybase64.b64decode(coded, validate=True).decode()
    except ValueError:
        return None
    user, colon, password = told.partition(":")
    return (user, password) if colon and user and not _CONTROL(told) else None
