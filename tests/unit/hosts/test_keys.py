"""The public keys at their well-known address."""

import pytest

from dragoman.hosts.keys import KeyPublisher

KEYS = b'{"keys":[]}'


def test_keys_are_a_key_set_that_may_be_kept() -> None:
    reply = KeyPublisher(lambda: KEYS).reply("GET", {})
    assert (reply.status, reply.body) == (200, KEYS)
    assert reply.headers["content-type"] == "application/jwk-set+json"
    assert reply.headers["cache-control"] == "public, max-age=300"


def test_keys_that_the_caller_has_are_not_sent_again() -> None:
    current = [KEYS]
    publisher = KeyPublisher(lambda: current[0])
    etag = publisher.reply("GET", {}).headers["etag"]
    again = publisher.reply("GET", {"if-none-match": f'"other", W/{etag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    current[0] = b'{"keys":[{}]}'
    assert publisher.reply("GET", {"if-none-match": etag}).status == 200, "keys have followed each other"


def test_head_tells_the_length_and_sends_nothing() -> None:
    reply = KeyPublisher(lambda: KEYS).reply("HEAD", {})
    assert (reply.status, reply.headers["content-length"], reply.body) == (200, str(len(KEYS)), b"")


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS"])
def test_keys_are_only_read(method: str) -> None:
    reply = KeyPublisher(lambda: KEYS).reply(method, {})
    assert (reply.status, reply.headers) == (405, {"allow": "GET, HEAD"})


def test_without_public_keys_nothing_is_there() -> None:
    reply = KeyPublisher(lambda: None).reply("GET", {})
    assert (reply.status, reply.body) == (404, b"")
