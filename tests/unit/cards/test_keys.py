"""Whose signatures count, and where keys may come from."""

import json
from typing import Any

import pytest

from dragoman.cards import CardKeys, CardSigner, Outcome
from dragoman.cards.canonical import canonical
from dragoman.dialects.card import card_members
from dragoman.errors import ConfigurationError, TransportError
from dragoman.signing.keys import KeyRing, RingKey, SigningKey
from tests.behaviour.manifest import requirement
from tests.unit.cards.parts import (
    KEY,
    NOW,
    OTHER,
    PLACE,
    by_hand,
    card,
    decoded,
    document,
    keys_of,
    public,
    signed,
    verdict,
)


class Web:
    """Answers with key sets, and remembers what it was asked."""

    def __init__(self, **sets: Any) -> None:
        self.sets: dict[str, Any] = sets
        self.asked: list[str] = []
        self.now = NOW

    async def fetch(self, url: str) -> bytes:
        self.asked.append(url)
        if url not in self.sets:
            raise TransportError("status 404")
        found = self.sets[url]
        return found if isinstance(found, bytes) else json.dumps(found).encode()

    def keys(self, *jku: str, **options: Any) -> CardKeys:
        return CardKeys(jku=jku, fetch=self.fetch, clock=lambda: self.now, **options)


@requirement("R-8.4.3-04")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"exp": NOW}, "its key has expired"),
        ({"exp": NOW - 1e6}, "its key has expired"),
        ({"nbf": NOW + 1}, "its key is not valid yet"),
        ({"revoked": {"revoked_at": NOW - 5}}, "its key was revoked"),
        ({"revoked": True}, "its key was revoked"),
        ({"exp": "soon"}, "its key was revoked"),
        ({"exp": True}, "its key was revoked"),
        ({"use": "enc"}, "its key is not known"),
    ],
)
@pytest.mark.parametrize("fetched", [False, True])
async def test_a_key_that_does_not_count_verifies_nothing(limits: dict[str, Any], reason: str, fetched: bool) -> None:
    published = {"keys": [KEY.public_jwk() | limits]}
    web = Web(**{PLACE: published})
    keys = web.keys(PLACE) if fetched else CardKeys(published, clock=lambda: NOW)
    found = await verdict(signed(jku=PLACE if fetched else None), keys)
    assert found.outcome is Outcome.UNVERIFIABLE
    assert found.reason == ("its key is not in the key set that it links to" if fetched and "use" in limits else reason)


async def test_a_key_within_its_time_counts() -> None:
    keys = CardKeys({"keys": [KEY.public_jwk() | {"nbf": NOW, "exp": NOW + 1, "revoked": False}]}, clock=lambda: NOW)
    assert (await verdict(signed(), keys)).outcome is Outcome.VERIFIED


@requirement("R-8.4.3-04")
@pytest.mark.parametrize("fetched", [False, True])
async def test_a_key_that_the_caller_revokes_verifies_nothing_wherever_it_comes_from(fetched: bool) -> None:
    web = Web(**{PLACE: public(KEY)})
    keys = web.keys(PLACE, revoked=[KEY.id]) if fetched else keys_of(KEY, revoked=[KEY.id])
    assert (await verdict(signed(jku=PLACE), keys)).reason == "its key was revoked"


@requirement("R-8.4.3-01")
@pytest.mark.parametrize(
    "allowed", [PLACE, "https://keys.example", "https://keys.example:443", "https://keys.example/sets/"]
)
async def test_keys_are_fetched_from_where_they_may_be(allowed: str) -> None:
    web = Web(**{PLACE: public(KEY)})
    assert (await verdict(signed(jku=PLACE), web.keys(allowed))).outcome is Outcome.VERIFIED
    assert web.asked == [PLACE]


@requirement("R-8.4.3-03")
@pytest.mark.parametrize(
    "jku",
    [
        "http://keys.example/sets/agents.json",
        "https://evil.example/sets/agents.json",
        "https://keys.example.evil.example/sets/agents.json",
        "https://keys.example@evil.example/sets/agents.json",
        "https://evil.example/https://keys.example/sets/agents.json",
        "https://keys.example:8443/sets/agents.json",
        "https://keys.example/sets/../private.json",
        "https://keys.example/sets/%2e%2e/private.json",
        "https://keys.example/sets/./agents.json",
        "https://keys.example\\@evil.example/sets/agents.json",
        "https://keys.example/sets/agents.json#x",
        "https://keys.example/sets/agents.json ",
        "https://keys.example/sets/agents.json\n",
        "https://k\u0435ys.example/sets/agents.json",
        "https:keys.example/sets/agents.json",
        "https:///sets/agents.json",
        "https://[keys.example/sets/agents.json",
        "https://keys.example:x/sets/agents.json",
        "https://keys.example/other/agents.json",
        "file:///etc/passwd",
        "data:application/json,{}",
        "//keys.example/sets/agents.json",
        "",
    ],
)
async def test_keys_are_fetched_from_nowhere_else(jku: str) -> None:
    web = Web(**{jku: public(KEY)})
    signature = by_hand(canonical(card_members(card())), jku=jku)
    body = document(card(), signatures=[signature])
    found = await verdict(body, web.keys("https://keys.example/sets/"))
    assert (found.outcome, web.asked) == (Outcome.UNVERIFIABLE, [])
    assert found.reason == "its key is not known, and keys are not fetched from where it says"


async def test_a_key_at_hand_goes_before_one_that_is_linked_to() -> None:
    impostor = SigningKey.generate("ES256", key_id=KEY.id)
    web = Web(**{PLACE: public(impostor)})
    keys = CardKeys(public(KEY), jku=[PLACE], fetch=web.fetch)
    assert (await verdict(signed(jku=PLACE), keys)).outcome is Outcome.VERIFIED
    assert (await verdict(signed(card(), impostor, jku=PLACE), keys)).outcome is Outcome.UNVERIFIABLE
    assert web.asked == []


async def test_a_fetched_key_set_is_kept_for_a_time_and_then_asked_for_again() -> None:
    web = Web(**{PLACE: public(KEY)})
    keys = web.keys(PLACE)
    for _ in range(3):
        assert (await verdict(signed(jku=PLACE), keys)).outcome is Outcome.VERIFIED
    assert len(web.asked) == 1
    web.now += 301
    web.sets[PLACE] = public(OTHER)
    gone = await verdict(signed(jku=PLACE), keys)
    assert (gone.reason, len(web.asked)) == ("its key is not in the key set that it links to", 2)


async def test_after_a_rotation_the_new_key_is_found_soon_and_not_asked_for_in_a_storm() -> None:
    web = Web(**{PLACE: public(KEY)})
    keys = web.keys(PLACE)
    await verdict(signed(jku=PLACE), keys)
    later = signed(card(), OTHER, jku=PLACE)
    for _ in range(5):
        assert (await verdict(later, keys)).outcome is Outcome.UNVERIFIABLE
    assert len(web.asked) == 1
    web.sets[PLACE] = public(KEY, OTHER)
    web.now += 10
    assert (await verdict(later, keys)).outcome is Outcome.VERIFIED
    assert len(web.asked) == 2


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"[]", b'{"keys":{}}', b'{"keys":[1,null]}', b'{"keys":' * 90_000, None]
)
async def test_what_is_no_key_set_is_no_harm(answer: bytes | None) -> None:
    web = Web(**({} if answer is None else {PLACE: answer}))
    found = await verdict(signed(jku=PLACE), web.keys(PLACE))
    assert found.outcome is Outcome.UNVERIFIABLE
    assert found.reason.startswith(("its key could not be fetched: ", "its key is not in the key set"))


@pytest.mark.parametrize("place", ["http://keys.example", "keys.example", "https://", "https://a@b", "https://a/../b"])
def test_places_that_are_no_plain_https_urls_are_refused_at_once(place: str) -> None:
    with pytest.raises(ConfigurationError, match="over https"):
        CardKeys(jku=[place])


@pytest.mark.parametrize("given", [b"{", b"[]", {"keys": 1}, "nothing"])
def test_what_is_no_key_set_is_refused_at_once(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="cannot be trusted"):
        CardKeys(given)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "dir"])
def test_algorithms_with_which_everybody_could_sign_are_refused_at_once(algorithm: str) -> None:
    with pytest.raises(ConfigurationError, match="algorithms can be"):
        CardKeys(algorithms=[algorithm])


async def test_a_secret_that_two_share_is_no_key() -> None:
    shared = {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": KEY.id, "alg": "HS256"}
    assert (await verdict(signed(), CardKeys(shared))).reason == "its key is not known"


@requirement("R-8.4.2-01")
@requirement("R-8.4.2-02")
def test_the_protected_header_names_algorithm_key_type_and_where_keys_are() -> None:
    one, for_sdks = signed(jku=PLACE).signatures
    assert decoded(one.protected) == {"alg": "ES256", "kid": "first", "typ": "JOSE", "jku": PLACE}
    assert decoded(for_sdks.protected) == {**decoded(one.protected), "dragoman:for-sdks": True}
    assert one.header is None


def test_each_key_signs_both_forms_where_they_differ() -> None:
    assert len(signed(card(), KEY, OTHER).signatures) == 4
    full = card(description="d", icon_url=None, skills=(), capabilities=card().capabilities)
    assert len(signed(full).signatures) == 2


async def test_while_keys_follow_each_other_both_sign_and_afterwards_the_new_one_alone() -> None:
    ring = KeyRing([RingKey(KEY, 0.0, NOW + 100), RingKey(OTHER, NOW + 10)])

    def signing(at: float) -> set[str]:
        made = CardSigner(ring, clock=lambda: at).signed(card())
        return {decoded(one.protected)["kid"] for one in made.signatures}

    assert signing(NOW) == {"first"}
    assert signing(NOW + 10) == {"first", "second"}
    assert signing(NOW + 100) == {"second"}


def test_a_place_of_keys_that_is_not_under_https_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="https URL"):
        CardSigner(KeyRing.of(KEY), jku="http://keys.example/")
