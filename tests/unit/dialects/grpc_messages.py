"""Messages as the tests of gRPC make them, field by field, and what the dialects make of those."""

from typing import Any

from dragoman import _proto, errors
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.grpc import GrpcBinding
from dragoman.dialects.v0_3 import grpc as v0_3
from dragoman.dialects.v1_0 import grpc as v1_0
from dragoman.operations import Operation

__all__ = ["DRAFT", "NEW", "OK", "OLD", "OLDER_HELLO", "answered", "request", "sent", "violations", "written"]

NEW, OLD, DRAFT = v1_0.Grpc(), v0_3.Grpc(), v0_3.DraftGrpc()
OK = {"grpc-status": "0"}
OLDER_HELLO = {"message_id": "m", "role": 1, "content": [{"text": "hi"}]}


def sent(dialect: GrpcBinding, method: str, **fields: Any) -> Call | Refusal:
    """What the dialect makes of a request with these fields."""
    operation = dialect.methods[method]
    message = _proto.message(dialect.requests[operation].message)(**fields)
    path = f"/{dialect.service}/{method}"
    return dialect.decode_request(HttpRequest("POST", path, body=message.SerializeToString()))


def request(dialect: GrpcBinding, method: str, **fields: Any) -> Any:
    outcome = sent(dialect, method, **fields)
    assert isinstance(outcome, Call), outcome
    return outcome.request


def violations(dialect: GrpcBinding, method: str, **fields: Any) -> dict[str, str]:
    outcome = sent(dialect, method, **fields)
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, errors.InvalidParamsError)
    assert outcome.error.violations[0].field in outcome.error.message
    return {violation.field: violation.description for violation in outcome.error.violations}


def answered(dialect: GrpcBinding, operation: Operation, **fields: Any) -> Any:
    codec = dialect.results[operation]
    assert codec is not None
    message = _proto.message(codec.message)(**fields)
    return dialect.decode_result(operation, HttpReply(200, OK, message.SerializeToString()))


def written(dialect: GrpcBinding, operation: Operation, value: Any) -> Any:
    """The request message that the client half makes of a value."""
    body = dialect.encode_request(operation, value, Target()).body
    return _proto.parse(dialect.requests[operation].message, body)
