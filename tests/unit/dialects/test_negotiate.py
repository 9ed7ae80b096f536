"""Which dialect answers: one test for each row of the decision, and what is refused in it."""

from typing import Any

import msgspec
import pytest

from dragoman import errors, operations
from dragoman.dialects.base import Call, Dialect, HttpRequest, Refusal, Target
from dragoman.dialects.every import every_dialect
from dragoman.dialects.negotiate import Negotiator
from tests.unit.dialects import samples

DIALECTS = {dialect.key: dialect for dialect in every_dialect()}
STRICT = Negotiator(every_dialect())
BY_GRAMMAR = Negotiator(every_dialect(), missing_version="by-grammar")
SUPPORTED = {"supportedVersions": "1.0, 0.3"}

FINAL_MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
DRAFT_MESSAGE: dict[str, Any] = {"messageId": "m", "role": "user", "parts": [{"text": "x"}]}
OLD_MESSAGE: dict[str, Any] = {"kind": "message", **DRAFT_MESSAGE, "parts": [{"kind": "text", "text": "x"}]}
PROTO_MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "x"}]}


def headers_of(version: str | None) -> dict[str, str]:
    return {} if version is None else {"a2a-version": version}


def rpc(method: str, params: dict[str, Any] | None = None, version: str | None = "1.0", query: str = "") -> HttpRequest:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
    return HttpRequest("POST", "/", query, headers_of(version), msgspec.json.encode(body))


def rest(
    path: str, body: dict[str, Any] | None = None, version: str | None = "1.0", query: str = "", verb: str = ""
) -> HttpRequest:
    encoded = b"" if body is None else msgspec.json.encode(body)
    return HttpRequest(verb or ("POST" if body is not None else "GET"), path, query, headers_of(version), encoded)


def grpc(path: str, version: str | None = None) -> HttpRequest:
    return HttpRequest("POST", path, "", {"content-type": "application/grpc+proto", **headers_of(version)}, b"")


def send(message: dict[str, Any], version: str | None = "1.0", **more: Any) -> HttpRequest:
    return rpc("SendMessage", {"message": message, **more}, version)


def key_and_outcome(request: HttpRequest, negotiator: Negotiator = STRICT) -> tuple[str, str]:
    """The dialect that answers, and whether it makes a call of it or which error."""
    dialect, outcome = negotiator.decode(request)
    assert dialect is negotiator.decode(request)[0]
    return dialect.key, "call" if isinstance(outcome, Call) else outcome.error.reason


CALL, VERSION, UNKNOWN = "call", "VERSION_NOT_SUPPORTED", "METHOD_NOT_FOUND"
CONFIG: dict[str, Any] = {"taskId": "t", "url": "https://e.com"}

ROWS: list[tuple[str, HttpRequest, str, str]] = [
    ("a method of 0.3 without a version", rpc("tasks/get", {"id": "t"}, None), "0.3/JSONRPC", CALL),
    ("a method of 0.3 in 0.3", rpc("tasks/get", {"id": "t"}, "0.3.0"), "0.3/JSONRPC", CALL),
    ("a method of 0.3 in 1.0", rpc("tasks/get", {"id": "t"}, "1.0"), "0.3/JSONRPC", VERSION),
    (
        "a method of 0.3 in 1.0, spelled as 1.0",
        rpc("message/send", {"message": FINAL_MESSAGE}),
        "0.3/JSONRPC",
        VERSION,
    ),
    ("a method of 0.3 in 99.0", rpc("tasks/get", {"id": "t"}, "99.0"), "0.3/JSONRPC", VERSION),
    ("a method of the draft alone", rpc("SetTaskPushNotificationConfig", CONFIG), "draft/JSONRPC", CALL),
    ("the singular of the draft", rpc("ListTaskPushNotificationConfig", {"taskId": "t"}), "draft/JSONRPC", CALL),
    (
        "a method of the draft without a version",
        rpc("SetTaskPushNotificationConfig", CONFIG, None),
        "draft/JSONRPC",
        VERSION,
    ),
    ("a message of 1.0", send(FINAL_MESSAGE), "1.0/JSONRPC", CALL),
    ("a message of 1.0 in 1.0.7", send(FINAL_MESSAGE, "1.0.7"), "1.0/JSONRPC", CALL),
    ("a message of 1.0 without a version", send(FINAL_MESSAGE, None), "1.0/JSONRPC", VERSION),
    ("a message of 1.0 in 0.3", send(FINAL_MESSAGE, "0.3"), "1.0/JSONRPC", VERSION),
    ("a message of 1.0 in 99.0", send(FINAL_MESSAGE, "99.0"), "1.0/JSONRPC", VERSION),
    ("a message of the draft", send(DRAFT_MESSAGE), "draft/JSONRPC", CALL),
    (
        "a message of the draft that quotes 1.0",
        send({**DRAFT_MESSAGE, "parts": [{"text": 'say "ROLE_USER", or "role":"ROLE_USER"'}]}),
        "draft/JSONRPC",
        CALL,
    ),
    ("a message of the draft without a version", send(DRAFT_MESSAGE, None), "draft/JSONRPC", VERSION),
    ("a message of the draft in 99.0", send(DRAFT_MESSAGE, "99.0"), "draft/JSONRPC", VERSION),
    ("a message of 0.3 under a method of 1.0", send(OLD_MESSAGE), "1.0/JSONRPC", CALL),
    (
        "a configuration of the draft",
        rpc("GetTaskPushNotificationConfig", {"taskId": "t", "configId": "c"}),
        "draft/JSONRPC",
        CALL,
    ),
    ("a configuration of 1.0", rpc("GetTaskPushNotificationConfig", {"taskId": "t", "id": "c"}), "1.0/JSONRPC", CALL),
    ("a list of the draft", rpc("ListTasks", {"status": "working"}), "draft/JSONRPC", CALL),
    ("a list of the draft in digits", rpc("ListTasks", {"lastUpdatedAfter": 5}), "draft/JSONRPC", CALL),
    ("a list of 1.0", rpc("ListTasks", {"status": "TASK_STATE_WORKING"}), "1.0/JSONRPC", CALL),
    ("a list that could be of either", rpc("ListTasks", {"pageSize": 5}), "1.0/JSONRPC", CALL),
    ("what looks the same in both", rpc("GetTask", {"id": "t"}), "1.0/JSONRPC", CALL),
    ("no method that there is, in 1.0", rpc("Nonsense"), "1.0/JSONRPC", UNKNOWN),
    ("no method that there is, without a version", rpc("Nonsense", version=None), "0.3/JSONRPC", UNKNOWN),
    ("no method that there is, in 99.0", rpc("Nonsense", version="99.0"), "1.0/JSONRPC", VERSION),
    ("no JSON, in 1.0", HttpRequest("POST", "/", "", headers_of("1.0"), b"{"), "1.0/JSONRPC", "PARSE_ERROR"),
    ("no JSON, without a version", HttpRequest("POST", "", "", {}, b"{"), "0.3/JSONRPC", "PARSE_ERROR"),
    ("a batch", HttpRequest("POST", "/", "", headers_of("1.0"), b"[]"), "1.0/JSONRPC", "INVALID_REQUEST"),
    ("the card of 0.3", rest("/v1/card", version=None), "0.3/HTTP+JSON", CALL),
    ("the card of 0.3 in 1.0", rest("/v1/card"), "0.3/HTTP+JSON", VERSION),
    ("the card of the draft", rest("/v1/extendedAgentCard"), "draft/HTTP+JSON", CALL),
    (
        "the card of the draft without a version",
        rest("/v1/extendedAgentCard", version=None),
        "draft/HTTP+JSON",
        VERSION,
    ),
    ("v1 without a version", rest("/v1/tasks/t", version=None), "0.3/HTTP+JSON", CALL),
    ("v1 in 0.3", rest("/v1/tasks/t", version="0.3"), "0.3/HTTP+JSON", CALL),
    ("v1 in 1.0", rest("/v1/tasks/t"), "draft/HTTP+JSON", CALL),
    ("v1 in 99.0", rest("/v1/tasks/t", version="99.0"), "draft/HTTP+JSON", VERSION),
    ("v1 behind a tenant, without a version", rest("/acme/v1/tasks/t", version=None), "0.3/HTTP+JSON", CALL),
    ("v1 behind a tenant, in 1.0", rest("/acme/v1/tasks/t"), "draft/HTTP+JSON", CALL),
    ("a message to v1, of the draft", rest("/v1/message:send", {"message": DRAFT_MESSAGE}), "draft/HTTP+JSON", CALL),
    ("a message to v1, of 1.0", rest("/v1/message:send", {"message": FINAL_MESSAGE}), "1.0/HTTP+JSON", CALL),
    ("a message to v1, of 0.3", rest("/v1/message:send", {"message": PROTO_MESSAGE}, None), "0.3/HTTP+JSON", CALL),
    (
        "a message to v1, of 1.0 without a version",
        rest("/v1/message:send", {"message": FINAL_MESSAGE}, None),
        "0.3/HTTP+JSON",
        CALL,
    ),
    ("a list by body", rest("/v1/tasks/list", {"status": "working"}), "draft/HTTP+JSON", CALL),
    ("nothing in v1, in 1.0", rest("/v1/nothing"), "draft/HTTP+JSON", UNKNOWN),
    ("v1 itself, without a version", rest("/v1", version=None), "0.3/HTTP+JSON", UNKNOWN),
    ("a route of 1.0", rest("/tasks/t"), "1.0/HTTP+JSON", CALL),
    ("a route of 1.0, a tenant", rest("/acme/message:send", {"message": FINAL_MESSAGE}), "1.0/HTTP+JSON", CALL),
    ("a task that is called v1", rest("/tasks/v1"), "1.0/HTTP+JSON", CALL),
    ("configurations of a task that is called v1", rest("/tasks/v1/pushNotificationConfigs"), "1.0/HTTP+JSON", CALL),
    ("a route of 1.0 without a version", rest("/tasks/t", version=None), "1.0/HTTP+JSON", VERSION),
    ("a route of 1.0 in 0.3", rest("/tasks/t", version="0.3"), "1.0/HTTP+JSON", VERSION),
    ("no route in 1.0", rest("/nothing"), "1.0/HTTP+JSON", UNKNOWN),
    ("the root, read", rest("/"), "1.0/HTTP+JSON", UNKNOWN),
    ("gRPC of 1.0", grpc("/lf.a2a.v1.A2AService/ListTasks", "1.0"), "1.0/GRPC", CALL),
    ("gRPC of 1.0 without a version", grpc("/lf.a2a.v1.A2AService/ListTasks"), "1.0/GRPC", CALL),
    ("gRPC of 1.0 in 0.3", grpc("/lf.a2a.v1.A2AService/ListTasks", "0.3"), "1.0/GRPC", VERSION),
    ("gRPC of 1.0 in 99.0", grpc("/lf.a2a.v1.A2AService/ListTasks", "99.0"), "1.0/GRPC", VERSION),
    ("gRPC of 0.3, its own method", grpc("/a2a.v1.A2AService/GetAgentCard"), "0.3/GRPC", CALL),
    ("gRPC of 0.3, its own method in 0.3", grpc("/a2a.v1.A2AService/GetAgentCard", "0.3"), "0.3/GRPC", CALL),
    ("gRPC of 0.3, its own method in 1.0", grpc("/a2a.v1.A2AService/GetAgentCard", "1.0"), "0.3/GRPC", VERSION),
    ("gRPC of the draft, its own method", grpc("/a2a.v1.A2AService/ListTasks"), "draft/GRPC", CALL),
    ("gRPC of the draft, its own method in 1.0", grpc("/a2a.v1.A2AService/ListTasks", "1.0"), "draft/GRPC", CALL),
    ("gRPC of the draft, its own method in 0.3", grpc("/a2a.v1.A2AService/ListTasks", "0.3"), "draft/GRPC", CALL),
    ("gRPC of the draft, its own method in 99.0", grpc("/a2a.v1.A2AService/ListTasks", "99.0"), "draft/GRPC", VERSION),
    ("gRPC of both, without a version", grpc("/a2a.v1.A2AService/GetTask"), "0.3/GRPC", "INVALID_PARAMS"),
    ("gRPC of both, in 0.3", grpc("/a2a.v1.A2AService/GetTask", "0.3"), "0.3/GRPC", "INVALID_PARAMS"),
    ("gRPC of both, in 1.0", grpc("/a2a.v1.A2AService/GetTask", "1.0"), "draft/GRPC", "INVALID_PARAMS"),
    ("gRPC of both, in 99.0", grpc("/a2a.v1.A2AService/GetTask", "99.0"), "draft/GRPC", VERSION),
    ("the older package without such a method", grpc("/a2a.v1.A2AService/Nonsense"), "0.3/GRPC", UNKNOWN),
    ("gRPC without such a method", grpc("/lf.a2a.v1.A2AService/Nonsense"), "1.0/GRPC", UNKNOWN),
    ("gRPC without such a service", grpc("/nobody/Nothing"), "1.0/GRPC", UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "key", "outcome"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_request_is_answered_in_the_line_that_it_speaks(request_: HttpRequest, key: str, outcome: str) -> None:
    assert key_and_outcome(request_) == (key, outcome)


NAMELESS = [row for row in ROWS if not row[1].headers.get("a2a-version") and row[3] == VERSION]


@pytest.mark.parametrize(("request_", "key"), [row[1:3] for row in NAMELESS], ids=[row[0] for row in NAMELESS])
def test_by_grammar_a_request_without_a_version_is_taken_for_what_it_is(request_: HttpRequest, key: str) -> None:
    assert key_and_outcome(request_, BY_GRAMMAR) == (key, CALL)


def test_by_grammar_what_only_the_draft_says_is_the_drafts_under_v1_too() -> None:
    for path, body, key in (
        ("/v1/message:send", {"message": DRAFT_MESSAGE}, "draft/HTTP+JSON"),
        ("/v1/message:send", {"message": OLD_MESSAGE}, "0.3/HTTP+JSON"),
        ("/v1/message:send", {"message": PROTO_MESSAGE}, "0.3/HTTP+JSON"),
        ("/v1/tasks/list", {}, "draft/HTTP+JSON"),
        ("/v1/tasks", {}, "draft/HTTP+JSON"),
    ):
        request = rest(path, body, version=None)
        assert key_and_outcome(request, BY_GRAMMAR) == (key, CALL), path
        assert key_and_outcome(request)[0] == "0.3/HTTP+JSON"
    assert key_and_outcome(rest("/v1/tasks/t", version=None), BY_GRAMMAR) == ("0.3/HTTP+JSON", CALL)


@pytest.mark.parametrize(("request_", "key", "outcome"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_by_grammar_nothing_else_changes(request_: HttpRequest, key: str, outcome: str) -> None:
    if request_.headers.get("a2a-version"):
        assert key_and_outcome(request_, BY_GRAMMAR) == (key, outcome)


def in_every_way(version: str) -> list[HttpRequest]:
    """Requests that ask for a version, over each binding and in each line."""
    return [
        rpc("GetTask", {"id": "t"}, version),
        rest("/tasks/t", version=version),
        rest("/v1/tasks/t", version=version),
        rpc("tasks/get", {"id": "t"}, version),
        grpc("/lf.a2a.v1.A2AService/GetTask", version),
        grpc("/a2a.v1.A2AService/GetTask", version),
        grpc("/a2a.v1.A2AService/GetAgentCard", version),
    ]


@pytest.mark.parametrize("version", ["1", "1.", "1.1", "2.0", "latest", "1.0-rc", "\u0661.0", "0.2", "1.0, 99.0"])
@pytest.mark.parametrize("negotiator", [STRICT, BY_GRAMMAR], ids=["strict", "by grammar"])
def test_another_version_is_refused_everywhere_and_the_supported_ones_named(
    negotiator: Negotiator, version: str
) -> None:
    for request in in_every_way(version):
        dialect, outcome = negotiator.decode(request)
        assert isinstance(outcome, Refusal), (dialect.key, request)
        assert isinstance(outcome.error, errors.VersionNotSupportedError)
        assert outcome.error.details == SUPPORTED
        assert "supported: 1.0, 0.3" in outcome.error.message


@pytest.mark.parametrize("version", [None, "", "  "])
def test_no_version_is_said_to_mean_0_3(version: str | None) -> None:
    _, outcome = STRICT.decode(rest("/tasks/t", version=version))
    assert isinstance(outcome, Refusal)
    assert "no protocol version, which means 0.3, and that has no such request" in outcome.error.message
    _, outcome = Negotiator([DIALECTS["1.0/HTTP+JSON"]]).decode(rest("/tasks/t", version=version))
    assert isinstance(outcome, Refusal)
    assert "which means 0.3, and that is not supported; supported: 1.0 " in outcome.error.message


@pytest.mark.parametrize("binding", ["rpc", "rest"])
def test_the_version_may_stand_in_the_query(binding: str) -> None:
    def make(version: str | None, query: str) -> HttpRequest:
        if binding == "rpc":
            return rpc("GetTask", {"id": "t"}, version, query)
        return rest("/tasks/t", None, version, query)

    assert key_and_outcome(make(None, "a=b&A2A-Version=1.0"))[1] == CALL
    assert key_and_outcome(make(None, "A2A-Version=0.3"))[1] == VERSION
    assert key_and_outcome(make("2.0", "A2A-Version=1.0"))[1] == VERSION, "the header counts"
    assert key_and_outcome(make(None, "A2A-Version=1.0&" + "a=b&" * 200))[1] == VERSION, "longer than anyone writes"


def test_a_refusal_names_the_id_of_the_request() -> None:
    for request in (rpc("GetTask", {"id": "t"}, "99.0"), rpc("tasks/get", {"id": "t"}, "99.0")):
        chosen, outcome = STRICT.decode(request)
        assert isinstance(outcome, Refusal)
        reply = msgspec.json.decode(chosen.encode_error(outcome.error, outcome.reply_to).body)
        assert reply["id"] == 7
        assert reply["error"]["code"] == -32009


def test_where_v1_is_a_tenant_only_0_3_has_a_claim_to_it() -> None:
    tenants = Negotiator(every_dialect(), tenants=["acme", "v1"])
    dialect, outcome = tenants.decode(rest("/v1/tasks/t"))
    assert dialect.key == "1.0/HTTP+JSON"
    assert isinstance(outcome, Call)
    assert outcome.request.tenant == "v1"
    assert tenants.decode(rest("/v1/tasks/t", version=None))[0].key == "0.3/HTTP+JSON"


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        (HttpRequest("POST", "/", "", headers_of("1.0")), "1.0/JSONRPC"),
        (HttpRequest("POST", "", "", headers_of("99.0")), "1.0/JSONRPC"),
        (HttpRequest("POST", "/"), "0.3/JSONRPC"),
        (HttpRequest("POST", "/message:send"), "1.0/HTTP+JSON"),
        (HttpRequest("POST", "/v1/message:send"), "0.3/HTTP+JSON"),
        (HttpRequest("POST", "/v1/message:send", "", headers_of("1.0")), "draft/HTTP+JSON"),
        (grpc("/lf.a2a.v1.A2AService/SendMessage"), "1.0/GRPC"),
    ],
)
def test_before_the_body_is_read_address_and_version_decide(request_: HttpRequest, key: str) -> None:
    assert STRICT.refusing(request_)[0].key == key


@pytest.mark.parametrize("key", list(DIALECTS))
def test_what_a_client_of_a_dialect_sends_is_answered_in_that_dialect(key: str) -> None:
    dialect = DIALECTS[key]
    for operation, request in samples.REQUESTS.items():
        try:
            sent = dialect.encode_request(operation, request, Target())
        except errors.MethodNotFoundError:
            assert key in {"0.3/JSONRPC", "0.3/GRPC"}
            assert operation is operations.LIST_TASKS
            continue
        if dialect.binding == "GRPC":
            sent.headers["content-type"] = "application/grpc"
        chosen, outcome = STRICT.decode(sent)
        assert isinstance(outcome, Call), (sent, outcome)
        assert outcome.operation is operation
        # What is spelled alike in the draft and in 1.0 is answered as 1.0.
        alike = key == "draft/JSONRPC" and chosen.key == "1.0/JSONRPC"
        assert chosen.key == key or (alike and operation in UNTOLD), sent


UNTOLD = frozenset(
    {
        operations.GET_TASK,
        operations.CANCEL_TASK,
        operations.SUBSCRIBE_TO_TASK,
        operations.GET_EXTENDED_AGENT_CARD,
    }
)


def test_a_binding_that_is_not_served_is_refused_in_one_that_is() -> None:
    only: Dialect = DIALECTS["1.0/JSONRPC"]
    chosen, outcome = Negotiator([only]).decode(rest("/tasks/t"))
    assert chosen is only
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, errors.MethodNotFoundError)


def test_a_line_that_is_not_served_is_answered_by_1_0() -> None:
    only = Negotiator([DIALECTS["1.0/JSONRPC"], DIALECTS["1.0/HTTP+JSON"]])
    assert key_and_outcome(send(DRAFT_MESSAGE), only) == ("1.0/JSONRPC", CALL)
    assert key_and_outcome(rpc("tasks/get", {"id": "t"}, None), only) == ("1.0/JSONRPC", VERSION)
    assert key_and_outcome(rpc("tasks/get", {"id": "t"}), only) == ("1.0/JSONRPC", UNKNOWN)
    assert key_and_outcome(rest("/v1/tasks/t", version=None), only) == ("1.0/HTTP+JSON", VERSION)
    assert key_and_outcome(rest("/v1/tasks/t"), only) == ("1.0/HTTP+JSON", CALL)


def test_nothing_to_serve_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one dialect"):
        Negotiator([])
