"""Connections over aiohttp, each to an address that was checked. Loaded with the first call: that takes a while."""

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from dragoman.errors import DragomanError
from dragoman.outbound.answers import FAILURES, answer_of, words_for
from dragoman.outbound.policy import Policy
from dragoman.outbound.resolving import Resolver
from dragoman.outbound.url import Target
from dragoman.ports.webhook import AddressRefused, Answer, Undelivered

__all__ = ["Pool", "bound_for", "url_of"]

KEEP_ALIVE = 4.0
"""Seconds that a connection may be idle. Less than the five after which common servers drop it: what is sent into a
connection that is being closed may or may not have arrived.
"""
MOST_BODY = 64 * 1024
"""Bytes of the body of an answer that are read to keep the connection; what is longer ends it."""
LINGER = 1.0
"""Seconds that the body may take after the head, likewise."""
LONGEST_LINE = 8190
LONG_BODY = 1024 * 1024
MOST_PLACES = 1024
RESERVED = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"}
)
OK = 200

bound_for: ContextVar[Target] = ContextVar("bound_for")
"""Where the call under way goes: aiohttp tells its resolver and its sockets less than the policy needs."""


class _Place(msgspec.Struct, frozen=True):
    """A URL that was read."""

    target: Target
    url: URL


class Pool:
    """Connections that are all dropped after `lifetime` seconds, and the calls over them. Needs a running loop."""

    def __init__(
        self, policy: Policy, resolver: Resolver, tls: ssl.SSLContext | None, timeout: float, lifetime: float
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._places: dict[str, _Place] = {}
        self._calls = 0
        self._retired = False
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + lifetime
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_Checked(resolver),
                use_dns_cache=False,
                socket_factory=self.socket_to,
                ssl=True if tls is None else tls,
                limit=0,
                keepalive_timeout=KEEP_ALIVE,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A call has one limit for everything, which is set around it.
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            auto_decompress=False,
            trust_env=False,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )

    @property
    def is_old(self) -> bool:
        """Whether no call should begin here any more."""
        return self._loop.time() >= self._end

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """As the port's. The body of the answer is dropped, and whatever happens to it changes nothing."""
        answer: Answer | None = None
        try:
            async with self._answered("POST", url, headers, body) as (response, limit):
                answer = answer_of(response.status, response.headers)
                if not response.content.at_eof():
                    limit.reschedule(min(limit.when() or 0.0, self._loop.time() + LINGER))
                    await _read(response, MOST_BODY)
        except FAILURES as error:
            if answer is None:
                raise self._told(error) from None
        return answer

    async def get(self, url: str, headers: Mapping[str, str], most: int) -> bytes:
        """The body of an answer with status 200, of at most `most` bytes."""
        try:
            async with self._answered("GET", url, {"Accept-Encoding": "identity", **headers}, b"") as (response, _):
                if response.status != OK:
                    raise Undelivered(f"The answer has status {response.status} and not {OK}")
                body = await _read(response, most)
        except FAILURES as error:
            raise self._told(error) from None
        if len(body) > most:
            raise Undelivered(f"The answer is longer than {most} bytes")
        return body

    async def retire(self) -> None:
        """Closes the connections as soon as no call needs them."""
        self._retired = True
        if not self._calls:
            await self.close()

    async def close(self) -> None:
        """Closes all connections; calls on them fail."""
        await self._session.close()

    @asynccontextmanager
    async def _answered(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[tuple[aiohttp.ClientResponse, asyncio.Timeout], None]:
        """One call, entered when the head of its answer is there. Leaving gives the connection back if the body was
        read to its end, and closes it otherwise.
        """
        if not RESERVED.isdisjoint(map(str.lower, headers)):
            raise Undelivered("A header is one that HTTP itself says")
        place = self._places.get(url) or self._place(url)
        response: aiohttp.ClientResponse | None = None
        token = bound_for.set(place.target)
        self._calls += 1
        try:
            async with asyncio.timeout(self._timeout) as limit:
                response = await self._session.request(
                    method, place.url, data=_sendable(body), headers=headers, allow_redirects=False
                )
                yield response, limit
        finally:
            bound_for.reset(token)
            if response is not None:
                response.close()
            self._calls -= 1
            if self._retired and not self._calls:
                await self.close()

    def _place(self, url: str) -> _Place:
        """What the URL says, which does not change with time: addresses are looked at with each connection."""
        target = self._policy.target(url)
        if len(self._places) >= MOST_PLACES:
            self._places.clear()
        place = self._places[url] = _Place(target, url_of(target))
        return place

    def socket_to(self, info: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
        """The last look at where a connection goes, whatever has led to it."""
        family, kind, protocol, _, (address, port, *_) = info
        target = bound_for.get()
        if port != target.port:
            raise _Barred(f"Port {port} was not asked for")
        try:
            self._policy.admit(target, [address])
        except AddressRefused as error:
            raise _Barred(str(error)) from error
        return socket.socket(family, kind, protocol)

    def _told(self, error: Exception) -> DragomanError:
        if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, AddressRefused):
            return AddressRefused(str(error.os_error))
        if isinstance(error, TimeoutError):
            return Undelivered(f"No answer within {self._timeout:g} s")
        return Undelivered(words_for(error))


class _Barred(AddressRefused, ConnectionError):
    """In the form in which aiohttp lets it through from the attempts that it makes side by side."""


class _Checked(AbstractResolver):
    """What aiohttp asks for addresses."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        target = bound_for.get()
        if (host, port) != (target.host, target.port):
            raise AddressRefused(f"{host} was not asked for")
        found = await self._resolver.addresses(target)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0) for address in found
        ]

    async def close(self) -> None:
        """Nothing to give back."""


def url_of(target: Target) -> URL:
    """The target as aiohttp takes it.

    Raises:
        AddressRefused: aiohttp would read it otherwise than it was checked.
    """
    url = URL(target.url, encoded=True)
    if (url.scheme, url.raw_host, url.port, url.raw_path_qs) != (target.scheme, target.host, target.port, target.path):
        raise AddressRefused("The URL can be read in two ways")
    return url


def _sendable(body: bytes) -> bytes | io.BytesIO | None:
    """In the form in which aiohttp sends long bodies piece by piece, and does not warn of them."""
    return io.BytesIO(body) if len(body) > LONG_BODY else body or None


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body to its end, or a little more than `most` bytes of it."""
    body = bytearray()
    while len(body) <= most and (chunk := await response.content.readany()):
        body += chunk
    return bytes(body)
