"""What may come back to a request that is damaged: an answer of any line, since the damage may have changed the line.

Never a 500, never an internal error over gRPC unless the frames themselves are broken, never half of something.
"""

import gzip
import json
from typing import Any

from dragoman import _proto
from dragoman.dialects.base import HttpReply, HttpRequest
from tests.behaviour.cells import CELLS
from tests.behaviour.checks import check_payload
from tests.behaviour.faults import STATUSES, read_error, read_status
from tests.behaviour.forms import FORMS, GrpcForm
from tests.behaviour.spellings import DRAFT, KINDS, PROTO
from tests.unit.hosts.grpc.driver import unframed

__all__ = ["accepted", "check_answer"]

GZIP = b"\x1f\x8b"
READINGS = ("SendMessage", "GetTask", "ListTasks")
"""Operations whose results have forms of their own."""


def check_answer(request: HttpRequest, reply: HttpReply, *, frames: bool = True) -> None:
    """The answer is one that the protocol has: a result, a stream, a card, or an error of the tables.

    `frames` says that a request is right as gRPC; of one that is not, gRPC says INTERNAL.
    """
    assert b"Traceback" not in reply.body
    kind = reply.headers.get("content-type", "").split(";")[0]
    if kind == "application/grpc":
        _check_messages(request, reply, frames=frames)
        return
    assert reply.status < 500 or reply.status in {501, 505}, (request, reply)
    if request.headers.get("content-type", "").startswith("application/grpc") and kind == "text/plain":
        assert reply.status in {405, 415, 505}
    elif not reply.body:
        assert request.method == "HEAD" or (reply.status == 405 and ".well-known" in request.path), (request, reply)
    elif kind == "text/event-stream":
        assert reply.body.endswith(b"\n\n")
    else:
        _check_json(request, reply, json.loads(reply.body))


def accepted(reply: HttpReply) -> bool:
    """Whether the request was answered with what it asked for."""
    refused = b'"error"' in reply.body or reply.headers.get("grpc-status", "0") != "0"
    return reply.status == 200 and not refused


def _check_json(request: HttpRequest, reply: HttpReply, body: Any) -> None:
    over_rpc = "jsonrpc" in body
    if reply.status != 200 or "error" in body:
        cells = [cell for cell in CELLS if cell.binding == ("JSONRPC" if over_rpc else "HTTP+JSON")]
        assert any(_holds(read_error, cell, reply.status, body, streamed=False) for cell in cells), (request, reply)
        return
    if over_rpc:
        assert set(body) == {"jsonrpc", "id", "result"}
    result = body["result"] if over_rpc else body
    if result is None:
        assert b"delete" in request.body.lower(), (request, reply)
        return
    assert "skills" in result or any(_holds(check_payload, reading) for reading in _readings(result)), (request, reply)


def _readings(result: Any) -> list[Any]:
    """The result as each line would have it."""
    found = [result]
    for spelling in (KINDS, PROTO, DRAFT):
        for operation in READINGS:
            try:
                found.append(spelling.result(operation, result))
            except (AssertionError, KeyError, TypeError, StopIteration):
                continue
    return found


def _check_messages(request: HttpRequest, reply: HttpReply, *, frames: bool) -> None:
    assert reply.status == 200
    status = STATUSES[int(reply.headers["grpc-status"])]
    if status == "OK":
        form = next(form for form in FORMS.values() if isinstance(form, GrpcForm) and form.serves(request.path))
        for message in unframed(reply.body):
            plain = gzip.decompress(message) if message.startswith(GZIP) else message
            _proto.parse(form.output_of(request.path), plain)
        return
    assert status not in {"UNKNOWN", "DATA_LOSS"}, (request, reply)
    assert status != "INTERNAL" or not frames, (request, reply)
    if "grpc-status-details-bin" in reply.headers:
        cells = [cell for cell in CELLS if cell.binding == "GRPC"]
        assert any(_holds(read_status, cell, reply.headers) for cell in cells), (request, reply)


def _holds(check: Any, *given: Any, **named: Any) -> bool:
    try:
        check(*given, **named)
    except (AssertionError, KeyError, TypeError, StopIteration):
        return False
    return True
