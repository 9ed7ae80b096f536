"""Composition: the one place that knows stores, engine, dialects and hosts, and wires them."""

import asyncio
import enum
from collections.abc import AsyncIterator, Callable, MutableSequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.audit import AuditLog
from dragoman.buses.memory import MemoryBus
from dragoman.core.capability import activated_extensions
from dragoman.dialects import push as bodies
from dragoman.dialects.base import Dialect
from dragoman.dialects.card import CardShape
from dragoman.dialects.every import declared, every_dialect
from dragoman.dialects.grpc import GrpcBinding
from dragoman.dialects.negotiate import Negotiator
from dragoman.engine.service import Service
from dragoman.engine.world import Keeping, Limits, RandomIds, SystemClock, World
from dragoman.hosts.account import Account
from dragoman.hosts.admission import Admission
from dragoman.hosts.asgi import Application
from dragoman.hosts.binding import Binding
from dragoman.hosts.gate import Gate
from dragoman.hosts.origin import Proxies
from dragoman.hosts.watched import watched
from dragoman.operations import Operation
from dragoman.outbound import GuardedClient, Policy
from dragoman.ports.agent import AgentExecutor
from dragoman.ports.call import CallContext
from dragoman.ports.store import Store
from dragoman.publishing import SignCards, card_publisher, card_signer, extended_card, key_publisher
from dragoman.push.configurations import Configurations
from dragoman.push.keys import key_for
from dragoman.push.options import PushOptions
from dragoman.push.preparation import Preparation
from dragoman.push.pusher import Pusher
from dragoman.push.seal import Seal
from dragoman.settings import Settings
from dragoman.stores import open_store
from dragoman.types.card import AgentCard, AgentInterface, MutualTlsSecurityScheme
from dragoman.types.events import StreamEvent
from dragoman.types.requests import ServiceParameters

__all__ = ["Application", "Binding", "CardShape", "LocalCalls", "Server", "Settings", "SignCards", "watched"]


# With its slash the JSON-RPC endpoint is inside any mount; without it frameworks redirect before it is reached.
_ENDPOINTS = {"JSONRPC": "/", "HTTP+JSON": ""}
_GRPC = "GRPC"
_DEFAULT_PORTS = {"http": 80, "https": 443}

# Callers there ask for a configuration without its id.
_NAMED_BY_TASK = frozenset({"0.3/JSONRPC", "0.3/HTTP+JSON", "0.3/GRPC"})
_LOCAL_DIALECT = "1.0/JSONRPC"
_LOCAL_BASE = "local:"


class _State(enum.Enum):
    NEW = enum.auto()
    OPEN = enum.auto()
    CLOSED = enum.auto()


class LocalCalls:
    """The service for clients in this process, who need not authenticate: they are the anonymous caller."""

    def __init__(self, service: Service, card: AgentCard) -> None:
        self._service = service
        self._card = card

    def card(self) -> AgentCard:
        return self._card

    async def call(self, operation: Operation, request: Any, parameters: ServiceParameters) -> Any:
        """The result of an operation that does not stream."""
        return await self._service.call(operation, request, _own(parameters))

    async def stream(
        self, operation: Operation, request: Any, parameters: ServiceParameters
    ) -> AsyncIterator[StreamEvent]:
        """The events of an operation that streams."""
        feed = await self._service.call(operation, request, _own(parameters))
        try:
            async for batch in feed:
                for _, event in batch:
                    yield event
        finally:
            feed.close()


def _own(parameters: ServiceParameters) -> CallContext:
    return CallContext(parameters=parameters, dialect=_LOCAL_DIALECT, trusted=True, base=_LOCAL_BASE)


class Server:
    """One agent on one store: service, application, and calls in process. `live` lists the servers that are open."""

    def __init__(
        self,
        executor: AgentExecutor,
        card: AgentCard,
        store: str,
        settings: Settings,
        live: MutableSequence["Server"],
    ) -> None:
        clock = SystemClock()
        self.store = open_store(store, owner=settings.owner)
        world = World(
            store=self.store,
            bus=MemoryBus(),
            agent=executor,
            clock=clock,
            ids=RandomIds(),
            limits=_limits(settings),
            extensions=settings.extensions,
            calls=settings.limits,
            keeping=Keeping(
                keys=settings.idempotency_ttl,
                logs=settings.log_retention,
                tasks=settings.retention,
                strict=settings.idempotency == "strict",
            ),
        )
        self.pusher: Pusher | None = None
        if card.capabilities.push_notifications:
            beside = None if store == "memory" else Path(self.store.description)
            self.pusher, pushes = _pushes(settings.push, self.store, beside, world)
            world = msgspec.structs.replace(world, pushes=pushes)
        signer = card_signer(settings.sign_cards, card, settings.url)
        extended = extended_card(settings.extended_card, self.card_at, signer)
        self.service = Service(world, card.capabilities, extended_card=extended)
        self._card = card
        self._settings = settings
        self.account = Account(AuditLog() if settings.audit is None else settings.audit)
        self._dialects = every_dialect(settings.media_type)
        self._http2 = False
        self._proxies = Proxies(settings.trusted_proxies, certificates=settings.client_cert_header)
        self._live = live
        self._turning = asyncio.Lock()
        self._state = _State.NEW
        self.local = LocalCalls(self.service, self.card_at(_LOCAL_BASE))
        self.application = Application(
            self.service,
            Negotiator(
                self._dialects,
                missing_version=settings.missing_version,
                tenants=_first_segments(card),
            ),
            card_publisher(self.card_at, settings.card_shape, clock.now(), signer),
            keys=key_publisher(_delivery_keys(settings.push, world), signer),
            proxies=self._proxies,
            bindings=settings.bindings,
            grpc_services=[dialect.service for dialect in self._dialects if isinstance(dialect, GrpcBinding)],
            max_body_bytes=settings.limits.max_body_bytes,
            activated=lambda requested: activated_extensions(requested, card.capabilities),
            first=self.open_first,
            open_=self.open,
            close=self.close,
            gate=Gate(settings.auth, settings.placing(), _admission(settings)),
            account=self.account,
        )

    @property
    def knows_callers(self) -> bool:
        """Whether callers must authenticate; else they are one, the anonymous one."""
        return self._settings.auth is not None

    @property
    def wants_certificates(self) -> bool:
        """Whether callers are to be known by certificates that only TLS of this server can ask for."""
        auth = self._settings.auth
        if auth is None or self._settings.client_cert_header:
            return False
        return any(isinstance(scheme, MutualTlsSecurityScheme) for scheme in auth.schemes.values())

    def trusts(self, address: str) -> bool:
        """Whether this is the address of a trusted proxy."""
        return self._proxies.trust(address)

    def offer_http2(self) -> None:
        """Says that whoever runs the application speaks HTTP/2 with trailers: cards made from now on declare gRPC."""
        self._http2 = True

    def card_at(self, base: str) -> AgentCard:
        """The card with the interfaces as they are reached under this base URL."""
        if self._card.supported_interfaces:
            return self._card
        base = (self._settings.url or base).rstrip("/")
        interfaces = [
            AgentInterface(url=url, protocol_binding=dialect.binding, protocol_version=dialect.version)
            for dialect in self._dialects
            if declared(dialect) and (url := self._url_of(dialect, base)) is not None
        ]
        interfaces += [
            AgentInterface(url=binding.url(base), protocol_binding=binding.uri, protocol_version=binding.version)
            for binding in self._settings.bindings
        ]
        return msgspec.structs.replace(self._card, supported_interfaces=tuple(interfaces))

    def _url_of(self, dialect: Dialect, base: str) -> str | None:
        """Where a dialect is reached, or None if it is not: paths of gRPC are fixed, so it has no place in a mount."""
        if dialect.binding != _GRPC:
            return base + _ENDPOINTS[dialect.binding]
        parts = urlsplit(base)
        if not self._http2 or parts.path or parts.scheme not in _DEFAULT_PORTS:
            return None
        # Host and port alone are what every gRPC library takes.
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{host}:{parts.port or _DEFAULT_PORTS[parts.scheme]}"

    async def open(self) -> None:
        """Opens the store and recovers what an earlier process left; does nothing if it is open."""
        async with self._turning:
            if self._state is not _State.OPEN:
                await self.service.open()
                self._live.append(self)
                self._state = _State.OPEN

    async def open_first(self) -> None:
        """Opens for a request that comes without a lifespan. What was closed stays closed: only `open` opens again."""
        if self._state is _State.NEW:
            await self.open()

    async def close(self) -> None:
        """Ends streams and tasks as their grace times allow, and closes the store."""
        async with self._turning:
            if self._state is _State.OPEN:
                self._state = _State.CLOSED
                self._live.remove(self)
                await self.service.close()


def _limits(settings: Settings) -> Limits:
    return Limits(
        cancel_grace=settings.cancel_grace,
        drain_grace=settings.drain_grace,
        keep_alive=settings.keep_alive,
        max_running=settings.max_running,
        # Each of the stores is one process's: nobody takes its tasks over while it does not answer.
        fence_after=None,
    )


def _admission(settings: Settings) -> Admission:
    return Admission(settings.limits, None if settings.auth is None else settings.auth.schemes)


def _pushes(options: PushOptions, store: Store, file: Path | None, world: World) -> tuple[Pusher, Configurations]:
    """What delivers to the configurations of a store, which is in this file if it is in one, and those."""
    seal = Seal(lambda: key_for(options.key, file))
    policy = Policy(allow=options.allow, insecure=options.insecure, ports=options.ports)
    client = GuardedClient(policy, timeout=options.timeout)
    pusher = Pusher(
        store,
        world.bus,
        client,
        Preparation(seal, bodies, options.signing),
        options,
        clock=world.clock,
        dead_after=world.limits.dead_after,
        look=world.limits.beat,
    )
    return pusher, Configurations(
        store, client, seal, pusher, world.ids, max_per_task=options.max_per_task, named_by_task=_NAMED_BY_TASK
    )


def _delivery_keys(options: PushOptions, world: World) -> Callable[[], bytes | None]:
    """The key set with which deliveries are verified, if they are signed."""
    signer = options.signing
    return lambda: None if signer is None else signer.key_set(world.clock.now().timestamp())


def _first_segments(card: AgentCard) -> list[str]:
    """What may stand in front of paths of 1.0 by the card's own interfaces: tenants, and the ends of URLs."""
    newer = [one for one in card.supported_interfaces if not one.protocol_version.startswith("0.")]
    ends = [urlsplit(one.url).path.rstrip("/").rpartition("/")[2] for one in newer]
    return [name for name in (*[one.tenant for one in newer], *ends) if name]
