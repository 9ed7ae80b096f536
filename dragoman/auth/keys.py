"""Keys with which tokens are verified: fixed ones, or those that an issuer publishes, as they are at the moment."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from dragoman.errors import ConfigurationError, DragomanError, UnavailableError
from dragoman.signing.jws import NotVerified, PublicKeys

__all__ = ["FixedKeys", "KeySource", "PublishedKeys"]

FRESH = 600.0
"""Seconds after which a key set is fetched again."""
PAUSE = 30.0
"""Seconds between two attempts to fetch it, whoever asks for what."""
FIRST_PAUSE = 2.0
"""The same, as long as there are no keys at all."""
GOOD = 86_400.0
"""Seconds for which a key set counts when no newer one can be had."""
MOST = 256 * 1024
"""Bytes of a key set."""
TIMEOUT = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}

log = logging.getLogger("dragoman.auth")


class KeySource(Protocol):
    """Gives keys, and says which edition they are of."""

    async def keys(self, wanted: str = "") -> tuple[PublicKeys, int]:
        """The keys, and a number that is another once they are others. `wanted` is the id of a key that is missed.

        Raises:
            UnavailableError: there are none now.
        """
        ...


class FixedKeys:
    """Keys that do not change."""

    def __init__(self, jwks: Mapping[str, Any] | str | bytes) -> None:
        """
        Raises:
            ConfigurationError: there is no key in it that verifies, and has an id.
        """
        try:
            self._keys = PublicKeys.read(jwks)
        except NotVerified as error:
            raise ConfigurationError(str(error)) from None
        if not self._keys.ids:
            raise ConfigurationError("the key set has no public key for signatures with an id (kid)")

    async def keys(self, wanted: str = "") -> tuple[PublicKeys, int]:  # noqa: ARG002 -- there are no others
        return self._keys, 0


class PublishedKeys:
    """The key set at a URL. It is fetched when it is first needed, every ten minutes, and when a key is missed, but
    twice in half a minute never; while it cannot be had, the last one counts for a day.

    Of those who need it anew, one waits until it has come, and the others go on with what there is. It comes also if
    that one leaves: callers who are in a hurry cannot keep it away, nor have the issuer asked again and again. `fetch`
    stands in for the network, `now` for the clock.
    """

    def __init__(
        self,
        url: str,
        *,
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Raises:
            ConfigurationError: the URL is not https, and not of this machine.
        """
        self._url = url
        self._fetch = fetch or _guarded(url)
        self._now = now
        self._keys: PublicKeys | None = None
        self._edition = 0
        self._fetched = 0.0
        self._tried: float | None = None
        self._turn = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    async def keys(self, wanted: str = "") -> tuple[PublicKeys, int]:
        if self._keys is None:
            async with self._turn:
                if self._is_due(wanted):
                    await self._renew()
        elif self._is_due(wanted) and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.get_running_loop().create_task(self._renew())
            await asyncio.shield(self._renewing)
        if self._keys is None or self._now() - self._fetched > GOOD:
            raise UnavailableError("The keys of the issuer cannot be had now")
        return self._keys, self._edition

    def _is_due(self, wanted: str) -> bool:
        now = self._now()
        if self._tried is not None and now - self._tried < (FIRST_PAUSE if self._keys is None else PAUSE):
            return False
        missed = wanted and self._keys is not None and self._keys.find(wanted) is None
        return self._keys is None or bool(missed) or now - self._fetched >= FRESH

    async def _renew(self) -> None:
        before, self._tried = self._tried, self._now()
        try:
            self._keys = PublicKeys.read(await self._fetch(self._url))
        except asyncio.CancelledError:
            # Whoever fetched has gone; the next does it.
            self._tried = before
            raise
        except DragomanError as error:
            log.warning("the key set at %s cannot be had: %s", self._url, error)
            return
        self._fetched = self._now()
        self._edition += 1


def _guarded(url: str) -> Callable[[str], Awaitable[bytes]]:
    """Fetches from this host, also where it is private: who names it means it. No redirect is followed."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ConfigurationError("a key set comes over https, or from this machine")

    async def fetch(url: str) -> bytes:
        from dragoman.outbound.client import GuardedClient
        from dragoman.outbound.policy import Policy

        client = GuardedClient(Policy(allow=[f"{parts.scheme}://{parts.netloc}"]), timeout=TIMEOUT)
        try:
            return await client.get(url, MOST, {"accept": "application/jwk-set+json, application/json"})
        finally:
            await client.close()

    return fetch
