"""Which dialect answers: one test for each row of the decision."""

from collections.abc import Callable

import msgspec
import pytest

from dragoman import errors, operations
from dragoman.dialects.base import Call, Dialect, HttpRequest, Refusal
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest

JSONRPC, REST = JsonRpc(), Rest()
SERVED: tuple[Dialect, ...] = (JSONRPC, REST)
STRICT = Negotiator(SERVED)
BY_GRAMMAR = Negotiator(SERVED, missing_version="by-grammar")


def rpc(version: str | None, query: str = "") -> HttpRequest:
    headers = {} if version is None else {"a2a-version": version}
    return HttpRequest("POST", "/", query, headers, b'{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t"}}')


def rest(version: str | None, query: str = "") -> HttpRequest:
    return HttpRequest("GET", "/tasks/t", query, {} if version is None else {"a2a-version": version})


Make = Callable[..., HttpRequest]
each_binding = pytest.mark.parametrize(("make", "dialect"), [(rpc, JSONRPC), (rest, REST)], ids=["rpc", "rest"])


@each_binding
@pytest.mark.parametrize("version", ["1.0", " 1.0 ", "1.0.0", "1.0.17"])
def test_a_served_version_is_answered(make: Make, dialect: Dialect, version: str) -> None:
    chosen, outcome = STRICT.decode(make(version))
    assert chosen is dialect
    assert isinstance(outcome, Call)
    assert outcome.operation is operations.GET_TASK
    assert outcome.parameters.version == "1.0"


@each_binding
@pytest.mark.parametrize("version", ["0.3", "0.3.0", "1", "1.", "1.1", "2.0", "99.0", "latest", "1.0-rc", "\u0661.0"])
def test_another_version_is_refused_and_the_served_ones_named(make: Make, dialect: Dialect, version: str) -> None:
    for negotiator in (STRICT, BY_GRAMMAR):
        chosen, outcome = negotiator.decode(make(version))
        assert chosen is dialect
        assert isinstance(outcome, Refusal)
        assert isinstance(outcome.error, errors.VersionNotSupportedError)
        assert outcome.error.details == {"supportedVersions": "1.0"}
        assert "supported: 1.0" in outcome.error.message


@each_binding
@pytest.mark.parametrize("version", [None, "", "  "])
def test_no_version_means_an_old_one_unless_the_switch_says_otherwise(
    make: Make, dialect: Dialect, version: str | None
) -> None:
    chosen, refused = STRICT.decode(make(version))
    assert chosen is dialect
    assert isinstance(refused, Refusal)
    assert isinstance(refused.error, errors.VersionNotSupportedError)
    assert "0.3" in refused.error.message
    chosen, served = BY_GRAMMAR.decode(make(version))
    assert chosen is dialect
    assert isinstance(served, Call)


@each_binding
def test_the_version_may_stand_in_the_query(make: Make, dialect: Dialect) -> None:
    chosen, outcome = STRICT.decode(make(None, "A2A-Version=1.0"))
    assert chosen is dialect
    assert isinstance(outcome, Call)
    assert isinstance(STRICT.decode(make("2.0", "A2A-Version=1.0"))[1], Refusal), "the header counts"


def test_a_refusal_names_the_id_of_the_request() -> None:
    chosen, outcome = STRICT.decode(rpc("99.0"))
    assert isinstance(outcome, Refusal)
    reply = msgspec.json.decode(chosen.encode_error(outcome.error, outcome.reply_to).body)
    assert reply["id"] == 7
    assert reply["error"]["code"] == -32009


@pytest.mark.parametrize(
    ("method", "path", "dialect"),
    [("POST", "", JSONRPC), ("POST", "/", JSONRPC), ("GET", "/", REST), ("POST", "/message:send", REST)],
)
def test_the_binding_follows_from_the_address(method: str, path: str, dialect: Dialect) -> None:
    assert STRICT.choose(HttpRequest(method, path)) is dialect


def test_a_binding_that_is_not_served_is_refused_in_one_that_is() -> None:
    chosen, outcome = Negotiator([JSONRPC]).decode(rest("1.0"))
    assert chosen is JSONRPC
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, errors.MethodNotFoundError)


class Older(Rest):
    key = "0.3/HTTP+JSON"
    version = "0.3"


def test_serving_a_further_version_is_one_more_dialect() -> None:
    older = Older()
    both = Negotiator([JSONRPC, REST, older])
    assert both.decode(HttpRequest("GET", "/v1/tasks/t"))[0] is older
    assert both.decode(rest("1.0"))[0] is REST


def test_nothing_to_serve_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one dialect"):
        Negotiator([])
