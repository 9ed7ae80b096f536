"""Keys with which tokens are verified: fixed ones, or those that an issuer publishes."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from dragoman.auth.issuer import IssuerClient
from dragoman.auth.published import Published
from dragoman.errors import ConfigurationError
from dragoman.signing.jws import NotVerified, PublicKeys

__all__ = ["FixedKeys", "KeySource", "PublishedKeys"]


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
    """The key set at a URL, as `Published` has it: `fetch` stands in for the network, `now` for the clock.

    Where the URL is known only from what the issuer says of itself, `fetch` finds it, and `url` is where it says so.
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
        fetch = fetch or IssuerClient(url).get

        async def read() -> PublicKeys:
            return PublicKeys.read(await fetch(url))

        self._published = Published(f"the key set of {url}", read, now)

    async def keys(self, wanted: str = "") -> tuple[PublicKeys, int]:
        return await self._published.current((lambda keys: keys.find(wanted) is None) if wanted else None)
