"""From the options to an agent: its card, the interface to use, and a client that carries the credentials."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import click
import msgspec

from dragoman.cli.credentials import Attachment, attach
from dragoman.cli.failures import CredentialsMissing
from dragoman.cli.invocation import Invocation
from dragoman.cli.kept import kept_logins
from dragoman.cli.wirelog import Wire
from dragoman.client.client import Client
from dragoman.client.connecting import SPOKEN, connect
from dragoman.client.discovery import (
    GRPC,
    PREFERRED,
    CardCache,
    CardNotFound,
    CardSource,
    NoUsableInterface,
    at_hand,
    candidates,
    locate,
    minor,
    secure,
)
from dragoman.client.login import CredentialsWithheld, Environment
from dragoman.client.login.asking import Place, asked_of_all
from dragoman.client.login.identity import HARMLESS
from dragoman.client.login.origins import Origins, origin_of
from dragoman.client.network import guard_of
from dragoman.client.signatures import CardDocument
from dragoman.client.transport import AiohttpTransport
from dragoman.client.wire import code_of
from dragoman.errors import ConfigurationError, VersionNotSupportedError
from dragoman.types.card import AgentCard, AgentInterface

__all__ = ["Reached", "card_of", "chosen", "document_of", "reached"]

_VERSIONS = ("1.0", "1.0-draft", "0.3")
_TAKEN = ("1.0", "1.0-draft")
"""The versions that are used without being asked for."""
_SPELLINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "http+json": "HTTP+JSON", "grpc": GRPC}


class Reached(NamedTuple):
    """An agent that can be called."""

    card: AgentCard
    interface: AgentInterface
    client: Client


async def card_of(invocation: Invocation) -> AgentCard:
    """The card that `--agent-card` names; as `document_of`."""
    return (await document_of(invocation)).card


async def document_of(invocation: Invocation, reference: str | None = None) -> CardDocument:
    """The card that the reference names, else `--agent-card`, fetched without any credential.

    Raises:
        click.UsageError: no agent is named, or in a way that means nothing.
        VersionNotSupportedError: `--a2a-version` asks for one that is not spoken.
        CardNotFound, CardInvalid, TransportError: as the fetch ends.
    """
    settings = invocation.settings
    named = reference or settings.agent_card
    if not named:
        raise click.UsageError("name the agent: -a/--agent-card REF (or A2ACLI_AGENT_CARD)")
    version = _versions(invocation)[0]
    if settings.insecure:
        invocation.out.warn("--insecure: the certificate of the agent is not verified")
    transport = Wire(_transport(invocation), invocation.out)
    try:
        place = locate(_reference(named))
        return await CardSource(place, transport, CardCache(), {"a2a-version": version}).card()
    except ConfigurationError as error:
        raise click.UsageError(f"--agent-card: {error}") from error
    finally:
        await transport.aclose()


@asynccontextmanager
async def reached(invocation: Invocation) -> AsyncGenerator[Reached, None]:
    """The agent, ready to be called over the interface that its card and the options choose."""
    card = await card_of(invocation)
    interface = chosen(card, invocation)
    logins = kept_logins(card, interface, invocation)
    attachment = await _armed(card, interface, invocation, kept=logins is not None)
    invocation.out.debug(
        f"interface: {interface.protocol_binding} {interface.protocol_version} {interface.url}"
        + (f" (tenant {interface.tenant})" if interface.tenant else "")
    )
    parameters = _parameters(invocation)
    # What the client names itself joins them.
    named = [name.strip() for name in parameters.pop("a2a-extensions", "").split(",")]
    extensions = tuple([name for name in named if name])
    wire = Wire(_transport(invocation), invocation.out, parameters)
    over_grpc = interface.protocol_binding == GRPC
    invocation.code_of = lambda error: (
        code_of(error, interface.protocol_binding) if wire.answered or over_grpc else None
    )
    narrowed = _narrowed(card, interface)
    if attachment.secrets and (logins is None or not card.security_requirements):
        narrowed = _demanding(narrowed, attachment)
    settings = invocation.settings
    try:
        async with connect(
            narrowed,
            http=wire,
            # What the wire adds to requests over HTTP goes into the metadata of gRPC.
            headers=parameters if over_grpc else {},
            extensions=extensions,
            auth=[source for source in (attachment.secrets, logins) if source] or None,
            # The user was warned of what goes without TLS; a login never does.
            credential_origins=_permitted(narrowed) if logins is None else (),
            verify=not settings.insecure,
            network=settings.network,
            poll_interval=settings.poll_interval,
        ) as client:
            yield Reached(card, interface, client)
    finally:
        await wire.aclose()


def _narrowed(card: AgentCard, interface: AgentInterface) -> AgentCard:
    """The card with this interface alone, whose URL says whether it is under TLS also where the others said it."""
    if interface.protocol_binding == GRPC and "://" not in interface.url:
        scheme = "grpcs" if secure(card, interface) else "grpc"
        interface = msgspec.structs.replace(interface, url=f"{scheme}://{interface.url}")
    return msgspec.structs.replace(card, supported_interfaces=(interface,))


def _demanding(card: AgentCard, attachment: Attachment) -> AgentCard:
    """The card as if it asked for what the user gave, which is sent at once, whatever the card makes of its schemes."""
    return msgspec.structs.replace(card, security_requirements=(dict.fromkeys(attachment.secrets, ()),))


def _permitted(card: AgentCard) -> list[str]:
    """The origin of a card's one interface, if it has one."""
    origin = origin_of(card.supported_interfaces[0].url)
    return [] if origin is None else [origin]


def _transport(invocation: Invocation) -> AiohttpTransport:
    settings = invocation.settings
    return AiohttpTransport(verify=not settings.insecure, guard=guard_of(settings.network))


def _reference(named: str) -> str:
    """The reference as it is, unless it can only mean a file that is not there."""
    if "://" not in named and named.endswith(".json") and not Path(named).expanduser().is_file():
        raise CardNotFound(f"there is no file {named}")
    return named


def _versions(invocation: Invocation) -> tuple[str, ...]:
    """The versions to use, the best first: what was asked for, else none below 1.0."""
    asked = invocation.settings.a2a_version
    if asked is None:
        return _TAKEN
    if asked not in _VERSIONS:
        raise VersionNotSupportedError(f"protocol version {asked} is not supported; supported: {', '.join(_VERSIONS)}")
    return (asked,)


def chosen(card: AgentCard, invocation: Invocation) -> AgentInterface:
    """The first usable interface, in the order of `--transport` and then that of the card."""
    versions = _versions(invocation)
    offered = [minor(each.protocol_version) for each in card.supported_interfaces]
    if offered and not set(offered) & set(versions):
        raise VersionNotSupportedError(_missing(tuple(dict.fromkeys(offered)), versions))
    try:
        usable = at_hand(candidates(card, SPOKEN, versions=versions))
    except NoUsableInterface:
        bindings = ", ".join(dict.fromkeys(each.protocol_binding for each in card.supported_interfaces))
        raise NoUsableInterface(f"no binding of the agent is supported here; it offers: {bindings or 'none'}") from None
    for wish in invocation.settings.transport:
        binding = _SPELLINGS.get(wish.lower(), wish)
        for interface in usable:
            if interface.protocol_binding == binding:
                return interface
        invocation.out.debug(f"transport {wish}: not offered or not supported, skipped")
    return usable[0]


def _missing(offered: tuple[str, ...], versions: tuple[str, ...]) -> str:
    """Why no version of the agent's is used, and what would change that."""
    known = next((version for version in offered if version in _VERSIONS), None)
    what = f"the agent offers {', '.join(offered)}, not {PREFERRED if versions == _TAKEN else versions[0]}"
    if known is None:
        return f"{what}; supported: {', '.join(_VERSIONS)}"
    return f"{what}; to use {known} say --a2a-version {known}"


async def _armed(card: AgentCard, interface: AgentInterface, invocation: Invocation, *, kept: bool) -> Attachment:
    settings = invocation.settings
    has_query = interface.protocol_binding != GRPC
    attachment = attach(card, bearer=settings.bearer, api_key=settings.api_key, query=has_query)
    if attachment.missing and not kept:
        attachment = await _completed(card, attachment, invocation)
    for warning in attachment.warnings:
        invocation.out.warn(warning)
    for name in attachment.secrets:
        invocation.out.debug(f"credential sent by the scheme {name}")
    carries = bool(attachment.secrets or settings.service_parameters) or kept
    if kept or attachment.secrets or {name.lower() for name, _ in settings.service_parameters} - HARMLESS:
        _stays_home(card, interface, invocation)
    _warn_of_exposure(interface, invocation, carries=carries)
    if attachment.missing and not settings.service_parameters and not kept:
        raise CredentialsMissing(f"the card asks for credentials ({', '.join(attachment.missing)}) and none was given")
    return attachment


async def _completed(card: AgentCard, attachment: Attachment, invocation: Invocation) -> Attachment:
    """The attachment, with what lacks for an alternative of the card from the variables that programs use, too."""
    for alternative in asked_of_all(card, Place("")).needs:
        lacking = [need for need in alternative if need.name not in attachment.secrets]
        found = [(need.name, await Environment().credentials(need)) for need in lacking]
        secrets = {name: secret.value for name, secret in found if secret is not None}
        if len(secrets) == len(lacking):
            for secret in secrets.values():
                invocation.redact.hide(secret)
            invocation.had_credentials = True
            return attachment._replace(secrets={**attachment.secrets, **secrets}, missing=())
    return attachment


def _stays_home(card: AgentCard, interface: AgentInterface, invocation: Invocation) -> None:
    """Checks that what was given or kept goes to the agent that was named, or where the user allows it. A card that
    leads elsewhere chooses what is called there, even if there is a login.

    Raises:
        click.UsageError: what the user allows is no origin.
        CredentialsWithheld: the card leads elsewhere.
    """
    settings = invocation.settings
    place = locate(_reference(settings.agent_card or ""))
    home = (origin_of(place[0]) or "") if isinstance(place, tuple) else None
    try:
        origins = Origins(settings.credential_origin, home)
    except ConfigurationError as error:
        raise click.UsageError(f"--credential-origin: {error}") from error
    found = [origin_of(one.url, secure=secure(card, one, settings.agent_card)) for one in card.supported_interfaces]
    origin = origin_of(interface.url, secure=secure(card, interface, settings.agent_card))
    if not origins.are_of(origin, found):
        raise CredentialsWithheld(origins.refusal(origin, interface.url, found), origin or "")


def _warn_of_exposure(interface: AgentInterface, invocation: Invocation, *, carries: bool) -> None:
    address = urlsplit(interface.url)
    if not carries:
        return
    if invocation.settings.insecure:
        invocation.out.warn("SECURITY: credentials are sent to an agent whose identity nobody verified")
    elif address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1"):
        invocation.out.warn("SECURITY: credentials are sent without encryption")


def _parameters(invocation: Invocation) -> dict[str, str]:
    merged: dict[str, str] = {}
    for name, value in invocation.settings.service_parameters:
        key = name.lower()
        if key == "a2a-version":
            raise click.UsageError("--svc-param: the version is chosen with --a2a-version")
        merged[key] = f"{merged[key]}, {value}" if key in merged else value
    return merged
