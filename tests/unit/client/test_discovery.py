"""From a reference to a card, kept as HTTP says, and from the card to the interfaces to try."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import AgentCard, AgentInterface, connect
from dragoman.client import CardCache, CardInvalid, CardNotFound, NoUsableInterface
from dragoman.client.discovery import candidates, locate
from dragoman.errors import ConfigurationError, ConnectFailed, ReplyMalformed
from dragoman.types import AgentCapabilities, GetTaskRequest
from tests.unit.client.scripted import Answer, Script, plain, result, scripted, task

NEW, OLD = "/.well-known/agent-card.json", "/.well-known/agent.json"
GET = GetTaskRequest(id="t-1")


@pytest.mark.parametrize(
    ("reference", "places"),
    [
        ("http://h:1", ("http://h:1" + NEW, "http://h:1" + OLD)),
        ("http://h:1/", ("http://h:1" + NEW, "http://h:1" + OLD)),
        ("agent.example", ("https://agent.example" + NEW, "https://agent.example" + OLD)),
        ("agent.example:8443", ("https://agent.example:8443" + NEW, "https://agent.example:8443" + OLD)),
        ("localhost:9999", ("http://localhost:9999" + NEW, "http://localhost:9999" + OLD)),
        ("127.0.0.1:9999", ("http://127.0.0.1:9999" + NEW, "http://127.0.0.1:9999" + OLD)),
        ("[::1]:9999", ("http://[::1]:9999" + NEW, "http://[::1]:9999" + OLD)),
        ("localhost.example", ("https://localhost.example" + NEW, "https://localhost.example" + OLD)),
        ("https://h/cards/a.json", ("https://h/cards/a.json",)),
        ("https://h/card?of=a", ("https://h/card?of=a",)),
        ("https://h/a", ("https://h/a", "https://h/a" + NEW, "https://h/a" + OLD)),
        ("https://h/a/", ("https://h/a/", "https://h/a" + NEW, "https://h/a" + OLD)),
        ("file:///tmp/a%20b.json", Path("/tmp/a b.json")),
        ("/cards/a.json", Path("/cards/a.json")),
        ("./a.json", Path("a.json")),
    ],
)
def test_a_reference_is_a_place_or_several(reference: str, places: Path | tuple[str, ...]) -> None:
    assert locate(reference) == places


def test_an_existing_file_is_a_file_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "card").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert locate("card") == Path("card")


@pytest.mark.parametrize("reference", ["ftp://h/a", "http://", "mailto:a@b.example/://"])
def test_what_is_no_reference_is_refused(reference: str) -> None:
    with pytest.raises(ConfigurationError):
        locate(reference)


def card(*interfaces: tuple[str, str]) -> AgentCard:
    return AgentCard(
        name="A",
        description="",
        version="1",
        supported_interfaces=tuple(
            AgentInterface(url=f"http://h/{number}", protocol_binding=binding, protocol_version=version)
            for number, (binding, version) in enumerate(interfaces)
        ),
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )


SPOKEN = {("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("JSONRPC", "1.0-draft")}
OFFER = card(("GRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3.0"), ("JSONRPC", "1.0.3"), ("urn:own", "7"))
OLDER = card(("JSONRPC", "1.0-draft"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3"))


@pytest.mark.parametrize(
    ("wishes", "chosen"),
    [
        ({}, [1, 3, 2]),
        ({"bindings": ["JSONRPC", "HTTP+JSON"]}, [3, 2, 1]),
        ({"bindings": ["JSONRPC"]}, [3, 2]),
        ({"versions": ["1.0"]}, [1, 3]),
        ({"versions": ["1.0.9"]}, [1, 3]),
        ({"versions": ["0.3"]}, [2]),
        ({"versions": ["0.3", "1.0"]}, [1, 3, 2]),
        ({"custom": ["urn:own"]}, [1, 3, 4, 2]),
        ({"custom": ["urn:own"], "bindings": ["urn:own", "JSONRPC"]}, [4, 3, 2]),
        ({"versions": ["0.2"]}, []),
        ({"bindings": ["GRPC"]}, []),
    ],
)
def test_interfaces_of_1_0_are_tried_first_then_in_the_cards_order_or_the_callers(
    wishes: dict[str, Any], chosen: Sequence[int]
) -> None:
    if chosen:
        assert candidates(OFFER, SPOKEN, **wishes) == tuple(OFFER.supported_interfaces[number] for number in chosen)
    else:
        with pytest.raises(NoUsableInterface):
            candidates(OFFER, SPOKEN, **wishes)


def test_nothing_below_what_the_caller_demands_is_taken() -> None:
    assert [one.protocol_version for one in candidates(OLDER, SPOKEN)] == ["1.0-draft", "0.3"]
    with pytest.raises(NoUsableInterface) as caught:
        candidates(OLDER, SPOKEN, versions=["1.0"], bindings=["JSONRPC", "GRPC"])
    assert str(caught.value) == (
        "No interface of 'A' can be used in version 1.0 over JSONRPC or GRPC; "
        "it offers: JSONRPC 1.0-draft, JSONRPC 0.3, HTTP+JSON 0.3"
    )


class HandClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def published(agent: Script, *, cache_control: str = "", etag: str = "") -> Answer:
    return plain(json.dumps(agent.card).encode(), cache_control=cache_control, etag=etag)


async def test_a_card_is_not_fetched_again_within_its_time(agent: Script) -> None:
    clock = HandClock()
    agent.answers[f"GET {NEW}"] = [published(agent, cache_control="public, max-age=100", etag='"1"'), plain(b"", 304)]
    async with connect(agent.url, cards=CardCache(clock)) as client:
        first = await client.card()
        clock.now += 99
        assert await client.card() is first
        assert len(agent.seen) == 1
        clock.now += 2
        assert await client.card() == first
    assert [seen.headers.get("if-none-match") for seen in agent.seen] == [None, '"1"']


async def test_a_card_that_has_not_changed_gets_new_time(agent: Script) -> None:
    clock = HandClock()
    unchanged = plain(b"", 304, cache_control="max-age=100")
    agent.answers[f"GET {NEW}"] = [published(agent, cache_control="max-age=10", etag='"1"'), unchanged]
    async with connect(agent.url, cards=CardCache(clock)) as client:
        await client.card()
        clock.now += 11
        await client.card()
        clock.now += 99
        await client.card()
    assert len(agent.seen) == 2


async def test_an_agent_that_says_unasked_that_nothing_has_changed_has_no_card(agent: Script) -> None:
    agent.answers |= {f"GET {place}": [plain(b"", 304)] for place in (NEW, OLD)}
    async with connect(agent.url) as client:
        with pytest.raises(CardNotFound, match="status 304"):
            await client.card()


async def test_clients_may_share_cards(agent: Script) -> None:
    cards = CardCache()
    agent.answers[f"GET {NEW}"] = [published(agent, cache_control="max-age=100")]
    for _ in range(3):
        async with connect(agent.url, cards=cards) as client:
            await client.card()
    assert len(agent.seen) == 1


@pytest.mark.parametrize("control", ["", "no-cache, max-age=100", "no-store", "max-age=0", "max-age=soon"])
async def test_calls_rely_on_a_card_without_time_for_a_minute(agent: Script, control: str) -> None:
    clock = HandClock()
    agent.answers[f"GET {NEW}"] = [published(agent, cache_control=control)]
    agent.answers["GetTask"] = [result(task("WORKING"))]
    async with connect(agent.url, cards=CardCache(clock)) as client:
        for pause in (0, 30, 29):
            clock.now += pause
            await client.get_task(GET)
        assert agent.names() == ["GetTask"] * 3
        assert len(agent.seen) == 4
        await client.card()
        assert len(agent.seen) == 5
        clock.now += 61
        await client.get_task(GET)
        assert len(agent.seen) == 7


async def test_calls_go_on_with_the_card_they_have_when_it_cannot_be_had_again(agent: Script) -> None:
    clock = HandClock()
    agent.answers[f"GET {NEW}"] = [published(agent), plain(b"", 500)]
    agent.answers["GetTask"] = [result(task("WORKING"))]
    async with connect(agent.url, cards=CardCache(clock)) as client:
        await client.get_task(GET)
        clock.now += 61
        await client.get_task(GET)
        await client.get_task(GET)
        assert len(agent.seen) == 5
        with pytest.raises(CardNotFound):
            await client.card()


async def test_a_changed_card_changes_the_interface(agent: Script) -> None:
    clock = HandClock()
    async with scripted() as other:
        agent.answers["GetTask"] = other.answers["GetTask"] = [result(task("WORKING"))]
        agent.answers[f"GET {NEW}"] = [published(agent), published(other)]
        async with connect(agent.url, cards=CardCache(clock)) as client:
            await client.get_task(GET)
            clock.now += 61
            await client.get_task(GET)
        assert (agent.names(), other.names()) == (["GetTask"], ["GetTask"])


@pytest.mark.parametrize(
    ("suffix", "there"),
    [("", OLD), ("/agents/a", "/agents/a"), ("/agents/a", "/agents/a" + NEW), ("/agents/a/", "/agents/a" + OLD)],
)
async def test_the_card_is_looked_for_in_turn(agent: Script, suffix: str, there: str) -> None:
    agent.answers.pop(f"GET {NEW}")
    agent.answers[f"GET {there}"] = [published(agent)]
    async with connect(agent.url + suffix) as client:
        assert (await client.card()).name == "Scripted"


async def test_a_page_where_the_agent_is_mounted_is_not_its_card(agent: Script) -> None:
    agent.answers["GET /a"] = [plain(b"<h1>An agent</h1>", content_type="text/html")]
    agent.answers[f"GET /a{NEW}"] = [published(agent)]
    async with connect(f"{agent.url}/a") as client:
        assert (await client.card()).name == "Scripted"


@pytest.mark.parametrize("status", [301, 400, 404, 405, 406, 410, 415, 426])
async def test_what_an_endpoint_answers_to_a_plain_get_leads_on_to_the_card_under_it(
    agent: Script, status: int
) -> None:
    agent.answers["GET /a"] = [plain(b'{"error": {"code": 400, "message": "no version"}}', status)]
    agent.answers[f"GET /a{NEW}"] = [published(agent)]
    async with connect(f"{agent.url}/a") as client:
        assert (await client.card()).name == "Scripted"


async def test_a_mount_url_that_redirects_elsewhere_leads_on_to_the_card_under_it(agent: Script) -> None:
    agent.answers["GET /a"] = [plain(b"", 302, location="http://docs.example/a")]
    agent.answers[f"GET /a{NEW}"] = [published(agent)]
    async with connect(f"{agent.url}/a") as client:
        assert (await client.card()).name == "Scripted"
    assert [seen.target for seen in agent.seen] == ["/a", f"/a{NEW}"]


@pytest.mark.parametrize("status", [401, 403, 500, 502, 503])
async def test_a_refusal_or_trouble_at_the_mount_url_is_final(agent: Script, status: int) -> None:
    agent.answers["GET /a"] = [plain(b"", status)]
    agent.answers[f"GET /a{NEW}"] = [published(agent)]
    async with connect(f"{agent.url}/a") as client:
        with pytest.raises(CardNotFound) as raised:
            await client.card()
    assert raised.value.status == status
    assert len(agent.seen) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
async def test_no_card_says_the_status(agent: Script, status: int) -> None:
    agent.answers[f"GET {NEW}"] = [plain(b"", status)]
    agent.answers[f"GET {OLD}"] = [plain(b"", 404)]
    async with connect(agent.url) as client:
        with pytest.raises(CardNotFound) as raised:
            await client.ask("go")
    assert raised.value.status == status


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff", b'{"name": 7}', b"<html>"])
async def test_what_is_no_card_is_invalid(agent: Script, body: bytes) -> None:
    agent.answers[f"GET {NEW}"] = [plain(body)]
    async with connect(agent.url) as client:
        with pytest.raises(CardInvalid) as raised:
            await client.card()
    assert str(raised.value).count("<html>") == (1 if body == b"<html>" else 0)
    assert (raised.value.document, raised.value.excerpt) == (body, body.decode(errors="replace"))


async def test_a_card_redirected_to_another_origin_is_not_followed(agent: Script) -> None:
    async with scripted() as other:
        agent.answers[f"GET {NEW}"] = [plain(b"", 302, location=f"{other.url}{NEW}")]
        async with connect(agent.url, headers={"authorization": "secret"}) as client:
            with pytest.raises(ReplyMalformed, match="another origin"):
                await client.card()
        assert other.seen == []


async def test_nobody_at_home() -> None:
    async with connect("http://127.0.0.1:1") as client:
        with pytest.raises(ConnectFailed):
            await client.card()


async def test_a_card_file_serves_as_reference(agent: Script, tmp_path: Path) -> None:
    agent.answers["GetTask"] = [result(task("COMPLETED", "done"))]
    place = tmp_path / "card.json"
    place.write_text(json.dumps(agent.card))
    for reference in (place, str(place), place.as_uri()):
        async with connect(reference) as client:
            assert (await client.get_task(GET)).text == "done"
    assert agent.names() == ["GetTask"] * 3
    assert len(agent.seen) == 3


async def test_a_missing_or_wrong_file(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text("no JSON")
    async with connect(tmp_path / "none.json") as none, connect(tmp_path / "wrong.json") as wrong:
        with pytest.raises(CardNotFound, match="No such file"):
            await none.card()
        with pytest.raises(CardInvalid):
            await wrong.card()


async def test_a_card_in_hand_serves_as_reference(agent: Script) -> None:
    agent.answers["GetTask"] = [result(task("COMPLETED", "done"))]
    async with connect(agent.url) as client:
        given = await client.card()
    async with connect(msgspec.structs.replace(given, name="Given")) as client:
        assert (await client.get_task(GET)).text == "done"
        assert (await client.card()).name == "Given"
    assert len(agent.seen) == 2
