"""API keys: in a header, in the query or in a cookie."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence

from dragoman.auth.scheme import Scheme, challenge, unauthenticated
from dragoman.errors import ConfigurationError
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.types.card import APIKeySecurityScheme

__all__ = ["ApiKey", "hash_key", "new_key"]

_PREFIX = "sha256:"
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
LEAST = 16
"""Characters: what is shorter can be guessed from its hash."""


def new_key() -> str:
    """A key that nobody guesses: 256 random bits as 43 characters."""
    return secrets.token_urlsafe(32)


def hash_key(key: str) -> str:
    """What is stored in place of a key: `sha256:` and 64 hexadecimal digits.

    Raises:
        ConfigurationError: the key has less than 16 characters.
    """
    if len(key) < LEAST:
        raise ConfigurationError(f"an API key has at least {LEAST} characters; new_key() makes one")
    return _PREFIX + _digest(key).hex()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


class ApiKey(Scheme):
    """Callers by their keys, of which each may have several. A caller's name is the id of the principal.

    Args:
        keys: By the caller's name, a key or several; each the key itself, or better what `hash_key` makes of it. Only
            hashes are kept.
        header: The header, or over gRPC the metadata, in which the key comes. Default `X-API-Key`.
        query: The parameter of the query in which it comes instead; over gRPC there is none.
        cookie: The cookie in which it comes instead.
        name: The scheme's name in the card.
        description: What the card says of it.

    Raises:
        ConfigurationError: two places are named, a caller has no name, a key is too short, or two callers share one.
    """

    def __init__(
        self,
        keys: Mapping[str, str | Sequence[str]],
        *,
        header: str | None = None,
        query: str | None = None,
        cookie: str | None = None,
        name: str = "apiKey",
        description: str = "",
    ) -> None:
        places = {"header": header, "query": query, "cookie": cookie}
        given = [(location, place) for location, place in places.items() if place is not None]
        location, place = given[0] if given else ("header", "X-API-Key")
        if len(given) > 1 or not _NAME.fullmatch(place):
            raise ConfigurationError("an API key comes in one place: header=, query= or cookie= names it")
        super().__init__(name, APIKeySecurityScheme(location=location, name=place, description=description))
        self._location, self._place = location, place
        self._challenge = challenge("ApiKey", **{"in": location, "name": place})
        # Under a key of this process, so that the time of a look-up tells nothing of what is stored.
        self._pepper = secrets.token_bytes(32)
        self._principals: dict[bytes, Principal] = {}
        for caller, own in keys.items():
            for key in (own,) if isinstance(own, str) else own:
                self.add(caller, key)

    def add(self, caller: str, key: str) -> None:
        """Takes a further key, or hash of one, from now on. Raises as the constructor does."""
        if not caller:
            raise ConfigurationError("the caller of an API key has a name")
        found = self._principals.setdefault(self._mark(_stored(key)), Principal(caller, self.name))
        if found.id != caller:
            raise ConfigurationError(f"{caller} and {found.id} have the same API key")

    def revoke(self, key: str) -> bool:
        """Refuses the key, named by itself or by its hash, from the next call on; False if it is not known. Streams
        that are open stay so.
        """
        return self._principals.pop(self._mark(_stored(key)), None) is not None

    def revoke_caller(self, caller: str) -> int:
        """Refuses all keys of a caller from the next call on, and gives their number."""
        own = [mark for mark, principal in self._principals.items() if principal.id == caller]
        for mark in own:
            del self._principals[mark]
        return len(own)

    async def known(self, credentials: Credentials) -> Principal:
        match self._location:
            case "header":
                key = credentials.header(self._place)
            case "query":
                key = credentials.parameter(self._place)
            case _:
                key = credentials.cookie(self._place)
        principal = None if key is None else self._principals.get(self._mark(_digest(key)))
        if principal is None:
            raise unauthenticated(self._challenge)
        return principal

    def _mark(self, digest: bytes) -> bytes:
        return hmac.digest(self._pepper, digest, "sha256")


def _stored(key: str) -> bytes:
    """The digest of a key that the owner names."""
    return bytes.fromhex((key if _HASH.fullmatch(key) else hash_key(key)).removeprefix(_PREFIX))
