"""What an issuer says of itself: OpenID Connect Discovery 1.0, and RFC 8414, which have the same members."""

import time
from collections.abc import Awaitable, Callable, Collection

import msgspec

from dragoman.auth.issuer import IssuerClient, is_safe
from dragoman.auth.keys import PublishedKeys
from dragoman.auth.published import Published
from dragoman.signing.jws import NotVerified

__all__ = ["IssuerMetadata", "PublishedMetadata"]


class IssuerMetadata(msgspec.Struct, frozen=True):
    """The members that matter here. Each URL is https, or of this machine, or empty."""

    issuer: str
    jwks_uri: str = ""
    introspection_endpoint: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    device_authorization_endpoint: str = ""

    @classmethod
    def read(cls, document: bytes, issuers: Collection[str]) -> "IssuerMetadata":
        """The document of one of these issuers.

        Raises:
            NotVerified: it is none, it is another's, or it leads to where anybody could answer.
        """
        try:
            found = msgspec.json.decode(document, type=cls)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise NotVerified("the issuer's metadata cannot be read") from None
        if found.issuer not in issuers:
            raise NotVerified("the metadata are another issuer's")
        for name in cls.__struct_fields__[1:]:
            url = getattr(found, name)
            if url and not is_safe(url):
                raise NotVerified(f"{name} is not over https")
        return found


class PublishedMetadata:
    """The document at a URL, which must be of one of these issuers; `fetch` stands in for the network, `now` for the
    clock.
    """

    def __init__(
        self,
        url: str,
        issuers: Collection[str],
        *,
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Raises:
            ConfigurationError: the URL is not https, and not of this machine.
        """
        self.url = url
        self._fetch = fetch or IssuerClient(url).get
        self._now = now

        async def read() -> IssuerMetadata:
            return IssuerMetadata.read(await self._fetch(url), issuers)

        self._published = Published(f"the metadata at {url}", read, now)

    async def current(self) -> IssuerMetadata:
        """
        Raises:
            UnavailableError: there are none now.
        """
        return (await self._published.current())[0]

    def keys(self) -> PublishedKeys:
        """The keys at `jwks_uri`, wherever that is at the time."""

        async def fetch(_: str) -> bytes:
            found = await self.current()
            if not found.jwks_uri:
                raise NotVerified("the issuer names no key set")
            return await self._fetch(found.jwks_uri)

        return PublishedKeys(self.url, fetch=fetch, now=self._now)
