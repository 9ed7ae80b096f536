"""Connections over aiohttp, each to an address that was checked. Loaded with the first call: that takes a while."""

import asyncio
import io
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from yarl import URL

from dragoman.errors import DragomanError
from dragoman.outbound.answers import FAILURES, Page, answer_of, words_for
from dragoman.outbound.guard import GuardedConnector, bound_for, refusal_in, url_of
from dragoman.outbound.policy import Policy
from dragoman.outbound.resolving import Resolver
from dragoman.outbound.url import Target
from dragoman.ports.webhook import Answer, Undelivered

__all__ = ["Pool"]

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
            connector=GuardedConnector(policy, resolver, True if tls is None else tls),
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
        page = await self.request("GET", url, headers, b"", most, only=OK)
        return page.body

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, most: int, *, only: int | None = None
    ) -> Page:
        """An answer with a body of at most `most` bytes, of this status if `only` names one."""
        sent = {"Accept-Encoding": "identity", **headers}
        try:
            async with self._answered(method, url, sent, body) as (response, _):
                if response.status != (only or response.status):
                    raise Undelivered(f"The answer has status {response.status} and not {only}")
                told = {name.lower(): value for name, value in response.headers.items()}
                content = await _read(response, most)
        except FAILURES as error:
            raise self._told(error) from None
        if len(content) > most:
            raise Undelivered(f"The answer is longer than {most} bytes")
        return Page(response.status, told, content)

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

    def _told(self, error: Exception) -> DragomanError:
        refusal = refusal_in(error)
        if refusal is not None:
            return refusal
        if isinstance(error, TimeoutError):
            return Undelivered(f"No answer within {self._timeout:g} s")
        return Undelivered(words_for(error))


def _sendable(body: bytes) -> bytes | io.BytesIO | None:
    """In the form in which aiohttp sends long bodies piece by piece, and does not warn of them."""
    return io.BytesIO(body) if len(body) > LONG_BODY else body or None


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body to its end, or a little more than `most` bytes of it."""
    body = bytearray()
    while len(body) <= most and (chunk := await response.content.readany()):
        body += chunk
    return bytes(body)
