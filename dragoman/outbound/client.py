"""The client that calls what others have named: the adapter behind `dragoman.ports.webhook`."""

import asyncio
import importlib
import logging
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dragoman.outbound.policy import Policy
from dragoman.outbound.resolving import Resolve, Resolver
from dragoman.ports.webhook import Answer, Undelivered

if TYPE_CHECKING:
    from dragoman.outbound.answers import Page
    from dragoman.outbound.pool import Pool

__all__ = ["GuardedClient"]

LIFETIME = 60.0
"""Seconds after which no call begins on a connection any more: names are asked again at least that often."""

log = logging.getLogger("dragoman.outbound")


class GuardedClient:
    """A `WebhookClient` that calls what `policy` admits, each call within `timeout` seconds, everything included.

    Each connection resolves its name once, and goes to addresses of which all were admitted; an idle one is kept for
    four seconds, none is used for more than a minute. Certificates, SNI and `Host` are of the name. Redirects are
    answers; there are no cookies, no proxies, no content codings. An answer counts as soon as its head is there.

    `resolve` stands in for the system's names; `tls` says whom to trust, without it the system's authorities; `lookups`
    is how many names are resolved at a time.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        timeout: float = 15.0,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
        lookups: int = 32,
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._tls = tls
        self._resolver = Resolver(policy, resolve, lookups)
        self._pool: Pool | None = None
        if policy.insecure:
            log.warning("insecure: every address may be called, those of this machine and its network included")

    async def check(self, url: str) -> None:
        """As `WebhookClient.check`."""
        target = self._policy.target(url)
        if target.address is not None:
            return
        try:
            async with asyncio.timeout(self._timeout):
                await self._resolver.addresses(target)
        except TimeoutError:
            raise Undelivered(f"{target.host} was not resolved within {self._timeout:g} s") from None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """As `WebhookClient.post`. What HTTP itself says (`Host`, lengths) is not for `headers`."""
        pool = await self._current()
        return await pool.post(url, headers, body)

    async def get(self, url: str, limit: int, headers: Mapping[str, str] | None = None) -> bytes:
        """The body of an answer with status 200, of at most `limit` bytes.

        Raises:
            AddressRefused: nothing was connected to.
            Undelivered: there is no such answer.
        """
        pool = await self._current()
        return await pool.get(url, headers or {}, limit)

    async def request(
        self, method: str, url: str, limit: int, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> "Page":
        """The answer whatever its status, with a body of at most `limit` bytes. A redirect is an answer.

        Raises:
            AddressRefused: nothing was connected to.
            Undelivered: there is no such answer.
        """
        pool = await self._current()
        return await pool.request(method, url, headers or {}, body, limit)

    async def close(self) -> None:
        """As `WebhookClient.close`."""
        pool, self._pool = self._pool, None
        self._resolver.close()
        if pool is not None:
            await pool.close()

    async def _current(self) -> "Pool":
        pool = self._pool
        return pool if pool is not None and not pool.is_old else await self._fresh()

    async def _fresh(self) -> "Pool":
        """New connections from now on; the old ones end with the calls that are on them."""
        # The first time this takes as long as a hundred calls, which others need not wait for.
        module = await asyncio.to_thread(importlib.import_module, "dragoman.outbound.pool")
        old = self._pool
        if old is not None and not old.is_old:
            return old  # another call was faster
        pool: Pool = module.Pool(self._policy, self._resolver, self._tls, self._timeout, LIFETIME)
        self._pool = pool
        if old is not None:
            await old.retire()
        return pool
