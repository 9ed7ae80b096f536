"""The connections of one server: which are open, and how many there may be."""

import ipaddress
import logging
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Protocol

import msgspec

from dragoman.errors import ConfigurationError

__all__ = ["Connection", "ConnectionLimits", "Connections", "network_of"]

WARNING = 60.0
"""Seconds between two warnings that connections are refused."""
IPV6_PREFIX = 64
"""Bits: what a single caller has of IPv6 addresses, at the least."""

log = logging.getLogger("dragoman.hosts")


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What connections may cost. Times in seconds, sizes in bytes.

    Raises:
        ConfigurationError: one of them is not more than 0.
    """

    most: int = 2000
    """Open at once; one more is closed at once, without TLS with 503. Where the process may open fewer files, so much
    less.
    """
    most_per_address: int = 200
    """The same of one address, of IPv6 of one network of 64 bits. This machine and trusted proxies are not counted."""
    handshake_timeout: float = 10.0
    """For TLS to be agreed upon."""
    idle: float = 75.0
    """Without a request in flight; then it is closed."""
    head_timeout: float = 20.0
    """From the first byte of a request's head to its last."""
    max_head_bytes: int = 64 * 1024
    """Request line and header fields together, decoded."""
    max_header_fields: int = 128
    stall: float = 60.0
    """Without a caller taking anything of what waits for it; then the connection is cut."""
    high_water: int = 64 * 1024
    """Bytes that wait for a slow reader before the application is made to wait."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name} of connections must be more than 0")


class Connection(Protocol):
    """One connection, of either version of HTTP."""

    def close_gently(self) -> None:
        """Takes no new request; closes when those in flight are answered, at once if there are none."""
        ...

    def abort(self) -> None:
        """Closes at once, and cancels what is in flight."""
        ...


class Connections:
    """Those that are open, in the order in which they came, each with the network that it is counted under.

    `uncounted` says of an address that it may have any number of them; `now` are seconds.
    """

    def __init__(self, limits: ConnectionLimits, uncounted: Callable[[str], bool], now: Callable[[], float]) -> None:
        self._most, self._most_per_address = limits.most, limits.most_per_address
        self._uncounted = uncounted
        self._now = now
        self._warned = -WARNING
        self._networks: dict[Connection, str] = {}
        self._counts: dict[str, int] = {}
        """By network, as long as it has any."""

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._networks)

    def __len__(self) -> int:
        return len(self._networks)

    def enter(self, connection: Connection, address: str) -> bool:
        """Takes a connection from this address, which is empty where there is none; false if there are too many."""
        if len(self._networks) >= self._most:
            return self._refused("%d in all, which is the most", self._most)
        network = "" if not address or self._uncounted(address) else network_of(address)
        if network:
            count = self._counts.get(network, 0)
            if count >= self._most_per_address:
                return self._refused("%d from one address, which is the most", count)
            self._counts[network] = count + 1
        self._networks[connection] = network
        return True

    def add(self, connection: Connection) -> None:
        """Takes one that need not be counted, or is known."""
        self._networks.setdefault(connection, "")

    def succeed(self, old: Connection, new: Connection) -> None:
        """The place of `old` is that of `new`."""
        self._networks[new] = self._networks.pop(old, "")

    def discard(self, connection: Connection) -> None:
        network = self._networks.pop(connection, "")
        if network:
            self._counts[network] -= 1
            if not self._counts[network]:
                del self._counts[network]

    def _refused(self, why: str, count: int) -> bool:
        now = self._now()
        if now - self._warned >= WARNING:
            self._warned = now
            log.warning(f"connections are refused: there are {why}", count)  # noqa: G004 -- one of two constants
        return False


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Whose address it is, as far as an address says: itself, of IPv6 its network of 64 bits. Empty for this machine,
    and for what is no address.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    # On a socket for both, an IPv4 address looks like ::ffff:10.0.0.1.
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback:
        return ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(ipaddress.IPv6Network((int(found) >> IPV6_PREFIX << IPV6_PREFIX, IPV6_PREFIX)))
