"""The agent card at its well-known address: fresh, known, and for whom it is encoded."""

from datetime import UTC, datetime

import pytest

from dragoman.hosts.cards import CACHED_BASES, CardPublisher
from dragoman.types.card import AgentCapabilities, AgentCard, AgentInterface

SINCE = datetime(2030, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
encoded: list[str] = []


def card_at(base: str) -> AgentCard:
    interface = AgentInterface(url=base, protocol_binding="X", protocol_version="1.0")
    return AgentCard(
        name="n",
        description="d",
        version="1",
        supported_interfaces=(interface,),
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )


def encode(card: AgentCard) -> bytes:
    encoded.append(card.supported_interfaces[0].url)
    return card.supported_interfaces[0].url.encode()


@pytest.fixture
def cards() -> CardPublisher:
    encoded.clear()
    return CardPublisher(card_at, encode, since=SINCE)


def test_a_card_is_json_that_may_be_kept(cards: CardPublisher) -> None:
    reply = cards.reply("GET", {}, "http://a")
    assert (reply.status, reply.body) == (200, b"http://a")
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["cache-control"] == "public, max-age=300"
    assert reply.headers["last-modified"] == "Wed, 02 Jan 2030 03:04:05 GMT"
    assert reply.headers["etag"].startswith('"')


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a","b",W/{}', "*"])
def test_a_card_that_the_caller_has_by_its_tag_is_not_sent_again(cards: CardPublisher, form: str) -> None:
    etag = cards.reply("GET", {}, "http://a").headers["etag"]
    reply = cards.reply("GET", {"if-none-match": form.format(etag)}, "http://a")
    assert (reply.status, reply.body) == (304, b"")
    assert reply.headers["etag"] == etag


@pytest.mark.parametrize(
    ("date", "status"),
    [
        ("Wed, 02 Jan 2030 03:04:05 GMT", 304),
        ("Wed, 02 Jan 2030 03:04:06 GMT", 304),
        ("Wed, 02 Jan 2030 03:04:04 GMT", 200),
        ("yesterday", 200),
        ("", 200),
        ("Wed, 02 Jan 2030 03:04:06 -0000", 200),
        (f"Wed, 02 Jan {'9' * 30} 03:04:06 GMT", 200),
    ],
)
def test_a_card_that_the_caller_has_by_its_date(cards: CardPublisher, date: str, status: int) -> None:
    assert cards.reply("GET", {"if-modified-since": date}, "http://a").status == status


def test_a_tag_goes_before_a_date(cards: CardPublisher) -> None:
    headers = {"if-none-match": '"other"', "if-modified-since": "Wed, 02 Jan 2030 03:04:05 GMT"}
    assert cards.reply("GET", headers, "http://a").status == 200


def test_head_tells_the_length_and_sends_nothing(cards: CardPublisher) -> None:
    reply = cards.reply("HEAD", {}, "http://a")
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == "8"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_a_card_is_for_reading(cards: CardPublisher, method: str) -> None:
    reply = cards.reply(method, {}, "http://a")
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


def test_cards_differ_by_base_and_are_encoded_once(cards: CardPublisher) -> None:
    tags = {cards.reply("GET", {}, base).headers["etag"] for base in ("http://a", "http://b", "http://a")}
    assert len(tags) == 2
    assert encoded == ["http://a", "http://b"]


def test_callers_cannot_make_the_server_keep_any_number_of_cards(cards: CardPublisher) -> None:
    for number in range(CACHED_BASES + 1):
        cards.reply("GET", {}, f"http://{number}")
    cards.reply("GET", {}, "http://0")
    assert encoded.count("http://0") == 2


def test_a_card_of_another_edition_is_encoded_anew() -> None:
    encoded.clear()
    edition = [1]
    cards = CardPublisher(card_at, encode, since=SINCE, edition=lambda: edition[0])
    for edition[0] in (1, 1, 2, 2):
        cards.reply("GET", {}, "http://a")
    assert encoded == ["http://a", "http://a"]
