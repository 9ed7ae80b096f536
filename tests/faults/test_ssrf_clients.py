"""Nothing that a card names makes a client connect to where its network does not reach."""

import socket
import ssl
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest
import trustme

from dragoman import Agent, FetchFailed, FetchRefused, Part, connect
from dragoman.client import AiohttpTransport, Client
from dragoman.client.channel import ChannelOptions
from dragoman.client.dialing import Dialer
from dragoman.client.network import Guard
from dragoman.errors import ConfigurationError, ConnectFailed, DragomanError, TransportError
from dragoman.outbound import Policy
from dragoman.types.card import AgentCapabilities, AgentCard, AgentInterface
from dragoman.types.requests import GetTaskRequest
from tests.faults.field import LYING, NAME, PUBLIC, REBINDING, TRUSTING, Field, Resolve, opened, resolving, urls
from tests.unit.hosts.http1.serving import serving

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")


@pytest.fixture
async def field(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Field, None]:
    async with opened(monkeypatch) as place:
        yield place


def _card(url: str, *bindings: str) -> AgentCard:
    interfaces = [AgentInterface(url=url, protocol_binding=each, protocol_version="1.0") for each in bindings]
    return AgentCard(
        name="Anybody",
        description="",
        version="1",
        supported_interfaces=tuple(interfaces),
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )


def _transport(place: Field, resolve: Resolve) -> AiohttpTransport:
    return AiohttpTransport(verify=TRUSTING, guard=Guard(place.policy, resolve))


async def _called(transport: AiohttpTransport, url: str) -> None:
    async with connect(_card(url, "JSONRPC"), http=transport) as client:
        await client.get_task(GetTaskRequest(id="t"))


def _blind() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _leading(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Has every name lead there, for this process."""

    def look(_name: str, *_: Any, **__: Any) -> list[Any]:
        families = [(socket.AF_INET6 if ":" in each else socket.AF_INET, each) for each in addresses]
        return [(family, socket.SOCK_STREAM, 6, "", (each, 0)) for family, each in families]

    monkeypatch.setattr(socket, "getaddrinfo", look)


def connect_to(agent: str | AgentCard, policy: Policy) -> Client:
    return connect(agent, network=policy, verify=TRUSTING, connect_timeout=10.0)


async def test_no_card_is_fetched_from_a_hostile_url(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    _leading(monkeypatch, "127.0.0.1")
    for url in urls(field):
        async with connect_to(url, field.policy) as client:
            with pytest.raises(ConnectFailed):
                await client.card()
    assert (field.reached, field.served) == (Counter(), 0)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_no_interface_at_a_hostile_url_is_called(
    field: Field, monkeypatch: pytest.MonkeyPatch, binding: str
) -> None:
    _leading(monkeypatch, "127.0.0.1")
    for url in urls(field):
        async with connect_to(_card(url, binding), field.policy) as client:
            with pytest.raises(ConnectFailed):
                await client.get_task(GetTaskRequest(id="t"))
    assert (field.reached, field.served) == (Counter(), 0)


@pytest.mark.parametrize("before", [[], [PUBLIC]], ids=["alone", "behind a public one"])
async def test_no_name_that_leads_elsewhere_is_connected_to(field: Field, before: list[str]) -> None:
    for address in (*LYING, *field.own):
        transport = _transport(field, resolving([*before, address]))
        with pytest.raises(ConnectFailed):
            await _called(transport, field.url())
        await transport.aclose()
    assert (field.reached, field.served) == (Counter(), 0)


@pytest.mark.parametrize("answers", REBINDING.values(), ids=list(REBINDING))
async def test_a_name_that_changes_what_it_says_leads_nowhere_else(
    field: Field, answers: tuple[tuple[str, ...], ...]
) -> None:
    transport = _transport(field, resolving(*answers))
    for _ in range(4):
        with pytest.raises(TransportError):  # the receiver says nothing of A2A
            await _called(transport, field.url())
    await transport.aclose()
    told = [*answers, *[answers[-1]] * 4][:4]
    assert (field.reached, field.served) == (Counter(), sum(answer == (PUBLIC,) for answer in told))


@pytest.mark.parametrize("answers", [*[[address] for address in LYING], [PUBLIC, "127.0.0.1"], ["::1", PUBLIC]])
async def test_grpc_is_dialed_at_no_address_that_is_not_admitted(field: Field, answers: list[str]) -> None:
    guard = Guard(field.policy, resolving(answers))
    dialer = Dialer(
        f"https://{NAME}:{field.port}", ChannelOptions(connect_timeout=5.0), verify=TRUSTING, secure=True, guard=guard
    )
    with pytest.raises(ConnectFailed, match=r"does not have it|stands for no"):
        async with dialer.dialed():
            pass
    await dialer.aclose()
    assert (field.reached, field.served) == (Counter(), 0)


@pytest.mark.parametrize("verify", [False, _blind()], ids=["nothing", "a context that verifies nothing"])
async def test_grpc_looks_at_no_certificate_beside_the_guard(field: Field, verify: bool | ssl.SSLContext) -> None:
    guard = Guard(field.policy, resolving([PUBLIC]))
    dialer = Dialer(f"https://{NAME}:{field.port}", ChannelOptions(), verify=verify, secure=True, guard=guard)
    with pytest.raises(ConnectFailed, match="verify it"):
        async with dialer.dialed():
            pass
    assert (field.reached, field.served) == (Counter(), 0)


async def test_no_redirect_leads_elsewhere(field: Field) -> None:
    for url in urls(field):
        if not url.isascii() or not url.isprintable():
            continue  # no header can hold it
        field.leads = url
        transport = _transport(field, resolving([PUBLIC], ["127.0.0.1"]))
        with pytest.raises(TransportError):
            await _called(transport, field.url() + "/elsewhere")
        await transport.aclose()
    assert field.reached == Counter()
    assert field.served >= 140


async def test_files_are_fetched_under_the_same_guard_and_with_nobodys_credentials(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": "Bearer secret"}
    client = connect(_card(field.url(), "JSONRPC"), network=field.policy, verify=TRUSTING, headers=headers)
    _leading(monkeypatch, PUBLIC)
    async with client:
        assert await client.fetch(Part(url=field.url())) == b""
        _leading(monkeypatch, PUBLIC, "127.0.0.1")
        for url in urls(field):
            with pytest.raises(FetchRefused):
                await client.fetch(Part(url=url))
        with pytest.raises(FetchRefused):
            await client.fetch(Part(url=field.url()))
    assert (field.reached, field.served) == (Counter(), 1)
    assert "uthorization" not in field.heads[0]


async def test_public_is_what_needs_no_policy(field: Field) -> None:
    for agent in (f"https://127.0.0.1:{field.port}", f"http://{PUBLIC}:{field.port}", "http://localhost", "10.0.0.1"):
        async with connect(agent, network="public") as client:
            with pytest.raises(ConnectFailed):
                await client.card()
            with pytest.raises(FetchRefused):
                await client.fetch(Part(url="https://127.0.0.1/"))
    assert (field.reached, field.served) == (Counter(), 0)


async def test_a_transport_of_ones_own_is_under_no_guard_of_ours() -> None:
    transport = AiohttpTransport()
    with pytest.raises(ConfigurationError, match="http= brings others"):
        connect("https://a.example", network="public", http=transport)
    with pytest.raises(ConfigurationError, match="network is"):
        connect("https://a.example", network="private")  # type: ignore[arg-type]  # what the test is about


async def test_without_a_guard_the_same_calls_arrive_elsewhere(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds nothing in a client that calls everything would find nothing in any."""
    _leading(monkeypatch, "127.0.0.1")
    for url in urls(field):
        async with connect(url, connect_timeout=2.0, verify=TRUSTING) as client:
            with suppress(DragomanError, FetchFailed, ValueError, OSError):
                await client.card()
    assert field.reached["127.0.0.1"] + field.reached["127.0.0.2"] > 0


@pytest.mark.parametrize("binding", BINDINGS)
async def test_what_is_admitted_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch, binding: str) -> None:
    authority = trustme.CA()
    server, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(NAME).configure_cert(server)
    authority.configure_trust(trusting)
    server.set_alpn_protocols(["h2", "http/1.1"])
    agent = Agent("Echo", store="memory")

    @agent.skill
    async def echo(text: str) -> str:
        return text

    async with serving(agent.asgi(http2=True), server_tls=server) as served:
        _leading(monkeypatch, "127.0.0.1")
        policy = Policy(allow=[f"{NAME}:{served.port}"])
        url = f"https://{NAME}:{served.port}"
        async with connect(url, network=policy, verify=trusting, bindings=[binding]) as client:
            assert await client.ask("hi") == "hi"
            assert [event async for event in client.stream("hi")]
