"""`connect`: the way in."""

import os
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dragoman.client.channel import Channel, ChannelFactory, ChannelOptions
from dragoman.client.client import Client
from dragoman.client.discovery import GRPC, PREFERRED, CardCache, CardSource, at_hand, candidates, locate, minor, secure
from dragoman.client.http import HttpChannel
from dragoman.client.link import LocalLink, RemoteLink, declares_reliable
from dragoman.client.local import InProcess
from dragoman.client.route import Route
from dragoman.client.signatures import CardDocument, CardJudge, CardSignatures
from dragoman.client.transport import AiohttpTransport, HttpTransport
from dragoman.dialects.base import Dialect
from dragoman.dialects.every import every_dialect, version_of
from dragoman.types.card import AgentCard, AgentInterface
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import ServiceParameters

if TYPE_CHECKING:
    from dragoman.cards.keys import CardKeys

__all__ = ["SPOKEN", "AgentReference", "connect"]

_DIALECTS: Mapping[tuple[str, str], Dialect] = {
    (dialect.binding, version_of(dialect)): dialect for dialect in every_dialect()
}
SPOKEN = frozenset(_DIALECTS)
"""Pairs of binding and version that Dragoman speaks."""


AgentReference = str | os.PathLike[str] | AgentCard | InProcess
"""An agent: a host, an origin, the URL or the path of its card, the card, or the agent itself in this process."""


def connect(
    agent: AgentReference,
    *,
    versions: Sequence[str] | None = None,
    bindings: Sequence[str] | None = None,
    extensions: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    connect_timeout: float = 10.0,
    idle_timeout: float = 300.0,
    poll_interval: float = 0.5,
    verify: bool | ssl.SSLContext = True,
    channels: Mapping[str, ChannelFactory] | None = None,
    http: HttpTransport | None = None,
    cards: CardCache | None = None,
    card_signatures: CardSignatures = "report",
    card_keys: "CardKeys | None" = None,
) -> Client:
    """A client of one agent; nothing is sent before the first call.

    Args:
        agent: a host (`127.0.0.1:9999`), an origin, a URL of the card or of the place where the agent is mounted, a
            path of a card file, an `AgentCard`, or an agent in this process.
        versions: the protocol versions that are acceptable, as Major.Minor, and `1.0-draft`; by default all that
            Dragoman speaks. 1.0 is preferred. Where the agent has none of them the first call fails: no other is used.
        bindings: the only bindings to use, best first; by default all that Dragoman speaks, in the card's order.
            Without the extra `grpc` that binding is passed over, as long as there is another.
        extensions: URIs of extensions, named in every request. Where the card declares our own, by which streams go on
            by number and messages can be sent again, it is named as well.
        headers: sent with every request, the card's included.
        connect_timeout: seconds that a connection may take.
        idle_timeout: seconds in which nothing may come, news after a reply included. There is no limit on the whole,
            tasks may take days.
        poll_interval: seconds between looks at a task where there is no stream, growing to ten times that.
        verify: False accepts any certificate; an `SSLContext` brings certificates and authorities of one's own.
        channels: makers of channels for custom bindings, by the binding's name or URI.
        http: sends the HTTP requests instead of aiohttp; stays the caller's to close, and has its own time-outs.
        cards: remembers cards over several clients that send the same headers.
        card_signatures: `report` verifies signatures that are there: `Client.card_verdict` says what they show, and a
            card that was changed after it was signed is logged as a warning. `require` takes no card that is not
            verified, the extended one included: calls raise `CardNotVerified`. Of a verified card only what was signed
            is used. `ignore` looks at none.
        card_keys: the keys that signatures are verified with; without them none can be.
    """
    named = {name.lower(): value for name, value in (headers or {}).items()}
    if isinstance(agent, InProcess):
        parameters = ServiceParameters(version="1.0", extensions=tuple(extensions))
        return Client(LocalLink(agent, parameters), poll_interval=poll_interval, patience=idle_timeout)
    transport = http or AiohttpTransport(connect_timeout=connect_timeout, idle_timeout=idle_timeout, verify=verify)
    given = ChannelOptions(
        extensions=tuple(extensions), headers=named, connect_timeout=connect_timeout, idle_timeout=idle_timeout
    )
    custom = channels or {}

    def opened(card: AgentCard, interface: AgentInterface) -> Channel:
        options = _reliable(given) if declares_reliable(card) else given
        if interface.protocol_binding in custom:
            return custom[interface.protocol_binding](interface, options)
        if interface.protocol_binding == GRPC:
            from dragoman.client.grpc import open_grpc

            return open_grpc(
                interface, _dialect(interface), options, verify=verify, secure=secure(card, interface, agent)
            )
        return HttpChannel(interface, _dialect(interface), transport, options)

    def plan(card: AgentCard) -> Route:
        interfaces = candidates(card, SPOKEN, versions=versions, bindings=bindings, custom=custom)
        return Route(at_hand(interfaces, custom), partial(opened, card))

    # An agent of several generations may answer with the card of the one that is asked for.
    asked = PREFERRED if versions is None or PREFERRED in map(minor, versions) else minor(versions[0])
    source = _source(agent, transport, cards or CardCache(), {"a2a-version": asked, **named})
    link = RemoteLink(source, plan, None if http else transport, partial(CardJudge, card_signatures, card_keys))
    return Client(link, poll_interval=poll_interval, patience=idle_timeout)


def _source(
    agent: str | os.PathLike[str] | AgentCard, transport: HttpTransport, cache: CardCache, headers: Mapping[str, str]
) -> Callable[[float], Awaitable[CardDocument]]:
    if isinstance(agent, AgentCard):
        document = CardDocument(agent)

        async def given(tolerance: float) -> CardDocument:  # noqa: ARG001 -- it does not age
            return document

        return given
    place = locate(agent) if isinstance(agent, str) else Path(agent)
    return CardSource(place, transport, cache, headers).card


def _reliable(options: ChannelOptions) -> ChannelOptions:
    """The options with the extension among those that are named."""
    return msgspec.structs.replace(options, extensions=tuple(dict.fromkeys((*options.extensions, RELIABLE))))


def _dialect(interface: AgentInterface) -> Dialect:
    return _DIALECTS[interface.protocol_binding, minor(interface.protocol_version)]
