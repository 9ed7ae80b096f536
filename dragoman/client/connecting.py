"""`connect`: the way in."""

import os
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.client.authorizing import OnAuthRequired
from dragoman.client.channel import ChannelFactory, ChannelOptions
from dragoman.client.client import Client
from dragoman.client.discovery import PREFERRED, CardCache, CardSource, at_hand, candidates, locate, minor, secure
from dragoman.client.extending import ClientExtensions
from dragoman.client.link import LocalLink, RemoteLink
from dragoman.client.local import InProcess
from dragoman.client.login.identity import Identity
from dragoman.client.login.sources import Auth
from dragoman.client.network import Network, files_of, guard_of
from dragoman.client.opening import SPOKEN, Opener, has_query
from dragoman.client.route import Route
from dragoman.client.signatures import CardDocument, CardJudge, CardSignatures
from dragoman.client.transport import PATIENCE, HttpTransport
from dragoman.client.trust import Certificate, CertificateFiles
from dragoman.errors import ConfigurationError
from dragoman.extensions.extension import Extension
from dragoman.outbound.files import FetchOptions
from dragoman.types.card import AgentCard
from dragoman.types.requests import ServiceParameters

if TYPE_CHECKING:
    from dragoman.cards.keys import CardKeys

__all__ = ["SPOKEN", "AgentReference", "connect"]

AgentReference = str | os.PathLike[str] | AgentCard | InProcess
"""An agent: a host, an origin, the URL or the path of its card, the card, or the agent itself in this process."""


def connect(
    agent: AgentReference,
    *,
    versions: Sequence[str] | None = None,
    bindings: Sequence[str] | None = None,
    extensions: Sequence[str | Extension] = (),
    headers: Mapping[str, str] | None = None,
    connect_timeout: float = 10.0,
    idle_timeout: float = 300.0,
    poll_interval: float = 0.5,
    auth: Auth | None = None,
    credential_origins: Sequence[str] = (),
    verify: bool | ssl.SSLContext = True,
    certificate: CertificateFiles | None = None,
    on_auth_required: OnAuthRequired | None = None,
    network: Network = "any",
    fetch: FetchOptions | None = None,
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
        extensions: extensions, or URIs of some, named in every request. Where the card declares one that does something
            (`dragoman.extensions`), it sees what is sent and what comes. Where the card declares our own, by which
            streams go on by number and messages can be sent again, it is named as well.
        headers: sent with every request, the card's included; secret ones to where credentials may go (below) alone.
        auth: what makes the caller known where the card asks for that: a secret for an agent that asks for one; by the
            names of its schemes a secret each; a function of the `Need`; a `Login`, as `Environment()` or `OAuth(...)`;
            or several of these, the first that has something counts. By default nothing is sent. Once refused, a secret
            is renewed if it can be, and the call made once more.
        credential_origins: further origins (`https://agent.example`) that credentials may go to, be it without TLS.
            Else they go to the origin that the card comes from (of a card from a file or a value: to that of its
            interfaces, if all have the same), over TLS or on this machine. Interfaces elsewhere are passed over, or
            calls raise `CredentialsWithheld`.
        connect_timeout: seconds that a connection may take.
        idle_timeout: seconds in which nothing may come, news after a reply included. There is no limit on the whole,
            tasks may take days.
        poll_interval: seconds between looks at a task where there is no stream, growing to ten times that.
        verify: False accepts any certificate; an `SSLContext` brings certificates and authorities of one's own.
        certificate: certificate chain and key of the client, two PEM files, for agents that ask for one (mutual TLS).
            Of interfaces at other origins none sees it.
        on_auth_required: called by `ask` and `result` when the task waits for an authorization, with the task and the
            agent's message. It gives what to answer; True, if the authorization was given elsewhere and there is only
            to wait; or None, which raises `AuthRequired`. In a thread, unless it is a coroutine.
        network: what may be called: `any`; `public`, which is public addresses over https, looked at again with each
            connection and redirect; or a `Policy` (`docs/outbound.md`). It holds for cards, calls, streams and files,
            over every binding but custom ones.
        fetch: what `Client.fetch` may call, in place of `network`, and how much it reads.
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
    extending = ClientExtensions(extensions)
    client = partial(
        Client,
        poll_interval=poll_interval,
        patience=idle_timeout,
        on_auth_required=on_auth_required,
        extensions=extending,
        files=files_of(network, fetch, verify),
    )
    if isinstance(agent, InProcess):
        return client(LocalLink(agent, ServiceParameters(version="1.0", extensions=extending.uris)))
    guard = guard_of(network)
    if guard is not None and http is not None and getattr(http, "guard", None) is None:
        raise ConfigurationError("network= is for connections that Dragoman makes, and http= brings others")
    place = _place(agent)
    under_tls = partial(secure, reference=agent)
    identity = Identity(
        auth,
        credential_origins,
        named,
        places=place if isinstance(place, tuple) else (),
        certificate=certificate is not None or isinstance(verify, ssl.SSLContext) or http is not None,
        secure=under_tls,
        has_query=has_query,
        public=network == "public",
    )
    options = ChannelOptions(
        extensions=extending.uris, headers=named, connect_timeout=connect_timeout, idle_timeout=idle_timeout
    )
    custom = channels or {}
    own = None if certificate is None else Certificate.of(certificate)
    opener = Opener(
        identity, options, http=http, verify=verify, certificate=own, guard=guard, custom=custom, secure=under_tls
    )

    def plan(card: AgentCard) -> Route:
        interfaces = at_hand(candidates(card, SPOKEN, versions=versions, bindings=bindings, custom=custom), custom)
        return Route(identity.preferred(card, interfaces), partial(opener.opened, card))

    # An agent of several generations may answer with the card of the one that is asked for.
    asked = PREFERRED if versions is None or PREFERRED in map(minor, versions) else minor(versions[0])
    asking = {"a2a-version": asked, **named}
    kept = cards or CardCache()
    if isinstance(place, AgentCard):
        source = _given(place)
    else:
        source = CardSource(place, opener.transport, kept, asking, min(idle_timeout, PATIENCE)).card
    link = RemoteLink(source, plan, (identity, opener), partial(CardJudge, card_signatures, card_keys))
    return client(link)


def _place(agent: str | os.PathLike[str] | AgentCard) -> AgentCard | Path | tuple[str, ...]:
    """The card, or where it may be."""
    if isinstance(agent, AgentCard):
        return agent
    return locate(agent) if isinstance(agent, str) else Path(agent)


def _given(card: AgentCard) -> Callable[[float], Awaitable[CardDocument]]:
    document = CardDocument(card)

    async def given(tolerance: float) -> CardDocument:  # noqa: ARG001 -- it does not age
        return document

    return given
