"""Names: resolved for each connection, checked, and called at exactly what was checked, under their own name."""

import asyncio
import socket
import ssl
from functools import partial
from typing import Any

import pytest
import trustme
import uvloop

from dragoman.outbound import GuardedClient, Policy, guard
from dragoman.outbound import client as module
from dragoman.outbound.resolving import Resolver
from dragoman.ports.webhook import AddressRefused, Undelivered
from tests.unit.outbound.receiver import PUBLIC, Receiver, answering, listening, lookup

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NAME = "hooks.example.com"
AUTHORITY = trustme.CA()
TRUSTING = ssl.create_default_context()
AUTHORITY.configure_trust(TRUSTING)


def _serving(*names: str, authority: trustme.CA = AUTHORITY) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def _client(receiver: Receiver, *answers: Any, **options: Any) -> GuardedClient:
    policy = Policy(allow=["127.80.0.0/16", "[::1]"], ports=[receiver.port])
    return GuardedClient(policy, resolve=lookup(*answers), tls=TRUSTING, **options)


async def test_certificate_sni_and_host_are_of_the_name() -> None:
    async with listening(answering(OK), tls=_serving(NAME)) as receiver:
        client = _client(receiver, [PUBLIC])
        for _ in range(3):
            assert (await client.post(receiver.url("HOOKS.example.com.", "https"), {}, b"x")).status == 200
        await client.close()
    assert receiver.names == [NAME]
    assert f"\r\nHost: {NAME}:{receiver.port}\r\n" in receiver.heads[0]
    assert receiver.connections == 1


async def test_an_address_is_called_under_its_own_certificate() -> None:
    async with listening(answering(OK), tls=_serving(PUBLIC)) as receiver:
        client = _client(receiver)
        assert (await client.post(receiver.url(PUBLIC, "https"), {}, b"x")).status == 200
        await client.close()


@pytest.mark.parametrize(
    "context",
    [_serving("other.example.com"), _serving(PUBLIC), _serving(NAME, authority=trustme.CA())],
    ids=["another name", "the address", "another authority"],
)
async def test_another_certificate_is_refused_before_anything_is_sent(context: ssl.SSLContext) -> None:
    async with listening(answering(OK), tls=context) as receiver:
        client = _client(receiver, [PUBLIC])
        with pytest.raises(Undelivered, match="certificate is not trusted"):
            await client.post(receiver.url(NAME, "https"), {"Authorization": "Bearer secret"}, b"x")
        await client.close()
    assert receiver.heads == []


async def test_what_speaks_no_tls_is_undelivered() -> None:
    async def plain(_receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with listening(plain) as receiver:
        client = _client(receiver, [PUBLIC])
        with pytest.raises(Undelivered, match="TLS failed"):
            await client.post(receiver.url(NAME, "https"), {}, b"x")
        await client.close()


async def test_a_handshake_that_hangs_is_ended_in_time() -> None:
    async def silent(_receiver: Receiver, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(silent) as receiver:
        client = _client(receiver, [PUBLIC], timeout=0.1)
        with pytest.raises(Undelivered, match=r"within 0\.1 s"):
            await client.post(receiver.url(NAME, "https"), {}, b"x")
        await client.close()
        await receiver.closed.wait()


async def test_a_name_is_asked_for_once_for_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def resolve(name: str) -> list[str]:
        asked.append(name)
        return [PUBLIC]

    async with listening(answering(OK), tls=_serving(NAME)) as receiver:
        policy = Policy(allow=[PUBLIC], ports=[receiver.port])
        client = GuardedClient(policy, resolve=resolve, tls=TRUSTING)
        for _ in range(5):
            await client.post(receiver.url(NAME, "https"), {}, b"x")
        assert asked == [NAME]
        monkeypatch.setattr(module, "LIFETIME", 0.0)
        await client.close()
        for _ in range(2):
            await client.post(receiver.url(NAME, "https"), {}, b"x")
        assert asked == [NAME] * 3
        await client.close()


async def test_the_next_address_is_tried_if_nobody_is_at_the_first() -> None:
    async with listening(answering(OK), tls=_serving(NAME)) as receiver:
        client = _client(receiver, ["127.80.0.9", "::1", PUBLIC])
        assert (await client.post(receiver.url(NAME, "https"), {}, b"x")).status == 200
        await client.close()


async def test_few_of_many_addresses_are_tried() -> None:
    async with listening(answering(OK), tls=_serving(NAME)) as receiver:
        client = _client(receiver, [f"127.80.1.{n}" for n in range(9)] + [PUBLIC])
        with pytest.raises(Undelivered, match="No connection"):
            await client.post(receiver.url(NAME, "https"), {}, b"x")
        await client.close()
    assert receiver.connections == 0


@pytest.mark.parametrize("answer", [[], OSError("no"), socket.gaierror(-2, "no"), UnicodeError("no")])
async def test_a_name_that_leads_nowhere_is_undelivered(answer: Any) -> None:
    client = GuardedClient(Policy(), resolve=lookup(answer))
    for call in (client.check, partial(client.post, headers={}, body=b"")):
        with pytest.raises(Undelivered, match=r"hooks\.example\.com stands for no address"):
            await call(f"https://{NAME}/secret")
    await client.close()


async def test_a_name_that_is_never_resolved_is_left_in_time() -> None:
    async def never(_name: str) -> list[str]:
        await asyncio.Event().wait()
        raise AssertionError

    client = GuardedClient(Policy(), resolve=never, timeout=0.05)
    for call in (client.check, partial(client.post, headers={}, body=b"")):
        with pytest.raises(Undelivered, match=r"within 0\.05 s"):
            await call(f"https://{NAME}/secret")
    await client.close()


async def test_a_look_at_a_url_says_what_a_call_would_say() -> None:
    await GuardedClient(Policy()).check("https://8.8.8.8/")
    await GuardedClient(Policy(), resolve=lookup(["8.8.8.8", "2606:4700::1111"])).check(f"https://{NAME}/")
    for answer in ("10.0.0.1", "::1", "fe80::1%eth0"):
        with pytest.raises(AddressRefused):
            await GuardedClient(Policy(), resolve=lookup(["8.8.8.8", answer])).check(f"https://{NAME}/")
    with pytest.raises(AddressRefused):
        await GuardedClient(Policy()).check("https://10.0.0.1/")


async def test_only_so_many_names_are_resolved_at_a_time() -> None:
    running, most, full, free = 0, 0, asyncio.Event(), asyncio.Event()

    async def resolve(_name: str) -> list[str]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            full.set()
        await free.wait()
        running -= 1
        return ["8.8.8.8"]

    client = GuardedClient(Policy(), resolve=resolve, lookups=3)
    checks = [asyncio.create_task(client.check(f"https://{n}.example.com/")) for n in range(9)]
    await full.wait()
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(*checks)
    assert most == 3


async def test_the_system_is_asked_for_complete_names_except_for_those_that_are_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def look(name: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(name)
        return [(socket.AF_INET, 1, 6, "", ("8.8.8.8", 0)), (socket.AF_INET6, 1, 6, "", ("2606:4700::1111", 0, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look)
    client = GuardedClient(Policy(allow=["redis", "a.corp.example"]))
    for host in (NAME, "redis", "a.corp.example", "b.corp.example"):
        await client.check(f"https://{host}/")
    assert asked == [f"{NAME}.", "redis", "a.corp.example", "b.corp.example."]


async def test_the_system_knows_this_machine() -> None:
    async with listening(answering(OK), host="127.0.0.1") as receiver:
        client = GuardedClient(Policy(allow=[f"http://localhost:{receiver.port}"]))
        assert (await client.post(receiver.url("localhost"), {}, b"x")).status == 200
        await client.close()


async def test_the_last_look_is_at_the_socket_itself() -> None:
    policy = Policy()
    connections = guard.GuardedConnector(policy, Resolver(policy, None, 1), tls=True)
    guard.bound_for.set(policy.target(f"https://{NAME}/"))
    connections.socket_to((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 443))).close()
    for address, port in (("127.0.0.1", 443), ("8.8.8.8", 80), ("10.0.0.1", 443), ("::1", 443)):
        with pytest.raises(AddressRefused):
            connections.socket_to((socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)))
    await connections.close()


def test_it_runs_under_uvloop() -> None:
    async def called() -> None:
        async with asyncio.timeout(20), listening(answering(OK), tls=_serving(NAME)) as receiver:
            client = _client(receiver, [PUBLIC], timeout=15.0)
            for _ in range(3):
                assert (await client.post(receiver.url(NAME, "https"), {}, b"x")).status == 200
            assert receiver.connections == 1
            await client.close()
            refused = _client(receiver, [PUBLIC, "127.0.0.1"])
            with pytest.raises(AddressRefused):
                await refused.post(receiver.url(NAME, "https"), {}, b"x")
            await refused.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(called())
