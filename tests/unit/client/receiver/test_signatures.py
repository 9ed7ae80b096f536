"""Notifications that are signed: by a secret that both sides have, or by a key of the agent's that is fetched."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from dragoman.client.receiver import HmacSignature, JwtSignature, Receiver
from dragoman.client.transport import HttpResponse
from dragoman.errors import ConnectFailed
from dragoman.signing.keys import SigningKey
from dragoman.signing.webhooks import Claims, Secret, audience_of, body_hash, hmac_signature, jwt
from tests.unit.client.receiver.stage import URL, Agent, headers_of, post, task, virtual

NOW = 1_000_000
BODY = b'{"task": {"id": "t-1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}'
JWKS = "https://agent.example/.well-known/jwks.json"


async def posted(receiver: Receiver, token: str, body: bytes, **headers: str) -> int:
    stated: dict[str, Any] = {"webhook_id": "t-1:1:c", "webhook_timestamp": str(NOW), **headers}
    return (await post(receiver, body, headers_of(token, **stated))).status


@virtual
async def test_what_a_shared_secret_has_signed_is_taken_and_nothing_else() -> None:
    old, new, foreign = Secret.generate(), Secret.generate(), Secret.generate()
    agent = Agent()
    receiver = agent.receiver(signature=HmacSignature(old.text, new.text, clock=lambda: NOW))
    token = await agent.watched(receiver)
    assert await posted(receiver, token, BODY) == 401
    for secret, body, expected in ((foreign, BODY, 401), (old, BODY + b" ", 401), (old, BODY, 200), (new, BODY, 200)):
        signature = hmac_signature([secret], "t-1:1:c", NOW, BODY)
        assert await posted(receiver, token, body, webhook_signature=signature) == expected
    signature = hmac_signature([old], "t-1:1:c", NOW, BODY)
    assert await posted(receiver, token, BODY, webhook_signature=signature, webhook_id="t-1:2:c") == 401
    assert await posted(receiver, token, BODY, webhook_signature=signature, webhook_timestamp=str(NOW + 1)) == 401
    assert await posted(receiver, "wrong", BODY, webhook_signature=signature) == 401


class KeySet:
    """An HTTP transport behind which there is a set of keys."""

    def __init__(self, *keys: SigningKey) -> None:
        self.keys = keys
        self.fetches = 0
        self.broken = False

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],  # noqa: ARG002 -- the protocol's
        body: bytes,  # noqa: ARG002 -- the protocol's
    ) -> AsyncGenerator[HttpResponse, None]:
        assert (method, url) == ("GET", JWKS)
        self.fetches += 1
        if self.broken:
            raise ConnectFailed("no way")
        yield _Answer(_key_set(self.keys))

    async def aclose(self) -> None:
        raise AssertionError("it is not the receiver's to close")


class _Answer:
    def __init__(self, body: bytes) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self._body = body

    async def body(self) -> AsyncIterator[bytes]:
        yield self._body


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA"])
@virtual
async def test_what_a_key_of_the_agent_has_signed_is_taken_and_a_new_key_is_fetched(algorithm: str) -> None:
    first, second = _key(algorithm, "k-1"), _key(algorithm, "k-2")
    published = KeySet(first)
    clock = [float(NOW)]
    agent = Agent()
    signature = JwtSignature(JWKS, issuer="https://agent.example", http=published, clock=lambda: clock[0])
    receiver = agent.receiver(signature=signature)
    token = await agent.watched(receiver)

    async def signed(key: SigningKey, **changes: Any) -> int:
        return await posted(receiver, token, BODY, a2a_notification_signature=_jwt(key, **changes))

    assert await signed(first) == 200
    assert await signed(first, audience="https://other.example") == 401
    assert await signed(first, issuer="https://other.example") == 401
    assert await signed(first, body_sha256=body_hash(b"other")) == 401
    assert await signed(first, id="t-1:9:c") == 401
    assert published.fetches == 1, "strangers cannot have keys fetched again and again"
    published.keys = (first, second)
    assert await signed(second) == 401
    clock[0] += 30
    assert await signed(second) == 200
    assert await signed(first) == 200
    assert published.fetches == 2
    published.broken = True
    clock[0] += 100
    assert await signed(_key(algorithm, "k-3")) == 401
    assert await signed(second) == 200
    assert published.fetches == 3


@virtual
async def test_where_keys_cannot_be_had_the_agent_is_to_come_again() -> None:
    published = KeySet(_key("ES256", "k-1"))
    published.broken = True
    agent = Agent()
    receiver = agent.receiver(signature=JwtSignature(JWKS, http=published, clock=lambda: NOW))
    token = await agent.watched(receiver)
    stated = _jwt(published.keys[0])
    assert await posted(receiver, token, BODY, a2a_notification_signature=stated) == 503
    published.broken = False
    assert await posted(receiver, token, BODY, a2a_notification_signature=stated) == 200
    assert (await post(receiver, task(), headers_of(token))).status == 401


def _key(algorithm: Any, key_id: str) -> SigningKey:
    return SigningKey.generate(algorithm, key_id=key_id)


def _key_set(keys: tuple[SigningKey, ...]) -> bytes:
    return json.dumps({"keys": [key.public_jwk() for key in keys]}).encode()


def _jwt(key: SigningKey, **changes: Any) -> str:
    claims = Claims(
        issuer="https://agent.example",
        audience=audience_of(URL),
        issued=NOW,
        expires=NOW + 300,
        id="t-1:1:c",
        task_id="t-1",
        body_sha256=body_hash(BODY),
    )
    return jwt(msgspec.structs.replace(claims, **changes), key)
