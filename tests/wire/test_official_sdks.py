"""Recorded traffic of the official SDKs: our server half reads their clients, our client half reads their servers."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman import errors, operations, types
from dragoman.dialects.base import Call, Dialect, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.card import decode_card, encode_card
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest
from dragoman.errors import A2AError
from dragoman.operations import Operation

GOLDENS = Path(__file__).parent / "goldens"
DIALECTS: dict[str, Dialect] = {"jsonrpc": JsonRpc(), "rest": Rest()}
NEGOTIATOR = Negotiator(tuple(DIALECTS.values()))

OPERATIONS: tuple[tuple[str, Operation], ...] = (
    ("push.create", operations.CREATE_PUSH_CONFIG),
    ("push.get", operations.GET_PUSH_CONFIG),
    ("push.list", operations.LIST_PUSH_CONFIGS),
    ("push.delete", operations.DELETE_PUSH_CONFIG),
    ("stream", operations.SEND_STREAMING_MESSAGE),
    ("send", operations.SEND_MESSAGE),
    ("get", operations.GET_TASK),
    ("list", operations.LIST_TASKS),
    ("cancel", operations.CANCEL_TASK),
    ("subscribe", operations.SUBSCRIBE_TO_TASK),
    ("extended_card", operations.GET_EXTENDED_AGENT_CARD),
)
"""By how the name of the exchange begins."""

FAILURES: dict[str, type[A2AError]] = {
    "error.get.unknown_task": errors.TaskNotFoundError,
    "error.cancel.unknown_task": errors.TaskNotFoundError,
    "error.cancel.completed": errors.TaskNotCancelableError,
    "error.send.to_completed": errors.UnsupportedOperationError,
    "error.stream.to_completed": errors.UnsupportedOperationError,
    "error.send.to_unknown_task": errors.TaskNotFoundError,
    "error.send.context_mismatch": errors.InvalidParamsError,
    "subscribe.terminal": errors.UnsupportedOperationError,
    "subscribe.unknown": errors.TaskNotFoundError,
    "list.bad_token": errors.InvalidParamsError,
    "push.get.deleted": errors.TaskNotFoundError,
    "push.create.unknown_task": errors.TaskNotFoundError,
}
"""What both SDKs' servers answer to their own clients."""

REFUSED: dict[str, type[A2AError]] = {
    "unknown_method": errors.MethodNotFoundError,
    "other_dialect_method": errors.MethodNotFoundError,
    "unknown_path": errors.MethodNotFoundError,
    "unknown_verb": errors.MethodNotFoundError,
    "method_not_allowed": errors.MethodNotFoundError,
    "get_on_send": errors.MethodNotFoundError,
    "method.get": errors.MethodNotFoundError,
    "invalid_params": errors.InvalidParamsError,
    "list.page_size_": errors.InvalidParamsError,
    "list.bad_page_size": errors.InvalidParamsError,
    "get.bad_history_length": errors.InvalidParamsError,
    "get.negative_history_length": errors.InvalidParamsError,
    "error.send.no_parts": errors.InvalidParamsError,
    "parse_error": errors.ParseError,
    "empty_body": errors.ParseError,
    "invalid_request": errors.InvalidRequestError,
    "batch": errors.InvalidRequestError,
    "version.99": errors.VersionNotSupportedError,
    "version.absent": errors.VersionNotSupportedError,
    "version.empty": errors.VersionNotSupportedError,
    "version.0.3": errors.VersionNotSupportedError,
    "version.garbage": errors.VersionNotSupportedError,
    "content_type.text": errors.ContentTypeNotSupportedError,
}
"""What our server half refuses, by how the name of the exchange begins; the other requests are calls."""


def exchanges(*, by: str) -> Iterator[Any]:
    for path in sorted(GOLDENS.glob("*.jsonl")):
        binding = path.stem.rsplit(".", 1)[-1]
        for line in path.read_text().splitlines():
            exchange = json.loads(line)
            if exchange["by"] == by and exchange["operation"] != "agent_card":
                yield pytest.param(binding, exchange, id=f"{path.stem}-{exchange['operation']}")


SDK = list(exchanges(by="sdk"))
RAW = list(exchanges(by="raw"))


def named(table: Any, name: str) -> Any:
    return next((value for start, value in table if name.removeprefix("error.").startswith(start)), None)


def request_of(exchange: dict[str, Any]) -> HttpRequest:
    path, _, query = exchange["path"].partition("?")
    return HttpRequest(exchange["method"], path, query, exchange["headers"], exchange["body"].encode())


def members_of(binding: str, exchange: dict[str, Any]) -> Any:
    """The request as its sender meant it, before any reading of ours."""
    body = json.loads(exchange["body"] or "{}")
    return body["params"] if binding == "jsonrpc" else body


STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def normal(value: Any) -> Any:
    """JSON without what makes no difference: empty strings and lists, false, digits after the milliseconds."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: normal(item) for name, item in members.items() if item is not False and item not in ("", [])}
    if isinstance(value, list):
        return [normal(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, str) and STAMP.fullmatch(value):
        return f"{value[:19]}.{(value[20:-1] + '000')[:3]}Z"
    return value


@pytest.mark.parametrize(("binding", "exchange"), SDK)
def test_our_server_understands_their_clients(binding: str, exchange: dict[str, Any]) -> None:
    dialect, outcome = NEGOTIATOR.decode(request_of(exchange))
    assert dialect is DIALECTS[binding]
    if exchange["operation"] == "error.send.no_parts":
        assert isinstance(outcome, Refusal)
        assert isinstance(outcome.error, errors.InvalidParamsError)
        return
    assert isinstance(outcome, Call)
    assert outcome.operation is named(OPERATIONS, exchange["operation"])
    again = dialect.decode_request(dialect.encode_request(outcome.operation, outcome.request, Target()))
    assert isinstance(again, Call)
    assert again.request == outcome.request
    if isinstance(outcome.request, types.SendMessageRequest):
        sent = members_of(binding, exchange)
        ours = members_of(binding, written(dialect, outcome))
        assert normal(ours) == normal(sent)


def written(dialect: Dialect, call: Call) -> dict[str, Any]:
    return {"body": dialect.encode_request(call.operation, call.request, Target()).body}


@pytest.mark.parametrize(("binding", "exchange"), SDK)
def test_our_client_understands_their_servers(binding: str, exchange: dict[str, Any]) -> None:
    dialect = DIALECTS[binding]
    operation = named(OPERATIONS, exchange["operation"])
    expected = FAILURES.get(exchange["operation"])
    if expected is not None:
        with pytest.raises(expected) as caught:
            dialect.decode_result(operation, HttpReply(exchange["status"], {}, exchange["answer"].encode()))
        assert type(caught.value) is expected
        assert caught.value.message in exchange["answer"]
    elif "events" in exchange:
        for data in exchange["events"]:
            check_event(dialect, operation, data)
    else:
        check_answer(dialect, operation, exchange)


def check_event(dialect: Dialect, operation: Operation, data: str) -> None:
    value = json.loads(data)
    if "error" in value:
        with pytest.raises(errors.InternalError):
            dialect.decode_event(operation, data)
        return
    event = dialect.decode_event(operation, data)
    call = Call(operation, None, types.ServiceParameters(), value.get("id"))
    (ours,) = EventReader().feed(dialect.encode_event(call, event, 7))
    assert normal(json.loads(ours.data)) == normal(value)


def check_answer(dialect: Dialect, operation: Operation, exchange: dict[str, Any]) -> None:
    reply = HttpReply(exchange["status"], {}, exchange["answer"].encode())
    value = json.loads(exchange["answer"] or "{}")
    if "error" in value:
        with pytest.raises(A2AError) as caught:
            dialect.decode_result(operation, reply)
        assert type(caught.value) in {errors.InternalError, errors.InvalidParamsError}
        return
    result = dialect.decode_result(operation, reply)
    call = Call(operation, None, types.ServiceParameters(), value.get("id"))
    ours = json.loads(dialect.encode_result(call, result).body)
    assert normal(ours) == normal(value)


@pytest.mark.parametrize(("binding", "exchange"), RAW)
def test_our_server_refuses_what_ought_to_be_refused(binding: str, exchange: dict[str, Any]) -> None:
    dialect, outcome = NEGOTIATOR.decode(request_of(exchange))
    name = exchange["operation"]
    expected = next((error for start, error in REFUSED.items() if name.startswith(start)), None)
    if name == "other_dialect_method.version_of_method":
        expected = errors.VersionNotSupportedError
    if expected is errors.ParseError and binding == "rest" and not exchange["body"]:
        expected = errors.InvalidParamsError
    if expected is None:
        assert isinstance(outcome, Call), outcome
    else:
        assert isinstance(outcome, Refusal), outcome
        assert type(outcome.error) is expected
        with pytest.raises(expected):
            dialect.decode_result(operations.GET_TASK, dialect.encode_error(outcome.error, outcome.reply_to))


@pytest.mark.parametrize(("binding", "exchange"), RAW)
def test_our_client_reads_any_answer_of_their_servers(binding: str, exchange: dict[str, Any]) -> None:
    dialect = DIALECTS[binding]
    operation = named(OPERATIONS, exchange["operation"]) or operations.GET_TASK
    reply = HttpReply(exchange["status"], {}, exchange.get("answer", "").encode())
    if exchange["status"] >= 400 or '"error"' in exchange.get("answer", ""):
        with pytest.raises(A2AError) as caught:
            dialect.decode_result(operation, reply)
        assert type(caught.value) is not errors.InternalError
    else:
        dialect.decode_result(operation, reply)


@pytest.mark.parametrize("path", sorted(GOLDENS.glob("*.jsonrpc.jsonl")), ids=lambda path: path.stem)
def test_their_cards_are_read_whole(path: Path) -> None:
    (exchange,) = [json.loads(line) for line in path.read_text().splitlines() if '"operation":"agent_card"' in line]
    card = decode_card(exchange["answer"].encode())
    assert card.name == "Golden"
    assert [interface.protocol_binding for interface in card.supported_interfaces] == ["JSONRPC", "HTTP+JSON", "GRPC"]
    assert card.security_schemes == {"bearer": types.HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT")}
    theirs, ours = json.loads(exchange["answer"]), json.loads(encode_card(card))
    assert ours.pop("securitySchemes").keys() == theirs.pop("securitySchemes").keys()
    assert normal(ours) == normal(theirs)
