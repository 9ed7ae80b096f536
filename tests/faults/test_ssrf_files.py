"""Nothing that a part names makes a handler, or a client, connect to where it should not."""

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress

import pytest

from dragoman import Agent, FetchFailed, FetchOptions, FetchRefused, Message, Part, TaskContext, connect
from dragoman.outbound.files import FileFetcher
from dragoman.outbound.policy import Policy
from dragoman.ports.webhook import AddressRefused
from dragoman.types.content import Role
from dragoman.types.requests import SendMessageRequest
from tests.faults.field import LYING, PUBLIC, REBINDING, TRUSTING, Field, Resolve, opened, resolving, urls

ODD = ("data:text/plain,hello", "file:///etc/passwd", "ftp://127.80.0.1/a", "gopher://127.0.0.1/", "//127.0.0.1/", "")
DEEP = ("https:127.0.0.1/", "https:///127.0.0.1/", "jar:https://127.0.0.1!/a", "HTTPS://127.0.0.1/", "unix:///run/s")


@pytest.fixture
async def field(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Field, None]:
    async with opened(monkeypatch) as place:
        yield place


def _fetcher(place: Field, resolve: Resolve) -> FileFetcher:
    return FileFetcher(FetchOptions(timeout=20.0), policy=place.policy, tls=TRUSTING, resolve=resolve)


async def _refused(files: FileFetcher, url: str) -> None:
    with pytest.raises(FetchRefused):
        await files.fetch(Part(url=url))


async def _statuses(files: FileFetcher, url: str, times: int) -> list[int]:
    found: list[int] = []
    for _ in range(times):
        try:
            found.append(len(await files.fetch(Part(url=url))))
        except FetchFailed:
            found.append(-1)
    return found


async def test_no_hostile_url_is_connected_to(field: Field) -> None:
    files = _fetcher(field, resolving(["127.0.0.1"]))
    for url in (*urls(field), *ODD, *DEEP):
        await _refused(files, url)
    assert (field.reached, field.served) == (Counter(), 0)


async def test_no_redirect_leads_to_a_hostile_url(field: Field) -> None:
    tried = 0
    for url in (*urls(field), *ODD[:-2], *DEEP):
        if not url.isascii() or not url.isprintable():
            continue  # no header can hold it
        field.leads = url
        await _refused(_fetcher(field, resolving([PUBLIC], ["127.0.0.1"])), field.url() + "/elsewhere")
        tried += 1
    assert tried >= 140
    assert (field.reached, field.served) == (Counter(), tried)


@pytest.mark.parametrize("before", [[], [PUBLIC]], ids=["alone", "behind a public one"])
async def test_no_name_that_leads_elsewhere_is_connected_to(field: Field, before: list[str]) -> None:
    for address in (*LYING, *field.own):
        await _refused(_fetcher(field, resolving([*before, address])), field.url())
    assert (field.reached, field.served) == (Counter(), 0)


@pytest.mark.parametrize("answers", REBINDING.values(), ids=list(REBINDING))
async def test_a_name_that_changes_what_it_says_leads_nowhere_else(
    field: Field, answers: tuple[tuple[str, ...], ...]
) -> None:
    files = _fetcher(field, resolving(*answers))
    found = await _statuses(files, field.url(), len(answers) + 1)
    assert field.reached == Counter()
    assert found.count(0) == field.served == sum(answer == (PUBLIC,) for answer in (*answers, answers[-1]))


async def test_a_redirect_resolves_its_name_anew(field: Field) -> None:
    field.leads = field.url() + "/second"
    for answer in (("127.0.0.1",), ("::1",), (PUBLIC, "127.0.0.2"), ("10.0.0.1",)):
        await _refused(_fetcher(field, resolving([PUBLIC], answer)), field.url() + "/elsewhere")
    assert (field.reached, field.served) == (Counter(), 4)


async def test_no_redirect_leads_away_from_encryption(field: Field) -> None:
    field.leads = f"http://{PUBLIC}:{field.port}/"
    files = FileFetcher(FetchOptions(network="any"), tls=TRUSTING, resolve=resolving([PUBLIC]))
    with pytest.raises(FetchRefused, match="from https to http"):
        await files.fetch(Part(url=field.url() + "/elsewhere"))
    assert (field.reached, field.served) == (Counter(), 1)


async def test_what_is_admitted_is_followed(field: Field) -> None:
    """Without this, a fetcher that never fetches anything would pass."""
    field.leads = field.url(PUBLIC)
    files = _fetcher(field, resolving([PUBLIC]))
    assert await files.fetch(Part(url=field.url() + "/elsewhere")) == b""
    assert (field.reached, field.served) == (Counter(), 2)
    assert not [head for head in field.heads if "ookie" in head or "uthorization" in head]


async def test_a_fetcher_that_looks_only_before_the_call_is_found_out(field: Field) -> None:
    class Once(FileFetcher):
        def __init__(self, place: Field, resolve: Resolve) -> None:
            super().__init__(policy=Policy(insecure=True), tls=TRUSTING, resolve=resolve)
            self._guard = place.policy
            self._ask = resolve

        async def admitted(self, url: str) -> bytes:
            target = self._guard.target(url)
            self._guard.admit(target, await self._ask(target.host))
            return await self.fetch(Part(url=url))

    for answers in REBINDING.values():
        twin = Once(field, resolving(*answers))
        for _ in range(3):
            with suppress(AddressRefused, FetchFailed):
                await twin.admitted(field.url())
    assert field.reached["127.0.0.1"] + field.reached["127.0.0.2"] > 0


async def test_handlers_are_under_the_guard_by_default(field: Field) -> None:
    """From the socket of the caller's message to the sockets of the fetch, nothing taken out."""
    agent = Agent("Reader", store="memory")
    told: list[str] = []

    @agent.skill
    async def read(task: TaskContext) -> None:
        for part in task.message.parts:
            try:
                await part.fetch()
            except FetchRefused as error:
                told.append(str(error))

    parts = [Part(url=url) for url in urls(field) if url.isprintable()]
    async with connect(agent) as client:
        await client.send_message(_request(parts))
    assert len(told) == len(parts) >= 150
    assert field.reached == Counter()


def _request(parts: Sequence[Part]) -> SendMessageRequest:
    return SendMessageRequest(message=Message(message_id="m", role=Role.USER, parts=tuple(parts)))
