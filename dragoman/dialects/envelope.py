"""JSON-RPC 2.0 framing, both directions. Ids are echoed with their JSON type; batches are refused."""

from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.dialects.base import Refusal
from dragoman.dialects.codec import parse_json
from dragoman.errors import A2AError, InvalidRequestError

__all__ = [
    "ErrorObject",
    "ErrorResponse",
    "Id",
    "Opened",
    "Response",
    "ResultResponse",
    "id_of",
    "open_request",
]

Id = str | int | float | None


class Opened(msgspec.Struct):
    """A request whose params are still bytes. Without an id it is a notification, which is answered with a null id."""

    jsonrpc: Literal["2.0"]
    method: str
    id: Id = None
    params: Raw = Raw(b"{}")


class ResultResponse(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    """A result on its way out; `result` is anything that msgspec encodes. A tag is written before all else."""

    id: Id
    result: Any


class ErrorObject(msgspec.Struct, omit_defaults=True):
    code: int
    message: str
    data: Any = []


class ErrorResponse(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    id: Id
    error: ErrorObject


class Response(msgspec.Struct):
    """A response on its way in, both members still bytes."""

    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decoder = msgspec.json.Decoder(Opened)
_EMPTY = Raw(b"{}")


def open_request(body: bytes) -> Opened | Refusal:
    """The request in `body`, or why it is none, with the id if there is one."""
    try:
        opened = _decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _diagnose(body)
    if bytes(opened.params) == b"null":
        opened.params = _EMPTY
    return opened


def id_of(body: bytes) -> Id:
    """The id in `body`, as far as there is one."""
    opened = open_request(body)
    return opened.id if isinstance(opened, Opened) else cast("Id", opened.reply_to)


def _diagnose(body: bytes) -> Refusal:
    try:
        value = parse_json(body)
    except A2AError as error:
        return Refusal(error)
    if isinstance(value, list):
        return Refusal(InvalidRequestError("Batches are not supported: send one request object"))
    if not isinstance(value, dict):
        return Refusal(InvalidRequestError("The request must be a JSON object"))
    request = cast("dict[str, Any]", value)
    given = request.get("id")
    if isinstance(given, bool) or not isinstance(given, Id):
        return Refusal(InvalidRequestError("id must be a string, a number or null"))
    if request.get("jsonrpc") != "2.0":
        return Refusal(InvalidRequestError('jsonrpc must be "2.0"'), given)
    return Refusal(InvalidRequestError("method must be a string"), given)
