"""Connections of the gRPC client: where to, with or without TLS, and whether there is one."""

import asyncio
import importlib
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pybase64

from dragoman.client.channel import ChannelOptions
from dragoman.client.network import Guard
from dragoman.client.trust import Certificate, trusted
from dragoman.errors import ConfigurationError, ConnectFailed, TransportError

__all__ = ["Dialer", "Endpoint", "endpoint_of", "grpcio", "metadata_of"]

SCHEMES = {"https": True, "grpcs": True, "http": False, "grpc": False}
DEFAULT_PORTS = {True: 443, False: 80}
# What HTTP/2 or gRPC itself says; a caller's headers for HTTP may have it all the same.
RESERVED = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "keep-alive", "te"}
    | {"transfer-encoding", "upgrade", "user-agent"}
)
CONNECTED = "READY"
FAILED = frozenset({"TRANSIENT_FAILURE", "SHUTDOWN"})
NAME = re.compile(r"[0-9a-z_.-]+", re.ASCII)
VALUE = re.compile(r"[\x20-\x7e]*")


def grpcio() -> Any:
    """The package `grpc`, which has no types that checkers know.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        importlib.import_module("grpc.aio")
        return importlib.import_module("grpc")
    except ImportError as error:
        raise ConfigurationError('Calling agents over gRPC needs: pip install "dragoman[grpc]"') from error


class Endpoint(msgspec.Struct, frozen=True):
    """Where an interface is."""

    host: str
    port: int
    tls: bool

    @property
    def address(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class _Line(msgspec.Struct, eq=False):
    """A channel of gRPC, which makes its connections itself, and how many calls use it."""

    channel: Any
    calls: int = 0


class Dialer:
    """Gives a connected channel for each call, the same one as long as it stands.

    Unlike gRPC on its own it says whether nothing was sent, and tries again at once when it is asked again.
    """

    def __init__(
        self,
        url: str,
        options: ChannelOptions,
        *,
        verify: bool | ssl.SSLContext,
        certificate: Certificate | None = None,
        secure: bool,
        guard: Guard | None = None,
    ) -> None:
        self._url = url
        self._options = options
        self._verify = verify
        self._certificate = certificate
        self._secure = secure
        self._guard = guard
        self._line: _Line | None = None
        self._replaced: set[_Line] = set()
        self._dialing: asyncio.Task[_Line] | None = None
        self._closed = False

    @asynccontextmanager
    async def dialed(self) -> AsyncGenerator[Any, None]:
        """A channel that is connected, for one call.

        Raises:
            ConnectFailed: there is no connection, so nothing was sent.
            TransportError: the dialer is closed.
        """
        line = self._line
        if line is None or not _is_connected(line.channel):
            line = await self._dialed_anew()
        line.calls += 1
        try:
            yield line.channel
        finally:
            line.calls -= 1
            if line in self._replaced and not line.calls:
                self._replaced.discard(line)
                await line.channel.close()

    async def leave(self, channel: Any) -> None:
        """Has later calls connect anew: this channel may be one to nowhere. Calls under way stay on it."""
        if self._line is not None and self._line.channel is channel:
            await self._give_up(self._line)

    async def aclose(self) -> None:
        """Closes all connections; calls that are under way end."""
        self._closed = True
        if self._dialing is not None:
            self._dialing.cancel()
            await asyncio.wait([self._dialing])
        lines = [*self._replaced, *([self._line] if self._line is not None else [])]
        self._line = None
        self._replaced.clear()
        for line in lines:
            await line.channel.close()

    async def _dialed_anew(self) -> _Line:
        """Connects; all who want that at the same time share one attempt."""
        if self._closed:
            raise self._gone()
        if self._dialing is None:
            self._dialing = asyncio.get_running_loop().create_task(self._dial())
            self._dialing.add_done_callback(self._dialed)
        dialing = self._dialing
        try:
            return await asyncio.shield(dialing)
        except asyncio.CancelledError as error:
            if not dialing.cancelled():
                raise
            raise self._gone() from error

    def _dialed(self, dialing: asyncio.Task[_Line]) -> None:
        self._dialing = None
        if not dialing.cancelled():
            dialing.exception()  # Told to those who wait, if any still do.

    async def _dial(self) -> _Line:
        try:
            async with asyncio.timeout(self._options.connect_timeout):
                if self._line is None:
                    self._line = _Line(await self._opened())
                await _until_connected(self._line.channel)
        except (OSError, ConnectFailed) as error:
            if self._line is not None:
                await self._give_up(self._line)
            why = f": {error}" if str(error) else ""
            raise ConnectFailed(f"No connection to {self._url}{why}") from error
        return self._line

    async def _give_up(self, line: _Line) -> None:
        """Left alone gRPC would wait before it tries again, so the next call begins anew. Streams may still
        run over a connection that takes no new calls; the last of them closes it.
        """
        self._line = None
        if line.calls:
            self._replaced.add(line)
        else:
            await line.channel.close()

    async def _opened(self) -> Any:
        grpc = grpcio()
        endpoint = endpoint_of(self._url, secure=self._secure)
        options: list[tuple[str, Any]] = [
            ("grpc.primary_user_agent", "dragoman"),
            ("grpc.max_receive_message_length", self._options.max_reply),
            ("grpc.max_send_message_length", -1),
            # Nothing is sent twice, and no failure of another channel delays this one.
            ("grpc.enable_retries", 0),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
        ]
        # A host may be called as a scheme of gRPC's own is, such as `unix`.
        place = f"dns:///{endpoint.address}"
        if self._guard is not None:
            place = await self._admitted(self._guard, endpoint)
            options.append(("grpc.default_authority", endpoint.address))
            if endpoint.tls:
                options.append(("grpc.ssl_target_name_override", endpoint.host))
        if not endpoint.tls:
            return grpc.aio.insecure_channel(place, options)
        trust = await trusted(endpoint.host, endpoint.port, self._verify, self._certificate)
        if trust.name is not None:
            options.append(("grpc.ssl_target_name_override", trust.name))
        chain, key = (None, None) if self._certificate is None else self._certificate.pem()
        credentials = grpc.ssl_channel_credentials(trust.roots, key, chain)
        return grpc.aio.secure_channel(place, credentials, options)

    async def _admitted(self, guard: Guard, endpoint: Endpoint) -> str:
        """The addresses that are called, in the form in which gRPC takes them and looks up no name."""
        if endpoint.tls and (self._verify is False or _verifies_nothing(self._verify)):
            raise ConnectFailed("gRPC looks at a certificate before it trusts it, which no guard allows; verify it")
        scheme = "https" if endpoint.tls else "http"
        found = await guard.addresses(guard.target(f"{scheme}://{endpoint.address}/"))
        first = ":" in found[0]
        same = [Endpoint(each, endpoint.port, endpoint.tls).address for each in found if (":" in each) is first]
        return f"{'ipv6' if first else 'ipv4'}:{','.join(same)}"

    def _gone(self) -> TransportError:
        return TransportError(f"The channel to {self._url} is closed")


def _verifies_nothing(verify: bool | ssl.SSLContext) -> bool:
    return isinstance(verify, ssl.SSLContext) and verify.verify_mode is ssl.CERT_NONE


def endpoint_of(url: str, *, secure: bool) -> Endpoint:
    """Where the URL of a gRPC interface leads; `secure` is for one without a scheme.

    Raises:
        ConnectFailed: nowhere.
    """
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        tls = SCHEMES[parts.scheme] if parts.scheme else secure
        host, port = parts.hostname, parts.port
    except (ValueError, KeyError) as error:
        raise ConnectFailed("The URL is none of gRPC") from error
    if not host:
        raise ConnectFailed("The URL has no host")
    return Endpoint(host, port or DEFAULT_PORTS[tls], tls)


def metadata_of(headers: Mapping[str, str]) -> list[tuple[str, str | bytes]]:
    """Headers as metadata, without those that are HTTP's own business. Those whose name ends in `-bin` are base64.

    Raises:
        ConfigurationError: one cannot be sent over gRPC.
    """
    return [_field(name, value) for name, value in headers.items() if name not in RESERVED]


def _field(name: str, value: str) -> tuple[str, str | bytes]:
    if NAME.fullmatch(name) is None or name.startswith("grpc-") or VALUE.fullmatch(value) is None:
        raise ConfigurationError(f"The header {name!r} cannot be sent over gRPC")
    if not name.endswith("-bin"):
        return name, value
    try:
        return name, pybase64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError as error:
        raise ConfigurationError(f"The header {name!r} is not base64, as its name says") from error


def _is_connected(channel: Any) -> bool:
    return bool(channel.get_state(try_to_connect=True).name == CONNECTED)


async def _until_connected(channel: Any) -> None:
    # It is looked at once in each round: it changes in another thread, at any time.
    while (state := channel.get_state(try_to_connect=True)).name != CONNECTED:
        if state.name in FAILED:
            raise ConnectFailed
        await channel.wait_for_state_change(state)
