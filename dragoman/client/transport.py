"""What carries HTTP requests: a small protocol, and aiohttp behind it."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin

from dragoman.client.login.origins import origin_of
from dragoman.errors import ConnectFailed, ReplyMalformed, TimedOut, TransportError
from dragoman.ports.webhook import AddressRefused, Undelivered

if TYPE_CHECKING:
    import aiohttp

    from dragoman.client.network import Guard

__all__ = ["PATIENCE", "AiohttpTransport", "HttpResponse", "HttpTransport", "following", "read"]

MAX_REDIRECTS = 5
# Less than the five seconds after which common servers drop an idle connection: a request sent into a connection
# that is being closed could not be repeated.
KEEP_ALIVE = 4.0
LONG_BODY = 64 * 1024
LONGEST_SHOWN = 300
"""Characters of a URL, and of what aiohttp says, in the words of an error: both may be as long as an agent likes."""
PATIENCE = 60.0
SLOWEST = 16 * 1024
"""Bytes in a second at which something may come, or go, in time."""


class HttpResponse(Protocol):
    """An answer whose head has come. Header names are lower case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def body(self) -> AsyncIterator[bytes]:
        """The body as it arrives, decoded from any content coding; to be read once."""
        ...


class HttpTransport(Protocol):
    """Sends one request and gives its answer; any HTTP client can be put behind it.

    It sends each request at most once, follows no redirect and keeps no cookies.
    """

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Enters when the head of the answer has come; leaving closes the connection or gives it back.

        Raises:
            ConnectFailed: no connection, so nothing was sent.
            TimedOut: nothing came within the time allowed.
            TransportError: the connection broke. The body's iterator raises these two as well.
        """
        ...

    async def aclose(self) -> None:
        """Closes all connections."""
        ...


class AiohttpTransport:
    """HTTP/1.1 over aiohttp: connect and idle time-outs in seconds, none on the whole; TLS verified by default.

    The head of an answer may take both together, and a long request the time that it takes at 16 KiB in a second.

    With a `guard` it calls what that admits and nothing else, and hears of no proxies.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = 10.0,
        idle_timeout: float = 300.0,
        verify: bool | ssl.SSLContext = True,
        guard: "Guard | None" = None,
    ) -> None:
        self.guard = guard
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._verify = verify
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[HttpResponse, None]:
        # The idle time-out counts from the last byte, and so never ends a head that comes in drips.
        patience = self._connect_timeout + self._idle_timeout + len(body) / SLOWEST
        with _translated(url):
            async with asyncio.timeout(patience):
                response = await self._sent(method, url, headers, body)
        try:
            yield _Response(response)
        finally:
            # Gives the connection back if the body was read to its end, else closes it.
            response.close() if not response.content.at_eof() else response.release()

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> "aiohttp.ClientResponse":
        if self.guard is None:
            return await self._opened().request(
                method, url, headers=headers, data=_sendable(body), allow_redirects=False
            )
        target = self.guard.target(url)
        session = self._opened()
        from dragoman.outbound.guard import bound_for, url_of

        token = bound_for.set(target)
        try:
            place = url_of(target)
            return await session.request(method, place, headers=headers, data=_sendable(body), allow_redirects=False)
        finally:
            bound_for.reset(token)

    def _opened(self) -> "aiohttp.ClientSession":
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(
                total=None,
                connect=None,
                sock_connect=self._connect_timeout,
                sock_read=self._idle_timeout,
            )
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=timeout,
                headers={"user-agent": "dragoman"},
            )
        return self._session

    def _connector(self) -> "aiohttp.TCPConnector":
        import aiohttp

        if self.guard is None:
            return aiohttp.TCPConnector(ssl=self._verify, limit=0, keepalive_timeout=KEEP_ALIVE)
        from dragoman.outbound.guard import GuardedConnector

        return GuardedConnector(self.guard.policy, self.guard.resolver, self._verify)


def _sendable(body: bytes) -> bytes | BytesIO | None:
    """In the form in which aiohttp sends long bodies piece by piece, and does not warn of them."""
    return BytesIO(body) if len(body) > LONG_BODY else body or None


class _Response:
    def __init__(self, response: "aiohttp.ClientResponse") -> None:
        self._response = response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def body(self) -> AsyncIterator[bytes]:
        content = self._response.content
        while True:
            with _translated(str(self._response.url)):
                chunk = await content.readany()
            if not chunk:
                return
            yield chunk


@contextmanager
def _translated(url: str) -> Generator[None, None, None]:
    """Turns what aiohttp raises into our words."""
    import aiohttp

    shown, query = _shown(url), url.partition("?")[2]
    try:
        yield
    except (AddressRefused, Undelivered) as error:
        raise ConnectFailed(f"No connection to {shown}: {error}") from error
    except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
        raise ConnectFailed(f"No connection to {shown}: {_without(query, error)}") from _unless(query, error)
    except TimeoutError as error:
        raise TimedOut(f"Nothing came from {shown} in time") from _unless(query, error)
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
        why = f"{type(error).__name__} {_without(query, error)}"
        raise TransportError(f"The connection to {shown} broke: {why}") from _unless(query, error)


def _without(query: str, error: Exception) -> str:
    """What aiohttp says, unless it repeats the URL: in a query there may be an API key."""
    said = str(error)
    return (said if not query or "?" not in said else getattr(error, "message", ""))[:LONGEST_SHOWN]


def _unless(query: str, error: Exception) -> Exception | None:
    return None if query and "?" in str(error) else error


@asynccontextmanager
async def following(
    transport: HttpTransport, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> AsyncGenerator[HttpResponse, None]:
    """Opens a request and follows redirects within the origin, as far as they keep the method (at most five).

    Raises:
        ReplyMalformed: the agent redirects elsewhere. Credentials are not carried to other origins.
    """
    for _ in range(MAX_REDIRECTS + 1):
        async with transport.open(method, url, headers, body) as response:
            target = _redirect(method, url, response)
            if target is None:
                yield response
                return
        if origin_of(target) is None or origin_of(target) != origin_of(url):
            raise ReplyMalformed(f"{_shown(url)} redirects to another origin", _shown(target))
        url = target
    raise ReplyMalformed("Too many redirects", _shown(url))


async def read(response: HttpResponse, limit: int, patience: float = PATIENCE) -> bytes:
    """The whole body. It may take `patience` seconds, and the time that it would take at 16 KiB in a second.

    Raises:
        ReplyMalformed: it is longer than `limit` bytes.
        TimedOut: it comes in drips.
    """
    body = bytearray()
    end = asyncio.get_running_loop().time() + patience
    try:
        async with asyncio.timeout_at(end) as time_out:
            async for chunk in response.body():
                body += chunk
                if len(body) > limit:
                    excerpt = bytes(body[:200]).decode("utf-8", "replace")
                    raise ReplyMalformed(f"The reply is longer than {limit} bytes", excerpt)
                time_out.reschedule(end + len(body) / SLOWEST)
    except TimeoutError:
        raise TimedOut("The reply comes too slowly") from None
    return bytes(body)


def _redirect(method: str, url: str, response: HttpResponse) -> str | None:
    keeps_method = response.status in {307, 308} or (method == "GET" and response.status in {301, 302, 303})
    location = response.headers.get("location")
    try:
        return urljoin(url, location) if keeps_method and location else None
    except ValueError:
        raise ReplyMalformed(f"{_shown(url)} redirects to what is no URL", _shown(location or "")) from None


def _shown(url: str) -> str:
    """As much of a URL as can be shown: without query and user information."""
    scheme, mark, rest = url.partition("?")[0].rpartition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}"[:LONGEST_SHOWN]
