"""Files that others have named by URL: fetched under the guard, with bounds on everything."""

import asyncio
import importlib
import math
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import ModuleType
from typing import Literal
from urllib.parse import urljoin

import msgspec

from dragoman.errors import ConfigurationError, DragomanError
from dragoman.outbound.policy import Policy
from dragoman.outbound.resolving import Resolve, Resolver
from dragoman.outbound.url import read_url
from dragoman.ports.webhook import AddressRefused, Undelivered
from dragoman.types.content import Part
from dragoman.types.fetching import Fetched

__all__ = ["FetchFailed", "FetchOptions", "FetchRefused", "FileFetcher"]

OK = 200
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 3
LONGEST_TYPE = 255
LOOKUPS = 8
"""Names that are resolved at a time."""
HEADERS = {"Accept": "*/*", "User-Agent": "dragoman"}


Trusting = ssl.SSLContext | Callable[[], ssl.SSLContext | None] | None
"""Whom to trust, or what makes that once it is needed, which takes a while; None: the system's authorities."""


class FetchFailed(DragomanError):
    """The file of a part was not to be had. The message repeats host and port of its URL at most."""


class FetchRefused(FetchFailed):
    """The URL of a part may not be called; nothing was connected to where it leads."""


class FetchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What may be fetched of the files that parts name by URL, and how much."""

    network: Literal["public", "any"] = "public"
    """`any`: every address may be called, those of this machine and its network included, also over plain http."""
    allow: Sequence[str] = ()
    """What may be called although it is private, or http, or on another port than 443 and 8443: hosts, `host:port`,
    addresses, and ranges as `10.0.0.0/8`; `http://host:port` opens plain http to it.
    """
    max_bytes: int = 16 * 1024 * 1024
    """Of one file."""
    timeout: float = 30.0
    """Seconds for one file, waiting for a place and redirects included."""
    at_once: int = 16
    """How many files are fetched at once; further ones wait."""

    def __post_init__(self) -> None:
        if self.network not in ("public", "any"):
            raise ConfigurationError(f"fetch: network is public or any, not {self.network!r}")
        if not 0 < self.timeout < math.inf:
            raise ConfigurationError("fetch: timeout must be more than 0 seconds")
        for name in ("max_bytes", "at_once"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"fetch: {name} must be 1 or more")
        self.policy()

    def policy(self) -> Policy:
        """What may be called.

        Raises:
            ConfigurationError: an entry of `allow` means nothing.
        """
        return Policy(allow=self.allow, insecure=self.network == "any")


class FileFetcher:
    """A `Fetcher` that calls what `policy` admits, by default that of the options, with connections for each file.

    Sent are a method, a host and nothing about anybody: no credentials, no cookies. No proxies are used. Up to three
    redirects are followed, each to what the policy admits and none from https to http. Content codings are refused,
    so that what is counted is what is kept. `resolve` stands in for the system's names, `tls` says whom to trust.
    """

    def __init__(
        self,
        options: FetchOptions | None = None,
        *,
        policy: Policy | None = None,
        resolve: Resolve | None = None,
        tls: Trusting = None,
    ) -> None:
        self._options = options or FetchOptions()
        self._policy = policy or self._options.policy()
        self._resolve = resolve
        self._tls: Trusting = tls
        self._resolver: Resolver | None = None
        self._places = asyncio.Semaphore(self._options.at_once)

    def fetch(self, part: Part) -> Awaitable[Fetched]:
        """As `Part.fetch`. Needs a running event loop at once, and not only when it is awaited."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("there is no event loop in this thread: say task.fetch(part)") from None
        return self._fetched(part)

    def close(self) -> None:
        """Lets go of the threads that look up names; a later `fetch` makes new ones."""
        resolver, self._resolver = self._resolver, None
        if resolver is not None:
            resolver.close()

    async def _fetched(self, part: Part) -> Fetched:
        raw = part.raw
        if raw is not None:
            return Fetched(raw, part.media_type)
        if part.url is None:
            raise ValueError("the part holds text or data, and no file")
        try:
            self._policy.target(part.url)
            async with asyncio.timeout(self._options.timeout), self._places:
                content, told = await self._followed(part.url)
        except AddressRefused as error:
            raise FetchRefused(str(error)) from None
        except Undelivered as error:
            raise FetchFailed(str(error)) from None
        except TimeoutError:
            raise FetchFailed(f"The file did not come within {self._options.timeout:g} s") from None
        return Fetched(content, told or part.media_type)

    async def _followed(self, url: str) -> tuple[bytes, str | None]:
        # The first time this takes as long as a hundred calls, which others need not wait for.
        module: ModuleType = await asyncio.to_thread(importlib.import_module, "dragoman.outbound.pool")
        if self._resolver is None:
            self._resolver = Resolver(self._policy, self._resolve, LOOKUPS)
        if callable(self._tls):
            self._tls = self._tls()
        timeout = self._options.timeout
        pool = module.Pool(self._policy, self._resolver, self._tls, timeout, timeout)
        try:
            for _ in range(MOST_REDIRECTS + 1):
                answer = await pool.request("GET", url, HEADERS, b"", self._options.max_bytes)
                if answer.status not in REDIRECTS:
                    return _content(answer.status, answer.headers, answer.body)
                url = _next(url, answer.headers.get("location", ""))
        finally:
            await pool.close()
        raise Undelivered(f"There are more than {MOST_REDIRECTS} redirects")


def _next(url: str, location: str) -> str:
    """Where a redirect leads; looked at like any other URL when it is called."""
    if not location:
        raise Undelivered("The answer redirects to nowhere")
    try:
        target = urljoin(url, location)
    except ValueError:
        raise AddressRefused("The answer redirects to what is no URL") from None
    if read_url(url).scheme == "https" and read_url(target).scheme != "https":
        raise AddressRefused("The answer redirects from https to http")
    return target


def _content(status: int, headers: Mapping[str, str], body: bytes) -> tuple[bytes, str | None]:
    if status != OK:
        raise Undelivered(f"The answer has status {status} and not {OK}")
    coding = headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise Undelivered("The answer has a content coding, which was not asked for")
    told = headers.get("content-type", "").strip()
    fit = "/" in told and len(told) <= LONGEST_TYPE and told.isascii() and told.isprintable()
    return body, told if fit else None
