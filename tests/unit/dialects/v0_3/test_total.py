"""Whatever bytes come, a 0.3 dialect answers with a call or an error of the protocol, never with an exception."""

import random
from typing import Any

import msgspec
import pytest

from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.jsonrpc import JsonRpcBinding
from dragoman.dialects.rest import RestBinding
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.dialects.v0_3.rest import Rest
from dragoman.errors import A2AError, ReplyMalformed
from tests.unit.dialects import samples
from tests.unit.dialects.test_total import mutated, mutated_bytes, mutated_json

DIALECTS: tuple[JsonRpcBinding | RestBinding, ...] = (JsonRpc(), Rest())
MUTATIONS = 5000
"""For each dialect."""

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.binding)


def valid_requests(dialect: JsonRpcBinding | RestBinding) -> list[HttpRequest]:
    return [
        dialect.encode_request(operation, samples.REQUESTS[operation], Target(tenant=tenant))
        for operation in dialect.requests
        for tenant in ("", "acme")
    ]


@each_dialect
def test_every_mutation_of_a_valid_request_has_an_answer(dialect: JsonRpcBinding | RestBinding) -> None:
    random_ = random.Random(20260301)
    valid = valid_requests(dialect)
    calls = refusals = 0
    for _ in range(MUTATIONS):
        outcome = dialect.decode_request(mutated(random_, random_.choice(valid)))
        if isinstance(outcome, Call):
            calls += 1
            msgspec.json.encode(outcome.request)
        else:
            refusals += 1
            assert_answered(dialect, outcome)
    assert calls > MUTATIONS // 20, "the mutations hardly ever leave a request valid"
    assert refusals > MUTATIONS // 5, "the mutations hardly ever break a request"


def assert_answered(dialect: JsonRpcBinding | RestBinding, refusal: Refusal) -> None:
    assert isinstance(refusal.error, A2AError)
    reply = dialect.encode_error(refusal.error, refusal.reply_to)
    assert 200 <= reply.status < 500
    body = reply.body
    if reply.headers["content-type"] == "text/event-stream":
        (event,) = EventReader().feed(body)
        body = event.data.encode()
    with pytest.raises(type(refusal.error)):
        dialect.decode_result(next(iter(dialect.requests)), HttpReply(reply.status, {}, body))


@each_dialect
def test_every_mutation_of_a_reply_is_read_or_refused(dialect: JsonRpcBinding | RestBinding) -> None:
    random_ = random.Random(20260302)
    valid: list[tuple[Any, HttpReply]] = []
    for operation in dialect.requests:
        if operation in samples.RESULTS:
            call = dialect.decode_request(dialect.encode_request(operation, samples.REQUESTS[operation], Target()))
            assert isinstance(call, Call)
            valid.append((operation, dialect.encode_result(call, samples.RESULTS[operation])))
    read = refused = 0
    for _ in range(MUTATIONS // 4):
        operation, reply = random_.choice(valid)
        mutate = random_.choice((mutated_bytes, mutated_json))
        status = random_.choice((200, 200, 200, 201, 204, 302, 400, 401, 404, 413, 500, 503))
        try:
            dialect.decode_result(operation, HttpReply(status, reply.headers, mutate(random_, reply.body)))
            read += 1
        except (A2AError, ReplyMalformed):
            refused += 1
    assert read > 100
    assert refused > 100


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"null", b"[]", b"1", b'"x"', b"{", b"\xff", b"[" * 100_000, b'{"a":' * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"message/stream","params":' + b"[" * 100_000,
        b'{"message":{"messageId":"\\ud800","role":"user","parts":[{"kind":"text","text":"x"}]}}',
        b'{"jsonrpc":"2.0","id":"\\udc00 x","method":"tasks/resubscribe","params":{"id":"\\udc00 and more text"}}',
    ],
    ids=lambda body: repr(body[:30]),
)  # fmt: skip
@each_dialect
def test_hopeless_bodies_are_refused(dialect: JsonRpcBinding | RestBinding, body: bytes) -> None:
    path = "" if dialect.binding == "JSONRPC" else "/v1/message:send"
    outcome = dialect.decode_request(HttpRequest("POST", path, "", {}, body))
    assert isinstance(outcome, Refusal)
    assert_answered(dialect, outcome)
