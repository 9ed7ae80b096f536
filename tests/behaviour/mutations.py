"""Valid requests, damaged at random: in bytes, JSON, path, query and headers; in messages, frames and metadata."""

import copy
import gzip
import json
import random
import re
from collections.abc import Callable
from typing import Any, cast

from dragoman.dialects.base import HttpRequest
from tests.behaviour.cells import NO_LISTS, NO_TENANTS
from tests.behaviour.wire import Wire, message
from tests.unit.hosts.grpc.driver import framed

__all__ = ["HOOK", "damaged", "valid_requests", "well_framed"]

ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    1e308,
    "",
    "x" * 2000,
    "\u0000",
    "\ud800",
    "TASK_STATE_WORKING",
    [],
    {},
    [[[[]]]],
    {"a": {"b": {"c": {}}}},
    [None, 1, "two"],
)
BYTES = (b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\x00", b"\xff", b"\xc3", b"1e999", b"NaN", b"null")
METADATA = (
    ("content-type", "application/grpc+proto"),
    ("content-type", "application/grpc+json"),
    ("content-type", "application/grpc-web"),
    ("grpc-encoding", "snappy"),
    ("grpc-encoding", "gzip"),
    ("grpc-accept-encoding", "nothing, at, all"),
    ("grpc-timeout", "nonsense"),
    ("grpc-timeout", "5S"),
    ("grpc-timeout", "99999999H"),
    ("grpc-timeout", "-1S"),
    ("a2a-version", "0.3"),
    ("a2a-version", "1.0"),
    ("a2a-version", "9" * 500),
    ("a2a-extensions", "x" * 5000),
    ("x-a2a-extensions", ",,, ,"),
    ("traceparent", "nonsense"),
    ("anything-bin", "not base64!"),
    ("te", ""),
)
METHODS = (
    "/lf.a2a.v1.A2AService/SendMessage",
    "/a2a.v1.A2AService/SendMessage",
    "/a2a.v1.A2AService/ListTasks",
    "/a2a.v1.A2AService/TaskSubscription",
    "/lf.a2a.v1.A2AService/Nonsense",
    "/lf.a2a.v1.A2AService/",
    "/lf.a2a.v1.A2AService",
    "/a2a.v2.A2AService/SendMessage",
    "/a2a.v1.A2AService/SendMessage/more",
    "/",
    "/%00%ff",
    "/message:send",
)
HEADERS = (
    ("content-type", "text/plain"),
    ("content-type", ""),
    ("content-type", "application/json; charset=latin-1"),
    ("a2a-version", "0.3"),
    ("a2a-version", "1.0, 1.0"),
    ("a2a-version", "9" * 500),
    ("a2a-extensions", ",,, ,"),
    ("a2a-extensions", "x" * 5000),
    ("accept", "text/html;q=0.1, */*;q=nonsense"),
    ("traceparent", "nonsense"),
    ("content-length", "7"),
    ("content-length", "-7"),
    ("authorization", "Bearer x"),
    ("last-event-id", "nonsense"),
)


HOOK = "http://127.0.0.1:9"
"""An address, so that no damage to it makes a name that is looked up."""


def valid_requests(wire: Wire, task_id: str) -> list[HttpRequest]:
    """One request for each operation that the cell has."""
    rich = message(
        parts=[{"text": "hi", "metadata": {"a": 1}}, {"data": {"b": [1]}}, {"raw": "AAAA", "mediaType": "a/b"}],
        metadata={"c": None},
        extensions=["https://extensions.example/1"],
        referenceTaskIds=[task_id],
    )
    configuration = {"acceptedOutputModes": ["text/plain"], "historyLength": 3, "returnImmediately": False}
    push = {"taskId": task_id, "id": "c"}
    requests: list[HttpRequest] = [
        wire.request("SendMessage", {"message": message()}),
        wire.request("SendMessage", {"message": rich, "configuration": configuration, "metadata": {"d": 1}}),
        wire.request("SendStreamingMessage", {"message": rich, "configuration": configuration}),
        wire.request("GetTask", {"id": task_id, "historyLength": 2}),
        wire.request("CancelTask", {"id": task_id, "metadata": {}}),
        wire.request("SubscribeToTask", {"id": task_id}),
        wire.request("CreateTaskPushNotificationConfig", {**push, "url": HOOK}),
        wire.request("GetTaskPushNotificationConfig", push),
        wire.request("DeleteTaskPushNotificationConfig", push),
        wire.request("GetExtendedAgentCard"),
    ]
    return requests if wire.cell in NO_LISTS.cells else [*requests, _listing(wire)]


def _listing(wire: Wire) -> HttpRequest:
    filters = {
        "contextId": "c",
        "status": "TASK_STATE_COMPLETED",
        "pageSize": 3,
        "statusTimestampAfter": "2026-01-02T03:04:05.678Z",
        "includeArtifacts": True,
    }
    return wire.request("ListTasks", filters, tenant="" if wire.cell in NO_TENANTS.cells else "acme")


def damaged(request: HttpRequest, chance: random.Random) -> HttpRequest:
    """The request after one to three accidents."""
    rpc = request.headers.get("content-type", "").startswith("application/grpc")
    for _ in range(chance.randint(1, 3)):
        request = chance.choice(RPC_ACCIDENTS if rpc else ACCIDENTS)(request, chance)
    return request


def well_framed(request: HttpRequest) -> bool:
    """Whether a gRPC request is right as gRPC: one uncompressed message after its prefix, and a deadline if any."""
    body = request.body
    whole = body[:1] == b"\0" and int.from_bytes(body[1:5], "big") == len(body) - 5
    return whole and re.fullmatch(r"\d{1,8}[HMSmun]", request.headers.get("grpc-timeout", "1S")) is not None


def _in_message(request: HttpRequest, chance: random.Random) -> HttpRequest:
    """The frame is right, the message in it is not."""
    inner = _in_bytes(_with(request, body=request.body[5:]), chance)
    return _with(request, body=framed(inner.body))


def _in_field(request: HttpRequest, chance: random.Random) -> HttpRequest:
    """One more field: its number and its type at random, its content too short as often as not."""
    number, kind = chance.choice([1, 2, 3, 4, 5, 8, 99, 2**29 - 1]), chance.randrange(8)
    key, tag = bytearray(), number << 3 | kind
    while tag > 0x7F:
        key.append(tag & 0x7F | 0x80)
        tag >>= 7
    content = chance.choice([b"", b"\0", b"\x02hi", b"\x02\xff\xfe", b"\xff" * 10, b"\x7f", b"\x0a\x01x"])
    body = request.body[5:]
    at = chance.choice([0, len(body)])
    return _with(request, body=framed(body[:at] + bytes([*key, tag]) + content + body[at:]))


def _in_frame(request: HttpRequest, chance: random.Random) -> HttpRequest:
    body = request.body
    match chance.randrange(5):
        case 0:
            body = bytes([chance.choice([1, 2, 255])]) + body[1:]
        case 1:
            body = body[:1] + chance.choice([0, 1, len(body), 2**31, 2**32 - 1]).to_bytes(4, "big") + body[5:]
        case 2:
            body = body[: chance.randrange(len(body) + 1)]
        case 3:
            body += body
        case _:
            packed = gzip.compress(body[5:])[: chance.choice([None, 3, -1])]
            return _with(request, body=framed(packed, 1), headers={**request.headers, "grpc-encoding": "gzip"})
    return _with(request, body=body)


def _in_metadata(request: HttpRequest, chance: random.Random) -> HttpRequest:
    name, value = chance.choice(METADATA)
    return _with(request, headers={**request.headers, name: value})


def _in_method(request: HttpRequest, chance: random.Random) -> HttpRequest:
    return _with(request, path=chance.choice(METHODS))


def _in_bytes(request: HttpRequest, chance: random.Random) -> HttpRequest:
    body = bytearray(request.body)
    at = chance.randint(0, len(body))
    match chance.randrange(5):
        case 0:
            body[at:at] = chance.choice(BYTES)
        case 1:
            del body[at : at + chance.randint(1, 20)]
        case 2:
            body[at : at + 1] = bytes([chance.randrange(256)])
        case 3:
            del body[at:]
        case _:
            body += body[at:]
    return _with(request, body=bytes(body))


def _in_json(request: HttpRequest, chance: random.Random) -> HttpRequest:
    try:
        value = json.loads(request.body)
    except ValueError:
        return request
    places = list(_places(value))
    if not places:
        return _with(request, body=json.dumps(chance.choice(ODD)).encode())
    holder, key = chance.choice(places)
    match chance.randrange(4):
        case 0:
            del holder[key]
        case 1:
            holder[key] = copy.deepcopy(chance.choice(places)[0])
        case _:
            holder[key] = copy.deepcopy(chance.choice(ODD))
    return _with(request, body=json.dumps(value).encode())


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Everything in the value that can be replaced: what holds it, and under which key."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        items: list[Any] = cast("Any", value)
        pairs = list(enumerate(items))
    holder: Any = cast("Any", value)
    return [(holder, key) for key, _ in pairs] + [place for _, inner in pairs for place in _places(inner)]


def _in_path(request: HttpRequest, chance: random.Random) -> HttpRequest:
    path = request.path
    at = chance.randint(1, len(path))
    odd = chance.choice(
        ["/", "//", ":", "%", "%00", "%ff", "%2F", "..", "/tasks/", ":cancel", "ü", "?", "#", "x" * 500]
    )
    cut = path[:at] if chance.random() < 0.3 else path[:at] + odd + path[at:]
    return _with(request, path=cut.encode("ascii", "ignore").decode())


def _in_query(request: HttpRequest, chance: random.Random) -> HttpRequest:
    odd = [
        "&",
        "=",
        "pageSize=x",
        "status=1",
        "includeArtifacts=",
        "A2A-Version=7",
        "%ff=%00",
        "pageToken=AAAA",
        "a" * 900,
    ]
    at = chance.randint(0, len(request.query))
    return _with(request, query=request.query[:at] + chance.choice(odd) + request.query[at:])


def _in_headers(request: HttpRequest, chance: random.Random) -> HttpRequest:
    name, value = chance.choice(HEADERS)
    headers = {**request.headers, name: value}
    if chance.random() < 0.3:
        del headers[chance.choice(sorted(headers))]
    return _with(request, headers=headers)


def _in_verb(request: HttpRequest, chance: random.Random) -> HttpRequest:
    return _with(request, method=chance.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW"]))


def _with(request: HttpRequest, **members: Any) -> HttpRequest:
    given = {name: getattr(request, name) for name in ("method", "path", "query", "headers", "body")}
    return HttpRequest(**{**given, **members})


ACCIDENTS: tuple[Callable[[HttpRequest, random.Random], HttpRequest], ...] = (
    _in_bytes,
    _in_json,
    _in_json,
    _in_json,
    _in_path,
    _in_query,
    _in_headers,
    _in_verb,
)
RPC_ACCIDENTS: tuple[Callable[[HttpRequest, random.Random], HttpRequest], ...] = (
    _in_message,
    _in_message,
    _in_field,
    _in_field,
    _in_frame,
    _in_metadata,
    _in_method,
)
