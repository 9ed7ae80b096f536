"""What hostile URLs and names can lead to, and what counts who gets there.

Listeners count the connections to addresses of this machine; a wall before the sockets counts what would go to any
other address, and lets nothing out. One loopback address plays the public internet, so that something can be called.
"""

import asyncio
import errno
import socket
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import ip_address
from typing import Any

import msgspec
import pytest
import trustme

from dragoman.outbound import Policy

__all__ = ["FORBIDDEN", "HOSTS", "LYING", "NAME", "PUBLIC", "REBINDING", "TRUSTING", "Field", "Resolve", "opened"]
__all__ += ["resolving", "urls"]

PUBLIC = "127.80.0.1"
NAME = "hooks.example.com"
FORBIDDEN = ("127.0.0.1", "127.0.0.2", "127.255.255.254", "::1")
PORTS = 20
"""To try, one after the other."""
LONGEST = 60.0
AUTHORITY = trustme.CA()

Resolve = Callable[[str], Awaitable[Sequence[str]]]


class Field(msgspec.Struct, eq=False):
    """Everything that can be connected to, all at one port."""

    port: int
    own: tuple[str, ...]
    """Addresses of this machine in its network."""
    heads: list[str] = msgspec.field(default_factory=list[str])
    """Of requests that reached the public address."""
    leads: str = ""
    """Where that redirects to what is elsewhere; by default to this machine."""
    reached: Counter[str] = msgspec.field(default_factory=Counter[str])
    """Connections to, and attempts at, what is forbidden, by address."""

    @property
    def served(self) -> int:
        """Requests that reached the public address."""
        return len(self.heads)

    @property
    def policy(self) -> Policy:
        return Policy(allow=["127.80.0.0/16"], ports=[self.port])

    def url(self, host: str = NAME) -> str:
        return f"https://{host}:{self.port}/hook"


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


TRUSTING = _trusting()


def _own_addresses() -> tuple[str, ...]:
    """Where packets of this machine would come from; connecting a datagram socket sends none."""
    found: list[str] = []
    for family, beyond in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((beyond, 9))
            found.append(probe.getsockname()[0])
    return tuple(address for address in found if not ip_address(address).is_loopback)


@asynccontextmanager
async def opened(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Field, None]:
    own = _own_addresses()
    async with asyncio.timeout(LONGEST), AsyncExitStack() as stack:
        place = await _laid_out(stack, own)
        _build_wall(place, monkeypatch)
        yield place


async def _laid_out(stack: AsyncExitStack, own: tuple[str, ...]) -> Field:
    """Receivers at one port of all addresses; at one of them another process may have what is free at the first."""
    for _ in range(PORTS):
        async with AsyncExitStack() as attempt:
            place = Field(port=0, own=own)
            place.port = await attempt.enter_async_context(_public(place))
            try:
                for address in (*FORBIDDEN, *own):
                    await attempt.enter_async_context(_counted(place, address))
            except OSError:
                continue
            await stack.enter_async_context(attempt.pop_all())
            return place
    raise RuntimeError(f"none of {PORTS} ports was free at all addresses")


@asynccontextmanager
async def _public(place: Field) -> AsyncGenerator[int, None]:
    """A receiver that closes after each answer, so that each call needs a connection of its own."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            place.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            status = b"200 OK"
            if "/elsewhere" in place.heads[-1]:
                to = place.leads or f"http://127.0.0.1:{place.port}/"
                status = b"307 Elsewhere\r\nLocation: " + to.encode("utf-8")
            writer.write(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(NAME, PUBLIC).configure_cert(context)
    server = await asyncio.start_server(connected, PUBLIC, 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def _counted(place: Field, address: str) -> AsyncGenerator[None, None]:
    async def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place.reached[address] += 1
        writer.close()

    server = await asyncio.start_server(connected, address, place.port)
    async with server:
        yield


def _build_wall(place: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts at anything but loopback addresses are counted, and fail as where there is no network."""
    kind: Any = type(asyncio.get_running_loop())
    connect = kind.sock_connect

    async def walled(loop: Any, sock: socket.socket, address: Any) -> None:
        goes_to = ip_address(address[0].partition("%")[0])
        if not goes_to.is_loopback and not goes_to.is_unspecified:
            place.reached[address[0]] += 1
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        await connect(loop, sock, address)

    monkeypatch.setattr(kind, "sock_connect", walled)


# Hosts that mean this machine, its network, or its cloud, to some reader at least.
HOSTS = (
    *("127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0", "127.1", "127.0.1", "2130706433", "017700000001"),
    *("0x7f000001", "0x7f.1", "0177.0.0.1", "0177.0.0.0x1", "00127.0.0.1", "127.0.0.1.", "127.0.0.01", "localhost"),
    *("LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost", "[::1]", "[::]", "[0::0:1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]"),
    *("[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::1]", "[2001:0:7f00:1::1]", "[::1%25lo]", "[::1%lo]", "[fe80::1%25lo]"),
    *("127%2e0%2e0%2e1", "%31%32%37.0.0.1", "127.0.0.1%00.example.com", "127.0.0.1%2f.example.com", "loc%61lhost"),
    *("\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460"),
    *("\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54", "local\u00adhost", "loc\u0430lhost", "xn--localhost-"),
    *("user@127.0.0.1", "hooks.example.com@127.0.0.1", "hooks.example.com:443@127.0.0.1", "127.0.0.1\\@example.com"),
    *("127.0.0.1#.example.com", "127.0.0.1 .example.com", "127.0.0.1\t", "127.0.0.1\r\nHost: a", "127.0.0.1\x00"),
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.100.100.200", "[fd00:ec2::254]", "100.64.0.1"),
    *("[fe80::1]", "[fec0::1]", "[fc00::1]", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[ff02::1]", "240.0.0.1"),
    *("metadata.google.internal", "metadata", "kubernetes.default.svc", "printer.local", "router.home.arpa"),
)
# Names of the public internet whose owner says that they are elsewhere.
LYING = (
    *("127.0.0.1", "127.0.0.2", "0.0.0.0", "10.0.0.1", "172.31.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1"),
    *("::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::a00:1"),
    *("2002:7f00:1::", "2001:0:7f00:1::", "fe80::1", "fe80::1%lo", "fd00:ec2::254", "fec0::1", "ff02::1", "127.1"),
    *("2130706433", "0x7f.1", "localhost", "100.100.100.200", "224.0.0.1", "255.255.255.255", "2606:4700::5efe:7f00:1"),
)


def urls(place: Field) -> list[str]:
    hosts = [*HOSTS, *place.own]
    secure = [place.url(f"[{host}]" if ":" in host and host in place.own else host) for host in hosts]
    return [*secure, *(url.replace("https:", "http:", 1) for url in secure)]


def resolving(*answers: Sequence[str]) -> Resolve:
    """Gives these answers one after the other, the last again and again."""
    waiting = list(answers)

    async def resolve(_name: str) -> Sequence[str]:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return resolve


# What a name says each time that it is asked: first when it is looked at, then for each connection.
REBINDING: dict[str, tuple[tuple[str, ...], ...]] = {
    "then this machine": ((PUBLIC,), ("127.0.0.1",)),
    "then this machine by IPv6": ((PUBLIC,), ("::1",)),
    "then no address, which is this machine": ((PUBLIC,), ("0.0.0.0",)),
    "then a mapped one": ((PUBLIC,), ("::ffff:127.0.0.1",)),
    "then both": ((PUBLIC,), (PUBLIC, "127.0.0.1")),
    "then both, the other first": ((PUBLIC,), ("127.0.0.1", PUBLIC)),
    "then one behind where nobody is": ((PUBLIC,), ("127.80.0.9", "127.0.0.2")),
    "then one of each kind": ((PUBLIC,), (PUBLIC, "::1")),
    "after the first call": ((PUBLIC,), (PUBLIC,), ("127.0.0.1",)),
    "after the second call": ((PUBLIC,), (PUBLIC,), (PUBLIC,), ("127.0.0.2",)),
    "now and then": ((PUBLIC,), ("127.0.0.1",), (PUBLIC,), ("127.0.0.1",)),
    "then the cloud": ((PUBLIC,), ("169.254.169.254",)),
    "then the network": ((PUBLIC,), ("10.0.0.1",)),
}
