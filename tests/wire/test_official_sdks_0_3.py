"""Recorded traffic of the official SDKs in 0.3, their own of that line and the layers that 1.3.0 has for it."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman import errors, types
from dragoman.dialects.base import Call, HttpReply, Refusal, Target
from dragoman.dialects.card import decode_card
from dragoman.dialects.jsonrpc import JsonRpcBinding
from dragoman.dialects.rest import RestBinding
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v0_3.card import write_card
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.dialects.v0_3.rest import Rest
from dragoman.errors import A2AError
from dragoman.operations import DELETE_PUSH_CONFIG, GET_EXTENDED_AGENT_CARD, GET_TASK, Operation
from tests.wire.test_official_sdks import OPERATIONS, members_of, named, normal, request_of

GOLDENS = Path(__file__).parent / "goldens" / "0.3"
NAME = re.compile("_([a-z])")
OFFSET = re.compile(r"\d{4}-.*\+00:00")
DIALECTS: dict[str, JsonRpcBinding | RestBinding] = {"jsonrpc": JsonRpc(), "rest": Rest()}

ANSWERED: dict[str, tuple[type[Exception], ...]] = {
    "error.get.unknown_task": (errors.TaskNotFoundError,),
    "error.cancel.unknown_task": (errors.TaskNotFoundError,),
    "error.cancel.completed": (errors.TaskNotCancelableError,),
    "error.send.to_completed": (
        errors.UnsupportedOperationError,
        errors.InvalidParamsError,
        errors.InvalidRequestError,
    ),
    "error.send.to_unknown_task": (errors.TaskNotFoundError,),
    "error.send.context_mismatch": (errors.InvalidParamsError,),
    "push.create.unknown_task": (errors.TaskNotFoundError, errors.InvalidParamsError),
}
"""What the servers answer to their own clients; those of 0.3 have no error of their own for a task that is over."""

REFUSED: dict[str, type[A2AError]] = {
    "unknown_method": errors.MethodNotFoundError,
    "unknown_path": errors.MethodNotFoundError,
    "unknown_verb": errors.MethodNotFoundError,
    "method_not_allowed": errors.MethodNotFoundError,
    "get_on_send": errors.MethodNotFoundError,
    "invalid_params": errors.InvalidParamsError,
    "get.bad_history_length": errors.InvalidParamsError,
    "get.negative_history_length": errors.InvalidParamsError,
    "list.bad_page_size": errors.InvalidParamsError,
    "send.no_parts": errors.InvalidParamsError,
    "push.create.unknown": errors.InvalidParamsError,
    "parse_error": errors.ParseError,
    "invalid_request": errors.InvalidRequestError,
    "batch": errors.InvalidRequestError,
    "content_type.text": errors.ContentTypeNotSupportedError,
}
"""What our server half refuses, by how the name of the exchange begins; the other requests are calls."""


def exchanges(*, by: str) -> Iterator[Any]:
    for path in sorted(GOLDENS.glob("*.jsonl")):
        peer, _, binding = path.stem.rpartition(".")
        for line in path.read_text().splitlines():
            exchange = json.loads(line)
            if exchange["by"] == by and exchange["operation"] != "agent_card":
                yield pytest.param(peer, binding, exchange, id=f"{path.stem}-{exchange['operation']}")


SDK = list(exchanges(by="sdk"))
RAW = list(exchanges(by="raw"))
each_of_theirs = pytest.mark.parametrize(("peer", "binding", "exchange"), SDK)
each_made_by_hand = pytest.mark.parametrize(("peer", "binding", "exchange"), RAW)


@each_of_theirs
def test_our_server_understands_their_clients(peer: str, binding: str, exchange: dict[str, Any]) -> None:
    dialect = DIALECTS[binding]
    outcome = dialect.decode_request(request_of(exchange))
    if exchange["operation"] == "error.send.no_parts":
        assert isinstance(outcome, Refusal)
        assert [violation.field for violation in outcome.error.violations] == ["message.parts"]
        return
    assert isinstance(outcome, Call)
    assert outcome.operation is named(OPERATIONS, exchange["operation"])
    sent = dialect.encode_request(outcome.operation, outcome.request, Target())
    again = dialect.decode_request(sent)
    assert isinstance(again, Call)
    assert again.request == outcome.request
    if isinstance(outcome.request, types.SendMessageRequest):
        ours = members_of(binding, {"body": sent.body})
        # Whether to wait we always say, and file bytes we write as one of the two SDKs does.
        without = ("blocking", "fileWithBytes")
        assert plain(ours, without=without) == plain(members_of(binding, exchange), without=without)


def plain(value: Any, *, without: tuple[str, ...] = ()) -> Any:
    """JSON without what makes no difference: also names of the proto, and a history length of 0, which is no limit."""
    value = _in_camel_case(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        kept = {name: plain(item, without=without) for name, item in members.items() if name not in without}
        return {name: item for name, item in normal(kept).items() if (name, item) != ("historyLength", 0)}
    if isinstance(value, list):
        return [plain(item, without=without) for item in cast("Sequence[Any]", value)]
    return normal(f"{value[:-6]}Z") if isinstance(value, str) and OFFSET.fullmatch(value) else normal(value)


def _in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            NAME.sub(_upper, {"request": "message"}.get(name, name)): _in_camel_case(members[name]) for name in members
        }
    return [_in_camel_case(item) for item in cast("Sequence[Any]", value)] if isinstance(value, list) else value


def _upper(found: re.Match[str]) -> str:
    return found[1].upper()


@each_of_theirs
def test_our_client_understands_their_servers(peer: str, binding: str, exchange: dict[str, Any]) -> None:
    dialect = DIALECTS[binding]
    operation = named(OPERATIONS, exchange["operation"])
    if "events" in exchange:
        for data in exchange["events"]:
            check_event(dialect, operation, data, ("final",) if "compat" in peer else ())
    elif exchange["status"] >= 400 or '"error"' in exchange["answer"]:
        with pytest.raises(A2AError) as caught:
            dialect.decode_result(operation, HttpReply(exchange["status"], {}, exchange["answer"].encode()))
        assert type(caught.value) in ANSWERED.get(exchange["operation"], (type(caught.value),))
        assert caught.value.message in exchange["answer"]
    else:
        check_answer(dialect, operation, exchange)


def check_event(
    dialect: JsonRpcBinding | RestBinding, operation: Operation, data: str, without: tuple[str, ...]
) -> None:
    value = json.loads(data)
    if "error" in value or "code" in value:
        with pytest.raises(A2AError):
            dialect.decode_event(operation, data)
        return
    event = dialect.decode_event(operation, data)
    (ours,) = EventReader().feed(dialect.encode_event(call_of(operation, value), event, 7))
    # The layers of 1.3.0 say `final` with terminal states only; the SDKs of 0.3 also when input is required.
    assert plain(json.loads(ours.data), without=without) == plain(value, without=without)


def check_answer(dialect: JsonRpcBinding | RestBinding, operation: Operation, exchange: dict[str, Any]) -> None:
    reply = HttpReply(exchange["status"], {}, exchange["answer"].encode())
    result = dialect.decode_result(operation, reply)
    if operation is GET_EXTENDED_AGENT_CARD:
        assert result.name.startswith("Golden")
        return
    value = json.loads(exchange["answer"] or "{}")
    ours = json.loads(dialect.encode_result(call_of(operation, value), result).body)
    if operation is DELETE_PUSH_CONFIG:
        assert ours == ({"jsonrpc": "2.0", "id": value["id"], "result": None} if "jsonrpc" in value else {})
    else:
        assert plain(ours, without=("fileWithBytes",)) == plain(value, without=("fileWithBytes",))


def call_of(operation: Operation, value: dict[str, Any]) -> Call:
    return Call(operation, None, types.ServiceParameters(), value.get("id"))


@each_made_by_hand
def test_our_server_refuses_what_ought_to_be_refused(peer: str, binding: str, exchange: dict[str, Any]) -> None:
    dialect = DIALECTS[binding]
    outcome = dialect.decode_request(request_of(exchange))
    expected = next((error for start, error in REFUSED.items() if exchange["operation"].startswith(start)), None)
    if expected is None:
        assert isinstance(outcome, Call), outcome
        return
    assert isinstance(outcome, Refusal), outcome
    assert type(outcome.error) is expected
    with pytest.raises(expected):
        dialect.decode_result(GET_TASK, unframed(dialect.encode_error(outcome.error, outcome.reply_to)))


def unframed(reply: HttpReply) -> HttpReply:
    """The reply without the event that it may be: what a client hands to the dialect."""
    if reply.headers["content-type"] != "text/event-stream":
        return reply
    (event,) = EventReader().feed(reply.body)
    return HttpReply(reply.status, reply.headers, event.data.encode())


@pytest.mark.parametrize("path", sorted(GOLDENS.glob("*.jsonrpc.jsonl")), ids=lambda path: path.stem)
def test_their_cards_are_read_whole(path: Path) -> None:
    (exchange,) = [json.loads(line) for line in path.read_text().splitlines() if '"operation":"agent_card"' in line]
    card = decode_card(exchange["answer"].encode())
    assert card.name == "Golden"
    spoken = [one.protocol_binding for one in card.supported_interfaces if one.protocol_version == "0.3"]
    assert sorted(spoken) == ["GRPC", "HTTP+JSON", "JSONRPC"]
    assert card.security_schemes == {"bearer": types.HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT")}
    written = json.loads(json.dumps(write_card(card)))
    theirs = json.loads(exchange["answer"])
    if "url" not in theirs:
        return
    assert written.keys() <= theirs.keys() | {"additionalInterfaces"}
    same = written.keys() - {"additionalInterfaces", "capabilities", "protocolVersion", "securitySchemes"}
    assert normal({name: written[name] for name in same}) == normal({name: theirs[name] for name in same})
    assert written["securitySchemes"]["bearer"].items() <= theirs["securitySchemes"]["bearer"].items()
