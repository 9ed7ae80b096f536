"""API keys."""

from typing import Any

import pytest

from dragoman.auth import ApiKey, Credentials, hash_key, new_key
from dragoman.errors import ConfigurationError, UnauthenticatedError

FIRST, SECOND, THIRD = new_key(), new_key(), new_key()


async def who(keys: ApiKey, key: str) -> str | None:
    try:
        return (await keys.authenticate(Credentials({"x-api-key": key}))).id
    except UnauthenticatedError:
        return None


async def test_keys_are_given_as_they_are_or_hashed_one_or_several() -> None:
    keys = ApiKey({"alice": [FIRST, hash_key(SECOND)], "bob": hash_key(THIRD)})
    assert [await who(keys, key) for key in (FIRST, SECOND, THIRD)] == ["alice", "alice", "bob"]
    assert await who(keys, new_key()) is None


async def test_a_hash_is_no_key() -> None:
    keys = ApiKey({"alice": FIRST})
    assert await who(keys, hash_key(FIRST)) is None
    assert await who(keys, "") is None
    assert await who(keys, f"{FIRST}, {FIRST}") is None
    assert await who(keys, "ünï\udcff") is None


async def test_a_key_is_revoked_by_itself_or_by_its_hash() -> None:
    keys = ApiKey({"alice": [FIRST, SECOND, THIRD]})
    assert keys.revoke(FIRST)
    assert keys.revoke(hash_key(SECOND))
    assert not keys.revoke(FIRST)
    assert [await who(keys, key) for key in (FIRST, SECOND, THIRD)] == [None, None, "alice"]


async def test_a_caller_is_revoked_with_all_keys() -> None:
    keys = ApiKey({"alice": [FIRST, SECOND], "bob": THIRD})
    assert keys.revoke_caller("alice") == 2
    assert keys.revoke_caller("alice") == 0
    assert [await who(keys, key) for key in (FIRST, SECOND, THIRD)] == [None, None, "bob"]


async def test_what_is_taken_twice_counts_once() -> None:
    keys = ApiKey({"alice": [FIRST, FIRST]})
    keys.add("alice", FIRST)
    assert keys.revoke(FIRST)
    assert await who(keys, FIRST) is None


def test_no_key_is_kept_or_shown() -> None:
    keys = ApiKey({"alice": FIRST})
    assert FIRST not in f"{keys!r} {vars(keys)!r}"
    assert hash_key(FIRST) not in f"{keys!r} {vars(keys)!r}"


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({"alice": "short"}, {}),
        ({"": FIRST}, {}),
        ({"alice": FIRST, "bob": FIRST}, {}),
        ({}, {"query": "key", "cookie": "key"}),
        ({}, {"header": "not a name"}),
        ({}, {"name": ""}),
    ],
)
def test_what_cannot_work_is_refused_without_repeating_a_key(given: Any, options: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ApiKey(given, **options)
    assert FIRST not in str(caught.value)
