"""The application that the tests of gRPC call: a scripted agent behind the dialects that are wanted."""

from collections.abc import Sequence

from dragoman.core.capability import activated_extensions
from dragoman.dialects.base import Dialect
from dragoman.dialects.card import encode_card
from dragoman.dialects.negotiate import Negotiator
from dragoman.engine.service import Service
from dragoman.hosts.asgi import Application
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.origin import Proxies
from dragoman.testing.clock import FakeClock
from dragoman.types.card import AgentCapabilities, AgentCard, AgentExtension

__all__ = ["EXTENSION", "application"]

EXTENSION = "https://example.org/extensions/traced"
CAPABILITIES = AgentCapabilities(streaming=True, extensions=(AgentExtension(uri=EXTENSION),))


def _card_at(_base: str) -> AgentCard:
    return AgentCard(
        name="Scripted",
        description="Does what it is told.",
        version="1",
        supported_interfaces=(),
        capabilities=CAPABILITIES,
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(),
    )


def application(
    service: Service, dialects: Sequence[Dialect], services: Sequence[str], *, max_bytes: int = 100_000
) -> Application:
    async def nothing() -> None:
        pass

    return Application(
        service,
        Negotiator(dialects),
        CardPublisher(_card_at, encode_card, since=FakeClock().now()),
        proxies=Proxies(()),
        bindings=(),
        grpc_services=services,
        max_body_bytes=max_bytes,
        activated=lambda requested: activated_extensions(requested, CAPABILITIES),
        first=nothing,
        open_=nothing,
        close=nothing,
    )
