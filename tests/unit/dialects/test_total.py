"""Whatever bytes come, a dialect answers with a call or with an error of the protocol, never with an exception.

The mutations are made from a fixed seed, so that a failure comes again.
"""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec
import pytest

from dragoman.dialects.base import Call, Dialect, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.draft.jsonrpc import JsonRpc as DraftJsonRpc
from dragoman.dialects.draft.rest import Rest as DraftRest
from dragoman.dialects.every import every_dialect
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest
from dragoman.errors import A2AError, ReplyMalformed
from dragoman.operations import OPERATIONS
from tests.unit.dialects import samples

DIALECTS: tuple[Dialect, ...] = (JsonRpc(), Rest(), DraftJsonRpc(), DraftRest())
NEGOTIATOR = Negotiator(every_dialect())
MUTATIONS = 7000
"""For each dialect."""

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**31, 2**64, 10**30, "", "x", "\x00", "é", [], {}, [[]], [None], {"": {}},
    {"text": None}, "2026-13-45T99:99:99Z", "0001-01-01T00:00:00+14:00", "====", "ROLE_USER", "task_id",
)  # fmt: skip
TOKENS = (
    b"null", b"{", b"}", b"[", b"]", b'"', b"\\ud800", b"\\udc00", b"\xff\xfe", b"\x00", b"1e999", b"-", b"NaN",
    b"9" * 50, b"[" * 2000, b'{"a":' * 500, b"\xed\xa0\x80", b'"data":null,', b'"task_id":1,', b"\xef\xbb\xbf",
)  # fmt: skip
PATHS = ("/", "", "//", "/tasks/%ff", "/%e2%82/tasks", "/tasks/a%2Fb:cancel", "/a/b/c/d/e/f/g", "/:cancel", "/tasks/")
QUERIES = (
    "", "%ff=1", "pageSize=a", "pageSize=1.0", "includeArtifacts=yes", "historyLength=-1", "&&&=&=", "status=99",
    "a=1&" * 300, "statusTimestampAfter=999999999999999", "A2A-Version=1.0", "tenant=%00", "pageSize=٣",
)  # fmt: skip


def mutated_bytes(random_: random.Random, body: bytes) -> bytes:
    data = bytearray(body)
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(data) + 1)
        match random_.randrange(5):
            case 0 if at < len(data):
                data[at] = random_.randrange(256)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = random_.choice(TOKENS)
            case 3:
                del data[at : at + random_.randint(1, 9)]
            case _:
                data[at:at] = data[random_.randrange(len(data) + 1) :][:20]
    return bytes(data)


def holders(value: Any) -> Iterator[dict[str, Any] | list[Any]]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        yield members
        for item in members.values():
            yield from holders(item)
    elif isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] -- any JSON
        yield items
        for item in items:
            yield from holders(item)


def mutated_json(random_: random.Random, body: bytes) -> bytes:
    value = msgspec.json.decode(body or b"{}")
    for _ in range(random_.randint(1, 3)):
        nowhere: dict[str, Any] = {}
        holder = random_.choice(list(holders(value)) or [nowhere])
        odd = copy.deepcopy(random_.choice((*ODD, deep(random_.choice((50, 99, 101, 120))))))
        keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        match random_.randrange(4):
            case 0 if keys:
                del holder[random_.choice(keys)]
            case 1 if keys:
                holder[random_.choice(keys)] = odd
            case 2 if isinstance(holder, dict) and keys:
                key = random_.choice(keys)
                holder["".join(f"_{c.lower()}" if c.isupper() else c for c in key)] = holder.pop(key)
            case _ if isinstance(holder, dict):
                holder[random_.choice(("kind", "final", "data", "raw", "url", "x_y", "taskId", "tenant"))] = odd
            case _:
                holder.append(odd)
    return msgspec.json.encode(value)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if levels % 2 else [value]
    return value


def mutated(random_: random.Random, request: HttpRequest) -> HttpRequest:
    mutate: Callable[[random.Random, bytes], bytes] = random_.choice((mutated_bytes, mutated_json))
    changed = msgspec.structs.replace(request, body=mutate(random_, request.body))
    if random_.random() < 0.1:
        changed = msgspec.structs.replace(changed, path=random_.choice(PATHS))
    if random_.random() < 0.2:
        changed = msgspec.structs.replace(changed, query=random_.choice(QUERIES))
    if random_.random() < 0.1:
        changed = msgspec.structs.replace(changed, method=random_.choice(("GET", "POST", "DELETE", "PATCH", "")))
    if random_.random() < 0.1:
        headers = {**changed.headers, "content-type": random_.choice(("text/plain", "", ";", "application/a2a+json;x"))}
        headers["a2a-version"] = random_.choice(("1.0", "1.0.9", "2", "٣.0", "1.0 ", "0.3", ""))
        changed = msgspec.structs.replace(changed, headers=headers)
    return changed


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.key)
def test_every_mutation_of_a_valid_request_has_an_answer(dialect: Dialect) -> None:
    random_ = random.Random(20260131)
    valid = [
        dialect.encode_request(operation, samples.REQUESTS[operation], Target(tenant=tenant))
        for operation in OPERATIONS
        for tenant in ("", "acme")
    ]
    calls = refusals = 0
    for _ in range(MUTATIONS):
        request = mutated(random_, random_.choice(valid))
        chosen, outcome = NEGOTIATOR.decode(request)
        if isinstance(outcome, Call):
            calls += 1
            msgspec.json.encode(outcome.request)
        else:
            refusals += 1
            assert_answered(chosen, outcome)
    assert calls > MUTATIONS // 20, "the mutations hardly ever leave a request valid"
    assert refusals > MUTATIONS // 5, "the mutations hardly ever break a request"


def assert_answered(dialect: Dialect, refusal: Refusal) -> None:
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, A2AError)
    reply = dialect.encode_error(refusal.error, refusal.reply_to)
    assert 200 <= reply.status < 500
    msgspec.json.decode(reply.body)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.key)
def test_every_mutation_of_a_reply_is_read_or_refused(dialect: Dialect) -> None:
    random_ = random.Random(20260201)
    valid: list[tuple[Any, HttpReply]] = []
    for operation, result in samples.RESULTS.items():
        sent = dialect.encode_request(operation, samples.REQUESTS[operation], Target())
        call = dialect.decode_request(sent)
        assert isinstance(call, Call)
        valid.append((operation, dialect.encode_result(call, result)))
    read = refused = 0
    for _ in range(MUTATIONS // 4):
        operation, reply = random_.choice(valid)
        mutate = random_.choice((mutated_bytes, mutated_json))
        status = random_.choice((200, 200, 200, 201, 204, 302, 400, 401, 404, 413, 500, 503))
        broken = HttpReply(status, reply.headers, mutate(random_, reply.body))
        try:
            dialect.decode_result(operation, broken)
            read += 1
        except (A2AError, ReplyMalformed):
            refused += 1
    assert read > 100
    assert refused > 100


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"null", b"[]", b"1", b'"x"', b"{", b"\xff", b"\x00" * 100, b"[" * 100_000, b'{"a":' * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":' + b"[" * 100_000,
        b'{"message":{"messageId":"\\ud800","role":"ROLE_USER","parts":[{"text":"x"}]}}',
        b'{"message":{"messageId":"\\udc00 ","role":"ROLE_USER","parts":[{"text":"\\udfff tail"}]}}',
        b'{"jsonrpc":"2.0","id":"\\udc00 x","method":"GetTask","params":{"id":"\\udc00 and more text"}}',
    ],
    ids=lambda body: repr(body[:30]),
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/message:send"])
def test_hopeless_bodies_are_refused(body: bytes, path: str) -> None:
    dialect, outcome = NEGOTIATOR.decode(HttpRequest("POST", path, "", {"a2a-version": "1.0"}, body))
    assert isinstance(outcome, Refusal)
    assert_answered(dialect, outcome)
