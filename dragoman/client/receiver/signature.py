"""Whether a notification was signed by who should have; the rules are in `dragoman.signing.webhooks`."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from dragoman.client.transport import AiohttpTransport, HttpTransport, following, read
from dragoman.errors import ReplyMalformed, TransportError

if TYPE_CHECKING:
    from dragoman.signing.jws import PublicKeys

__all__ = ["HmacSignature", "JwtSignature", "Signature"]

MAX_KEY_SET = 256 * 1024
FRESH_SECONDS = 3600.0
"""For how long keys are used that were fetched."""
REST_SECONDS = 30.0
"""The shortest time between two fetches, whoever makes up names of keys."""
OK = 200


class Signature(Protocol):
    """How notifications are verified."""

    async def verify(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Looks at a whole request that came to the receiver at `url`; header names are lower case.

        Raises:
            NotVerified: it was not signed by who should have, over this body, now.
            TransportError: what it takes to know that cannot be had now.
        """
        ...


class HmacSignature:
    """By a secret that the agent knows too (Standard Webhooks): `whsec_` and base64. Several serve while one follows
    another.
    """

    def __init__(self, *secrets: str, window: float = 300.0, clock: Callable[[], float] = time.time) -> None:
        from dragoman.signing.webhooks import Secret

        self._shared = tuple(Secret(secret) for secret in secrets)
        self._window = window
        self._clock = clock

    async def verify(self, url: str, headers: Mapping[str, str], body: bytes) -> None:  # noqa: ARG002 -- the secret says for whom it is
        from dragoman.signing.webhooks import verify_hmac

        verify_hmac(headers, body, shared=self._shared, now=self._clock(), window=self._window)


class JwtSignature:
    """By one of the agent's keys, whose set is fetched from `jwks_url` when it is needed: kept for an hour, and fetched
    again, but not more than twice a minute, when a key is named that is not in it. The JWT must be for the origin of
    the receiver, and by `issuer` if that is given. `http` stays the caller's to close.
    """

    def __init__(
        self,
        jwks_url: str,
        *,
        issuer: str | None = None,
        http: HttpTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = jwks_url
        self._issuer = issuer
        self._http = http
        self._clock = clock
        self._keys: PublicKeys | None = None
        self._fetched = -FRESH_SECONDS
        self._one_fetch = asyncio.Lock()

    async def verify(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        from dragoman.signing.jws import NotVerified
        from dragoman.signing.webhooks import audience_of, verify_jwt

        def check(keys: "PublicKeys") -> None:
            audience = audience_of(url)
            verify_jwt(headers, body, keys=keys, audience=audience, now=self._clock(), issuer=self._issuer)

        keys = await self._current(FRESH_SECONDS)
        try:
            check(keys)
        except NotVerified:
            # A key may have followed another since.
            newer = await self._current(REST_SECONDS)
            if newer is keys:
                raise
            check(newer)

    async def _current(self, seconds: float) -> "PublicKeys":
        """The keys as they were at most so many seconds ago."""
        async with self._one_fetch:
            if self._keys is None or self._clock() - self._fetched >= seconds:
                with suppress(*(() if self._keys is None else (TransportError,))):
                    self._keys = await self._fetch()
                self._fetched = self._clock()
            assert self._keys is not None
            return self._keys

    async def _fetch(self) -> "PublicKeys":
        from dragoman.signing.jws import PublicKeys

        transport = self._http or AiohttpTransport(connect_timeout=10.0, idle_timeout=10.0)
        try:
            async with following(transport, "GET", self._url, {"accept": "application/json"}) as response:
                if response.status != OK:
                    raise ReplyMalformed(f"{self._url} has no keys: {response.status}")
                return PublicKeys.read(await read(response, MAX_KEY_SET))
        finally:
            if self._http is None:
                await transport.aclose()
