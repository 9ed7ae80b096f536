"""Recorded gRPC of the official SDKs: our server half reads their clients, our client half reads their servers.

What they say over gRPC is also held against what the same SDK says over JSON-RPC in the same situation.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
import pybase64
import pytest
from google.protobuf import json_format

from dragoman import _proto, errors, operations, types
from dragoman.dialects.base import Call, Dialect, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.grpc import GrpcBinding, error_headers
from dragoman.dialects.v0_3 import grpc as v0_3
from dragoman.dialects.v0_3.jsonrpc import JsonRpc as OlderJsonRpc
from dragoman.dialects.v1_0 import grpc as v1_0
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.errors import A2AError

GOLDENS = Path(__file__).parent / "goldens"
NEW, OLD = v1_0.Grpc(), v0_3.Grpc()
PEERS: dict[str, tuple[GrpcBinding, Dialect, Path]] = {
    path.stem: (
        (NEW, JsonRpc(), GOLDENS / f"{path.stem}.jsonrpc.jsonl")
        if path.stem.endswith("1.3.0")
        else (OLD, OlderJsonRpc(), GOLDENS / "0.3" / f"{path.stem}.jsonrpc.jsonl")
    )
    for path in sorted((GOLDENS / "grpc").glob("*.jsonl"))
}

FAILURES: dict[str, type[A2AError]] = {
    "error.get.unknown_task": errors.TaskNotFoundError,
    "error.cancel.unknown_task": errors.TaskNotFoundError,
    "error.cancel.completed": errors.TaskNotCancelableError,
    "error.send.to_unknown_task": errors.TaskNotFoundError,
    "subscribe.unknown": errors.TaskNotFoundError,
    "list.bad_token": errors.InvalidParamsError,
    "push.create.unknown_task": errors.TaskNotFoundError,
    "get.unknown_task": errors.TaskNotFoundError,
    "unknown_method": errors.MethodNotFoundError,
}
"""What servers of all peers that fail there mean."""

REFUSED: dict[str, type[A2AError]] = {
    "error.send.no_parts": errors.InvalidParamsError,
    "unknown_method": errors.MethodNotFoundError,
    "invalid_params.garbage": errors.ParseError,
    "invalid_params": errors.InvalidParamsError,
    "get.empty": errors.InvalidParamsError,
    "get.bad_name": errors.InvalidParamsError,
}
"""What our server half refuses, by how the name of the exchange begins; the other requests are calls."""

RAW_FILES = ("a2a-js-0.3.14-send.file_bytes", "a2a-js-1.3.0-compat03-send.file_bytes")
"""Files whose bytes stand there as they are; ours stand there as base64."""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        yield json.loads(line)


EXCHANGES = [
    pytest.param(peer, exchange, id=f"{peer}-{number}-{exchange['operation']}")
    for peer in PEERS
    for number, exchange in enumerate(lines(GOLDENS / "grpc" / f"{peer}.jsonl"), 1)
]
each_exchange = pytest.mark.parametrize(("peer", "exchange"), EXCHANGES)


def request_of(exchange: dict[str, Any]) -> HttpRequest:
    return HttpRequest("POST", exchange["method"], "", exchange["metadata"], pybase64.b64decode(exchange["message"]))


def normal(value: Any) -> Any:
    """JSON without what makes no difference: empty members, digits of times after the milliseconds; that an answer is
    waited for, which 0.3 means without saying it too; `final`, which the layers for 0.3 leave out for input-required.
    """
    if isinstance(value, dict):
        members = {name: normal(item) for name, item in cast("dict[str, Any]", value).items() if name != "final"}
        if members.get("configuration") == {"blocking": True}:
            del members["configuration"]
        return {name: item for name, item in members.items() if item not in ("", [], {}, False)}
    if isinstance(value, list):
        return [normal(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, str):
        return re.sub(r"(T\d\d:\d\d:\d\d)(?:\.(\d{3})\d*)?Z", lambda match: f"{match[1]}.{match[2] or '000'}Z", value)
    return value


def shown(message: str, body: bytes) -> Any:
    return normal(json_format.MessageToDict(_proto.parse(message, body)))


@each_exchange
def test_our_server_understands_their_clients(peer: str, exchange: dict[str, Any]) -> None:
    dialect = PEERS[peer][0]
    sent = request_of(exchange)
    outcome = dialect.decode_request(sent)
    expected = next((error for start, error in REFUSED.items() if exchange["operation"].startswith(start)), None)
    if exchange["operation"] == "list" and dialect is OLD:
        expected = errors.MethodNotFoundError
    if exchange["operation"] == "push.list" and exchange["by"] == "raw" and dialect is NEW:
        expected = errors.InvalidParamsError
    if expected is not None:
        assert isinstance(outcome, Refusal)
        assert type(outcome.error) is expected
        return
    assert isinstance(outcome, Call), outcome
    assert outcome.operation is dialect.paths[exchange["method"]]
    again = dialect.encode_request(outcome.operation, outcome.request, Target(parameters=outcome.parameters))
    assert again.path == sent.path
    message = dialect.requests[outcome.operation].message
    same = shown(message, again.body) == shown(message, sent.body)
    assert same != (f"{peer}-{exchange['operation']}" in RAW_FILES)


@each_exchange
def test_our_client_understands_their_servers(peer: str, exchange: dict[str, Any]) -> None:
    dialect = PEERS[peer][0]
    operation = dialect.paths.get(exchange["method"], operations.GET_TASK)
    answers = [pybase64.b64decode(answer) for answer in exchange["answers"]]
    call = Call(operation, None, types.ServiceParameters())
    for body in answers if operation.streams else ():
        event = dialect.decode_event(operation, body)
        check_same(dialect, call, dialect.encode_event(call, event, None), body)
    details = pybase64.b64decode(exchange.get("details", ""))
    headers = error_headers(exchange["status"], exchange["text"], details)
    if exchange["status"]:
        with pytest.raises(A2AError) as caught:
            dialect.decode_result(operation, HttpReply(200, headers))
        expected = FAILURES.get(exchange["operation"])
        assert expected is None or type(caught.value) is expected
        assert caught.value.message in exchange["text"]
    elif not operation.streams:
        result = dialect.decode_result(operation, HttpReply(200, headers, answers[0]))
        if f"{peer}-{exchange['operation']}" in RAW_FILES:
            assert b"AAFnb2xkZW7/" in dialect.encode_result(call, result).body
        else:
            check_same(dialect, call, dialect.encode_result(call, result).body, answers[0])


def check_same(dialect: GrpcBinding, call: Call, ours: bytes, theirs: bytes) -> None:
    """Both say the same, but cards name only interfaces of their version."""
    codec = dialect.results[call.operation]
    if codec is None:
        assert ours == theirs == b""
        return
    one, other = shown(codec.message, ours), shown(codec.message, theirs)
    if call.operation is operations.GET_EXTENDED_AGENT_CARD and dialect is OLD:
        for card in (one, other):
            card.pop("additionalInterfaces")
            card["protocolVersion"] = card["protocolVersion"][:3]
    assert one == other


# --- What is said over gRPC is what is said over JSON-RPC.

UNSAID = {"timestamp", "message_id", "total_size", "page_token", "next_page_token", "tasks"}
"""What differs from run to run: times, and what other tasks there are."""
UNSAID_IN_0_3 = {*UNSAID, "history", "reference_task_ids", "icon_url", "filename", "metadata", "name"}
"""And what single peers leave out in one binding alone: names of files, metadata of parts, parts of the history."""
RACES = {"a2a-js-0.3.14": {"send.nonblocking", "send.nonblocking.hold", "send.nonblocking.for_subscribe"}}
"""Here the state that is answered depends on who was faster."""
NO_CONFIG_ID = "push.get.no_config_id"
"""Over gRPC, clients of 0.3 make an identifier of the one that they do not have (`None`, `undefined`)."""
OF_RUN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|localhost:\d+")


def meaning(value: Any, unsaid: set[str]) -> Any:
    """A canonical value as JSON without what says nothing here."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: meaning(item, unsaid) for name, item in members.items() if name not in unsaid}
    if isinstance(value, list | tuple):
        return [meaning(item, unsaid) for item in cast("Sequence[Any]", value)]
    return OF_RUN.sub("<of this run>", value) if isinstance(value, str) else value


def same_meaning(dialect: GrpcBinding, ours: Any, theirs: Any) -> bool:
    unsaid = UNSAID if dialect is NEW else UNSAID_IN_0_3
    return bool(meaning(msgspec.to_builtins(ours), unsaid) == meaning(msgspec.to_builtins(theirs), unsaid))


@cache
def twins(peer: str) -> dict[str, dict[str, Any]]:
    """The exchanges over JSON-RPC by operation, where the same name does not stand twice."""
    return {twin["operation"]: twin for twin in lines(PEERS[peer][2]) if twin["by"] == "sdk"}


def with_twin(*, answered: bool) -> Iterator[Any]:
    """The exchanges of SDKs' own clients that are there over JSON-RPC too; if `answered`, with a result to compare."""
    for parameters in EXCHANGES:
        peer, exchange = cast("tuple[str, dict[str, Any]]", parameters.values)
        name = exchange["operation"]
        twin = twins(peer).get(name)
        if twin is None or exchange["by"] != "sdk" or name == NO_CONFIG_ID:
            continue
        operation = PEERS[peer][0].paths[exchange["method"]]
        if not answered or not (operation.streams or exchange["status"] or name in RACES.get(peer, ())):
            yield pytest.param(peer, exchange, twin, id=parameters.id)


@pytest.mark.parametrize(("peer", "exchange", "twin"), list(with_twin(answered=False)))
def test_a_request_over_json_rpc_means_the_same(peer: str, exchange: dict[str, Any], twin: dict[str, Any]) -> None:
    dialect, json_rpc, _ = PEERS[peer]
    ours = dialect.decode_request(request_of(exchange))
    theirs = json_rpc.decode_request(HttpRequest("POST", "/", "", twin["headers"], twin["body"].encode()))
    if isinstance(theirs, Refusal):
        assert isinstance(ours, Refusal)
        assert type(ours.error) is type(theirs.error)
        return
    assert isinstance(ours, Call)
    assert ours.operation is theirs.operation
    assert ours.parameters == theirs.parameters
    assert same_meaning(dialect, ours.request, theirs.request)


@pytest.mark.parametrize(("peer", "exchange", "twin"), list(with_twin(answered=True)))
def test_an_answer_over_json_rpc_means_the_same(peer: str, exchange: dict[str, Any], twin: dict[str, Any]) -> None:
    dialect, json_rpc, _ = PEERS[peer]
    operation = dialect.paths[exchange["method"]]
    body = pybase64.b64decode(exchange["answers"][0])
    ours = dialect.decode_result(operation, HttpReply(200, error_headers(0, ""), body))
    theirs = json_rpc.decode_result(operation, HttpReply(200, {}, twin["answer"].encode()))
    assert same_meaning(dialect, ours, theirs)
