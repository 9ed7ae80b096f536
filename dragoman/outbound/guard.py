"""Connections of aiohttp that go to checked addresses only. Loaded with the first call: that takes a while."""

import socket
import ssl
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from dragoman.outbound.policy import Policy
from dragoman.outbound.resolving import Resolver
from dragoman.outbound.url import Target
from dragoman.ports.webhook import AddressRefused

__all__ = ["GuardedConnector", "bound_for", "refusal_in", "url_of"]

KEEP_ALIVE = 4.0
"""Seconds that a connection may be idle. Less than the five after which common servers drop it: what is sent into a
connection that is being closed may or may not have arrived.
"""

bound_for: ContextVar[Target] = ContextVar("bound_for")
"""Where the call under way goes: aiohttp tells its resolver and its sockets less than the policy needs."""


class GuardedConnector(aiohttp.TCPConnector):
    """Resolves each name once for each connection, and connects to addresses that were admitted. Every request over it
    needs its `bound_for`. `tls` says whom to trust: with True the system's authorities.
    """

    def __init__(self, policy: Policy, resolver: Resolver, tls: bool | ssl.SSLContext) -> None:
        super().__init__(
            resolver=_Checked(resolver),
            use_dns_cache=False,
            socket_factory=self.socket_to,
            ssl=tls,
            limit=0,
            keepalive_timeout=KEEP_ALIVE,
        )
        self._policy = policy

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


def refusal_in(error: Exception) -> AddressRefused | None:
    """The refusal that a failed connection stands for, if it stands for one."""
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, AddressRefused):
        return AddressRefused(str(error.os_error))
    return error if isinstance(error, AddressRefused) else None


def url_of(target: Target) -> URL:
    """The target as aiohttp takes it.

    Raises:
        AddressRefused: aiohttp would read it otherwise than it was checked.
    """
    url = URL(target.url, encoded=True)
    if (url.scheme, url.raw_host, url.port, url.raw_path_qs) != (target.scheme, target.host, target.port, target.path):
        raise AddressRefused("The URL can be read in two ways")
    return url
