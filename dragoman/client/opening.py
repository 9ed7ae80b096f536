"""Opening the channel to an interface of a card, so that its caller is known there."""

import ssl
from collections.abc import Callable, Mapping

import msgspec

from dragoman.client.channel import Channel, ChannelFactory, ChannelOptions
from dragoman.client.discovery import GRPC, PREFERRED, minor
from dragoman.client.http import HttpChannel
from dragoman.client.link import declares_reliable
from dragoman.client.login.identity import Identity
from dragoman.client.network import Guard
from dragoman.client.shapes import OlderShapes
from dragoman.client.transport import AiohttpTransport, HttpTransport
from dragoman.client.trust import Certificate, context_of
from dragoman.dialects.base import Dialect
from dragoman.dialects.every import every_dialect, version_of
from dragoman.dialects.v1_0.card import DRAFT_VERSION
from dragoman.types.card import AgentCard, AgentInterface
from dragoman.types.reliable import RELIABLE

__all__ = ["SPOKEN", "Opener", "has_query"]

_DIALECTS: Mapping[tuple[str, str], Dialect] = {
    (dialect.binding, version_of(dialect)): dialect for dialect in every_dialect()
}
SPOKEN = frozenset(_DIALECTS)
"""Pairs of binding and version that Dragoman speaks."""


def has_query(interface: AgentInterface) -> bool:
    """Whether requests to the interface have a query."""
    return interface.protocol_binding != GRPC


class Opener:
    """Opens channels, all over the same transport, which it closes unless it is the caller's.

    Args:
        identity: who the caller is.
        options: what the caller wants of every channel.
        http: the caller's own transport.
        verify: as `connect` takes it.
        certificate: the client's own; interfaces at other origins than the agent's never see it.
        guard: says what may be called; over everything but the caller's own transport and channels.
        custom: makers of channels for custom bindings.
        secure: whether an interface is under TLS that does not say so itself.

    Raises:
        ConfigurationError: there is no such certificate.
    """

    def __init__(
        self,
        identity: Identity,
        options: ChannelOptions,
        *,
        http: HttpTransport | None,
        verify: bool | ssl.SSLContext,
        certificate: Certificate | None,
        guard: Guard | None = None,
        custom: Mapping[str, ChannelFactory],
        secure: Callable[[AgentCard, AgentInterface], bool],
    ) -> None:
        self._identity = identity
        self._options = options
        self._verify = verify
        self._certificate = certificate
        self._guard = guard
        self._custom = custom
        self._secure = secure
        self._shapes = OlderShapes()
        self._own: list[HttpTransport] = []
        self.transport = http or self._made(context_of(verify, certificate))
        """What carries HTTP."""
        self._elsewhere = None if certificate is None or http is not None else self._made(verify)

    def opened(self, card: AgentCard, interface: AgentInterface) -> Channel:
        """The channel to an interface of the card.

        Raises:
            CredentialsWithheld: the caller's headers would have to go to another origin.
        """
        binding = interface.protocol_binding
        presenter = self._identity.towards(card, interface, own=binding in self._custom)
        options = msgspec.structs.replace(self._options, presenter=presenter)
        if declares_reliable(card):
            named = tuple(dict.fromkeys((*options.extensions, RELIABLE)))
            options = msgspec.structs.replace(options, extensions=named)
        if binding in self._custom:
            return self._custom[binding](interface, options)
        dialect = _DIALECTS[binding, minor(interface.protocol_version)]
        if minor(interface.protocol_version) == DRAFT_VERSION:
            self._shapes.notice(interface.url, "speaks the draft of 1.0, with objects in shapes of its own")
        is_home = self._identity.is_home(card, interface)
        if binding == GRPC:
            from dragoman.client.grpc import open_grpc

            certificate = self._certificate if is_home else None
            secure = self._secure(card, interface)
            return open_grpc(
                interface,
                dialect,
                options,
                verify=self._verify,
                certificate=certificate,
                secure=secure,
                guard=self._guard,
            )
        elsewhere = None if is_home else self._elsewhere
        shapes = self._shapes if minor(interface.protocol_version) == PREFERRED else None
        return HttpChannel(interface, dialect, elsewhere or self.transport, options, shapes)

    async def aclose(self) -> None:
        for transport in self._own:
            await transport.aclose()
        if self._guard is not None:
            self._guard.close()

    def _made(self, verify: bool | ssl.SSLContext) -> HttpTransport:
        options = self._options
        made = AiohttpTransport(
            connect_timeout=options.connect_timeout,
            idle_timeout=options.idle_timeout,
            verify=verify,
            guard=self._guard,
        )
        self._own.append(made)
        return made
