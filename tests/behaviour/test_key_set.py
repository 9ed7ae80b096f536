"""The keys with which an agent's deliveries are verified, where everybody finds them."""

import json

import pytest

from dragoman import Agent
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.push.options import PushOptions
from dragoman.push.signer import HmacSigner, JwtSigner, WebhookSigner
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.signing.webhooks import Secret
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import echo
from tests.behaviour.wire import Start
from tests.unit.hosts.http1.serving import body_of, request, serving, status_of

PLACE = "/.well-known/jwks.json"
OLD, NEW = SigningKey.generate("EdDSA"), SigningKey.generate("ES256")


def signing(signer: WebhookSigner | None) -> Agent:
    return echo(push=PushOptions(signing=signer))


async def fetch(bridge: AsgiBridge, method: str = "GET", **headers: str) -> HttpReply:
    return await bridge.send(HttpRequest(method, PLACE, "", {"host": "agent.example", **headers}))


async def test_while_keys_follow_each_other_both_are_there(started: Start) -> None:
    ring = KeyRing.of(OLD).rotated(NEW)
    bridge = await started(signing(JwtSigner(ring, "https://agent.example")).asgi())
    reply = await fetch(bridge)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/jwk-set+json")
    assert "max-age=300" in reply.headers["cache-control"]
    assert json.loads(reply.body) == {"keys": [OLD.public_jwk(), NEW.public_jwk()]}
    again = await fetch(bridge, **{"if-none-match": reply.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert (await fetch(bridge, "HEAD")).headers["content-length"] == str(len(reply.body))
    assert (await fetch(bridge, "POST")).status == 405


async def test_the_agents_own_server_has_them_too() -> None:
    application = signing(JwtSigner(KeyRing.of(OLD), "https://agent.example")).asgi()
    async with serving(application) as served:
        reply = await served.said(request(PLACE, b"", "GET", "connection: close"))
    assert status_of(reply) == 200
    assert json.loads(body_of(reply)) == {"keys": [OLD.public_jwk()]}


@pytest.mark.parametrize("signer", [None, HmacSigner(Secret.generate().text)], ids=["none", "hmac"])
async def test_where_there_are_no_public_keys_there_is_nothing(started: Start, signer: WebhookSigner | None) -> None:
    reply = await fetch(await started(signing(signer).asgi()))
    assert reply.status == 404
