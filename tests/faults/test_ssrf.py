"""Nothing that a caller names makes this server connect to where it should not."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress

import pytest

from dragoman.outbound import GuardedClient, Policy
from dragoman.outbound.resolving import Resolver
from dragoman.outbound.url import Target
from dragoman.ports.webhook import AddressRefused, Answer, Undelivered, WebhookClient
from tests.faults.field import FORBIDDEN, LYING, PUBLIC, REBINDING, TRUSTING, Field, Resolve, opened, resolving, urls


@pytest.fixture
async def field(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Field, None]:
    async with opened(monkeypatch) as place:
        yield place


async def _attempt(client: WebhookClient, url: str, times: int = 3) -> list[int]:
    """What happens to a configuration: looked at once, then called several times. The statuses that came back."""
    with suppress(AddressRefused, Undelivered):
        await client.check(url)
        return [answer.status for answer in [await _posted(client, url) for _ in range(times)] if answer is not None]
    return []


async def _posted(client: WebhookClient, url: str) -> Answer | None:
    with suppress(AddressRefused, Undelivered):
        return await client.post(url, {"Authorization": "Bearer secret"}, b"{}")
    return None


async def _closed(clients: Iterable[WebhookClient]) -> None:
    for client in clients:
        await client.close()


async def test_no_hostile_url_is_connected_to(field: Field) -> None:
    hostile = urls(field)
    assert len(set(hostile)) >= 60
    client = GuardedClient(field.policy, tls=TRUSTING, timeout=20.0, resolve=resolving(["127.0.0.1"]))
    for url in hostile:
        with pytest.raises(AddressRefused):
            await client.check(url)
        with pytest.raises(AddressRefused):
            await client.post(url, {}, b"{}")
    await client.close()
    assert field.reached == Counter()


@pytest.mark.parametrize("before", [[], [PUBLIC]], ids=["alone", "behind a public one"])
async def test_no_name_that_leads_elsewhere_is_connected_to(field: Field, before: list[str]) -> None:
    for address in (*LYING, *field.own):
        client = GuardedClient(field.policy, tls=TRUSTING, timeout=20.0, resolve=resolving([*before, address]))
        with pytest.raises(AddressRefused):
            await client.check(field.url())
        with pytest.raises(AddressRefused):
            await client.post(field.url(), {}, b"{}")
        await client.close()
    assert (field.reached, field.served) == (Counter(), 0)


async def test_what_is_allowed_is_connected_to(field: Field) -> None:
    """Without this, a client that never calls anything would pass."""
    client = GuardedClient(field.policy, tls=TRUSTING, timeout=20.0, resolve=resolving([PUBLIC]))
    for url in (field.url(), field.url(PUBLIC)):
        assert await _attempt(client, url) == [200, 200, 200]
    await client.close()
    assert (field.reached, field.served) == (Counter(), 6)


async def test_a_redirect_is_an_answer(field: Field) -> None:
    client = GuardedClient(field.policy, tls=TRUSTING, timeout=20.0, resolve=resolving([PUBLIC]))
    assert await _attempt(client, field.url() + "/elsewhere") == [307, 307, 307]
    await client.close()
    assert field.reached == Counter()


@pytest.mark.parametrize("answers", REBINDING.values(), ids=list(REBINDING))
async def test_a_name_that_changes_what_it_says_leads_nowhere_else(
    field: Field, answers: tuple[tuple[str, ...], ...]
) -> None:
    client = GuardedClient(field.policy, tls=TRUSTING, timeout=20.0, resolve=resolving(*answers))
    statuses = await _attempt(client, field.url())
    await client.close()
    assert field.reached == Counter()
    assert len(statuses) == field.served == sum(answer == (PUBLIC,) for answer in answers[1:])


@pytest.mark.parametrize(
    "answer",
    [("127.0.0.1",), ("127.0.0.1", "::1", "127.0.0.2"), ("127.80.0.9", "127.0.0.1"), ("10.0.0.1", "::1")],
)
async def test_the_socket_itself_is_a_second_guard(
    field: Field, monkeypatch: pytest.MonkeyPatch, answer: tuple[str, ...]
) -> None:
    """Whatever else may go wrong between the check and the connection, several attempts side by side included."""

    async def unchecked(_resolver: Resolver, _target: Target) -> tuple[str, ...]:
        return answer

    monkeypatch.setattr(Resolver, "addresses", unchecked)
    client = GuardedClient(field.policy, tls=TRUSTING, timeout=20.0)
    # Of several attempts that have failed, aiohttp tells no single reason.
    with pytest.raises(AddressRefused if len(answer) == 1 else (AddressRefused, Undelivered)):
        await client.post(field.url(), {}, b"{}")
    await client.close()
    assert (field.reached, field.served) == (Counter(), 0)


class _AtCreationOnly:
    """A broken guard: what was looked at once is called for ever."""

    def __init__(self, place: Field, resolve: Resolve) -> None:
        self._guard = GuardedClient(place.policy, tls=TRUSTING, timeout=20.0, resolve=resolve)
        self._caller = GuardedClient(Policy(insecure=True), tls=TRUSTING, timeout=20.0, resolve=resolve)

    async def check(self, url: str) -> None:
        await self._guard.check(url)

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        return await self._caller.post(url, headers, body)

    async def close(self) -> None:
        await _closed([self._guard, self._caller])


class _BeforeEachCall(_AtCreationOnly):
    """A broken guard: it looks before each call too, and the connection asks again."""

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        await self.check(url)
        return await super().post(url, headers, body)


class _FirstOnly(Policy):
    """A broken policy: it looks at the first of several addresses."""

    def admit(self, target: Target, addresses: Iterable[str]) -> tuple[str, ...]:
        first, *others = addresses
        return (*super().admit(target, [first]), *others) if others else (first,)


def _first_only(place: Field, resolve: Resolve) -> WebhookClient:
    policy = _FirstOnly(allow=["127.80.0.0/16"], ports=[place.port])
    return GuardedClient(policy, tls=TRUSTING, timeout=20.0, resolve=resolve)


@pytest.mark.parametrize("twin", [_AtCreationOnly, _BeforeEachCall, _first_only])
async def test_a_broken_guard_is_found_out(field: Field, twin: Callable[[Field, Resolve], WebhookClient]) -> None:
    found: Counter[str] = Counter()
    for answers in REBINDING.values():
        client = twin(field, resolving(*answers))
        await _attempt(client, field.url())
        await client.close()
        found += field.reached
        field.reached.clear()
    assert found["127.0.0.1"] + found["127.0.0.2"] > 0, found


async def test_no_guard_at_all_is_found_out(field: Field) -> None:
    client = GuardedClient(Policy(insecure=True), timeout=20.0, resolve=resolving(["127.0.0.1"]))
    for url in urls(field):
        await _posted(client, url)
    await client.close()
    assert {*FORBIDDEN, "10.0.0.1", "169.254.169.254", "fd00:ec2::254"} - set(field.reached) == set()
