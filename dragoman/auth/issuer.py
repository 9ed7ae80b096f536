"""Calls to whoever issues tokens: to the host that the owner names, also a private one, and to public ones."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from dragoman.errors import ConfigurationError

if TYPE_CHECKING:
    from dragoman.outbound.answers import Page
    from dragoman.outbound.client import GuardedClient

__all__ = ["IssuerClient", "is_safe"]

MOST = 256 * 1024
"""Bytes of what an issuer publishes."""
MOST_OF_TOKEN = 64 * 1024
"""Bytes of what it says of one token, of which thousands are remembered."""
TIMEOUT = 10.0
"""Seconds for a call, everything included."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_JSON = "application/jwk-set+json, application/json"


def is_safe(url: str) -> bool:
    """Whether nobody on the way can change what is there: over https, or on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK))


class IssuerClient:
    """Calls what an issuer has at the host of `url`, or at public addresses over https. No redirect is followed.

    Connections are shared by calls that are under way together, and closed with the last of them.
    """

    def __init__(self, url: str) -> None:
        """
        Raises:
            ConfigurationError: the URL is not https, and not of this machine.
        """
        if not is_safe(url):
            raise ConfigurationError("what an issuer says comes over https, or from this machine")
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self._client: GuardedClient | None = None
        self._calls = 0

    async def get(self, url: str) -> bytes:
        """The body of an answer with status 200.

        Raises:
            AddressRefused: nothing was connected to.
            Undelivered: there is no such answer.
        """
        async with self._open() as client:
            return await client.get(url, MOST, {"accept": _JSON})

    async def post(self, url: str, form: Mapping[str, str], authorization: str) -> "Page":
        """The answer to a form, whatever its status. Raises as `get` does."""
        headers = {
            "accept": "application/json",
            "authorization": authorization,
            "content-type": "application/x-www-form-urlencoded",
        }
        async with self._open() as client:
            return await client.request("POST", url, MOST_OF_TOKEN, headers=headers, body=urlencode(form).encode())

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator["GuardedClient"]:
        client = self._client
        if client is None:
            from dragoman.outbound.client import GuardedClient
            from dragoman.outbound.policy import Policy

            client = self._client = GuardedClient(Policy(allow=[self._origin]), timeout=TIMEOUT)
        self._calls += 1
        try:
            yield client
        finally:
            self._calls -= 1
            if not self._calls:
                await client.close()
