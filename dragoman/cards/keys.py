"""Whose signatures count: keys at hand, and key sets that may be fetched (specification section 8.4.3)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from dragoman.cards.fetching import guarded
from dragoman.errors import ConfigurationError, DragomanError
from dragoman.signing.jws import ASYMMETRIC, JWT_ALGORITHMS, NotVerified, PublicKeys

__all__ = ["CardKeys", "Fetch", "NoKey"]

Fetch = Callable[[str], Awaitable[bytes]]
"""Gives the body at an https URL. What it calls and how much it reads is its own to limit; it follows no redirect to
where it would not go by itself."""

KEPT = 300.0
"""Seconds that a fetched key set is relied on."""
PAUSE = 10.0
"""Seconds before a set that lacks a key is fetched again."""
PATIENCE = 15.0
"""Seconds that a fetch may take at most, whoever makes it."""
MOST_SETS = 32


class NoKey(DragomanError):
    """No key counts for a signature; says why."""


class _TrustedKey(msgspec.Struct, frozen=True):
    public: PublicKeys
    begins: float | None
    ends: float | None
    revoked: bool


class _Set(msgspec.Struct, frozen=True):
    keys: dict[str, _TrustedKey]
    at: float


class CardKeys:
    """The keys that signatures of cards are verified with: those given first, then those that a header links to.

    A key counts from its `nbf` until its `exp`, if its JWK has them, and never with `revoked`. Of several keys with one
    id, the first is taken.

    Args:
        trusted: JWK Sets or single JWKs, read or as JSON, with public keys.
        jku: from where key sets may be fetched: origins (`https://keys.example`), folders (with `/` at the end), and
            URLs of key sets. Nothing else is asked, whatever a header says.
        fetch: fetches them, by default under the guard that webhooks are called under.
        revoked: ids of keys that do not count any more, wherever they come from.
        algorithms: what is accepted.
        sdk_forms: whether signatures count that are made over what the official SDKs take for the canonical form. It
            leaves out empty members, so that nobody notices if one is added or taken away.
        clock: seconds since 1970.

    Raises:
        ConfigurationError: what is given is no key set, or is not under https, or an algorithm is symmetric.
    """

    def __init__(
        self,
        *trusted: Mapping[str, Any] | bytes | str,
        jku: Sequence[str] = (),
        fetch: Fetch | None = None,
        revoked: Collection[str] = (),
        algorithms: Collection[str] = JWT_ALGORITHMS,
        sdk_forms: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not frozenset(algorithms) <= ASYMMETRIC:
            raise ConfigurationError(f"algorithms can be {', '.join(sorted(ASYMMETRIC))}")
        for place in jku:
            if _place(place) is None:
                raise ConfigurationError(f"key sets are fetched over https, from a plain URL: not from {place!r}")
        try:
            listed = [key for given in trusted for key in _jwks(given)]
        except NotVerified as error:
            raise ConfigurationError(f"cannot be trusted: {error}") from None
        self._trusted = _keyed(listed)
        self._allowed = tuple(jku)
        self._fetch = fetch or guarded(jku)
        self._revoked = frozenset(revoked)
        self.algorithms = frozenset(algorithms)
        self.sdk_forms = sdk_forms
        self._clock = clock
        self._fetched: dict[str, _Set] = {}
        self._fetching = asyncio.Lock()

    async def find(self, key_id: str, jku: str | None) -> PublicKeys:
        """The key of this id, as a set of one.

        Raises:
            NoKey: none is trusted, it is not to be used (now), or it could not be fetched.
        """
        key = self._trusted.get(key_id)
        if key is None:
            key = await self._linked(key_id, jku)
        now = self._clock()
        if key.revoked or key_id in self._revoked:
            raise NoKey("its key was revoked")
        if key.ends is not None and now >= key.ends:
            raise NoKey("its key has expired")
        if key.begins is not None and now < key.begins:
            raise NoKey("its key is not valid yet")
        return key.public

    async def _linked(self, key_id: str, jku: str | None) -> _TrustedKey:
        if jku is None:
            raise NoKey("its key is not known")
        if not self._allows(jku):
            raise NoKey("its key is not known, and keys are not fetched from where it says")
        async with self._fetching:
            found = (await self._set(jku, key_id)).keys.get(key_id)
        if found is None:
            raise NoKey("its key is not in the key set that it links to")
        return found

    async def _set(self, url: str, key_id: str) -> _Set:
        known, now = self._fetched.get(url), self._clock()
        if known is not None and now - known.at < (KEPT if key_id in known.keys else PAUSE):
            return known
        try:
            async with asyncio.timeout(PATIENCE):
                fresh = _Set(_keyed(_jwks(await self._fetch(url))), now)
        except (DragomanError, OSError, TimeoutError) as error:
            raise NoKey(f"its key could not be fetched: {str(error) or type(error).__name__}") from error
        while len(self._fetched) >= MOST_SETS:
            del self._fetched[next(iter(self._fetched))]
        self._fetched[url] = fresh
        return fresh

    def _allows(self, url: str) -> bool:
        wanted = _place(url)
        return wanted is not None and any(_within(wanted, place) for each in self._allowed if (place := _place(each)))


_Place = tuple[str, int, str]


def _place(url: str) -> _Place | None:
    """Host, port and path with its query; None for what is not a plain https URL, which every reader reads alike."""
    if not url.isascii() or not url.isprintable() or any(sign in url for sign in " \\@#%"):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme != "https" or not parts.hostname or {".", ".."} & set(parts.path.split("/")):
        return None
    return parts.hostname, 443 if port is None else port, parts.path + (f"?{parts.query}" if parts.query else "")


def _within(wanted: _Place, allowed: _Place) -> bool:
    path = allowed[2]
    inside = wanted[2].startswith(path) if path.endswith("/") else wanted[2] == path or not path
    return wanted[:2] == allowed[:2] and inside


def _jwks(given: Mapping[str, Any] | bytes | str) -> list[Mapping[str, Any]]:
    """The JWKs of a set, or the one that it is."""
    try:
        value: Any = msgspec.json.decode(given) if isinstance(given, bytes | str) else given
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NotVerified("the key set is not JSON") from None
    if not isinstance(value, Mapping):
        raise NotVerified("the key set is not an object")
    found = cast("Mapping[str, Any]", value)
    listed: Any = found.get("keys", [found])
    if not isinstance(listed, list):
        raise NotVerified("the key set has no list of keys")
    return [cast("Mapping[str, Any]", one) for one in cast("Sequence[Any]", listed) if isinstance(one, Mapping)]


def _keyed(jwks: Iterable[Mapping[str, Any]]) -> dict[str, _TrustedKey]:
    found: dict[str, _TrustedKey] = {}
    for jwk in jwks:
        public = PublicKeys.read({"keys": [dict(jwk)]})
        begins, ends = jwk.get("nbf"), jwk.get("exp")
        # A limit that nobody can read must not make the key count for ever.
        readable = _moment(begins) and _moment(ends)
        for key_id in public.ids:
            revoked = not readable or jwk.get("revoked", False) is not False
            found.setdefault(key_id, _TrustedKey(public, begins, ends, revoked) if readable else _UNREADABLE)
    return found


_UNREADABLE = _TrustedKey(PublicKeys({}), None, None, revoked=True)


def _moment(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
