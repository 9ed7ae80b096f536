"""Fetches key sets under the guard that webhooks are called under."""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

__all__ = ["guarded"]

MOST = 256 * 1024
"""Bytes of a key set."""
TIMEOUT = 10.0


def guarded(places: Sequence[str], *, tls: ssl.SSLContext | None = None) -> Callable[[str], Awaitable[bytes]]:
    """Fetches from the hosts of these https URLs, also where they are private: who names one means it. No redirect is
    followed, a set has 256 KiB at most and comes within 10 s. `tls` says whom to trust instead of the system's
    authorities.
    """
    hosts = tuple(dict.fromkeys(f"https://{urlsplit(place).netloc}" for place in places))

    async def fetch(url: str) -> bytes:
        from dragoman.outbound.client import GuardedClient
        from dragoman.outbound.policy import Policy

        client = GuardedClient(Policy(allow=hosts), timeout=TIMEOUT, tls=tls)
        try:
            return await client.get(url, MOST, {"accept": "application/jwk-set+json, application/json"})
        finally:
            await client.close()

    return fetch
