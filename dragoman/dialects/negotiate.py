"""Which dialect a request speaks (specification section 3.6): the binding by its address, the line by what it asks for.

    request                                               line        served if it asks for
    JSON-RPC, a method of 0.3                             0.3         0.3 or nothing
    JSON-RPC, a method of the draft alone                 draft       1.0
    JSON-RPC, a method of 1.0                             1.0, draft  1.0; the draft if the body is spelled so
    JSON-RPC, anything else                               0.3         0.3 or nothing, and it is refused there
                                                          1.0         another version, and it is refused there
    HTTP+JSON `/v1/card`                                  0.3         0.3 or nothing
    HTTP+JSON `/v1/extendedAgentCard`                     draft       1.0
    HTTP+JSON `/v1/...`                                   0.3         0.3 or nothing
                                                          1.0, draft  1.0; 1.0 if the body is spelled so, or if
                                                                      `v1` is known for a tenant
    HTTP+JSON anything else                               1.0         1.0
    gRPC, the package of 1.0                              1.0         1.0 or nothing
    gRPC, the older package, a method of one line         that line   its version or nothing; the draft 0.3 too
    gRPC, the older package, a method of both lines       0.3         0.3 or nothing
                                                          draft       1.0

A version is asked for by header (or metadata), else by query; its patch number plays no part, and none means 0.3. What
asks for something else is refused with VersionNotSupportedError in the line that it speaks. By grammar, requests of 1.0
and of the draft are served too if they ask for nothing, also below `/v1/` if only the draft has them. What is not
served is answered by 1.0, else by what there is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable
from urllib.parse import parse_qsl

import msgspec

from dragoman.dialects.base import Call, Dialect, HttpRequest, Refusal, served_versions
from dragoman.dialects.envelope import id_of
from dragoman.dialects.sniff import DRAFT, FINAL, OLD, Line, line_of, telling
from dragoman.errors import MethodNotFoundError, VersionNotSupportedError
from dragoman.operations import SEND_MESSAGE, Operation

__all__ = ["Negotiator"]

_CURRENT = "1.0"
_OLDER = "0.3"
"""What a request without a version means (section 3.6.2)."""
_JSONRPC = "JSONRPC"
_REST = "HTTP+JSON"
_GRPC = "GRPC"
_OLDER_PACKAGE = "/a2a.v1."
_OLDER_PREFIX = "v1"
_VERSION = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]{1,9})?", re.ASCII)
_OLDER_RESOURCES = re.compile(r"message:|tasks$|card$|extendedAgentCard$")


@runtime_checkable
class _Named(Protocol):
    """A dialect whose requests name a method."""

    methods: Mapping[str, Operation]


class _Opened(msgspec.Struct):
    """As much of a JSON-RPC request as it takes to choose."""

    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")


_open = msgspec.json.Decoder(_Opened).decode


class Negotiator:
    """Chooses among the dialects served; their order is that of preference.

    Args:
        dialects: what is served.
        missing_version: how requests of 1.0 are taken that name no version: `strict` refuses them, as the specification
            says; `by-grammar` takes them for what their address and form say.
        tenants: names of tenants that stand in front of paths, as far as they are known.
    """

    def __init__(
        self,
        dialects: Sequence[Dialect],
        missing_version: Literal["strict", "by-grammar"] = "strict",
        tenants: Sequence[str] = (),
    ) -> None:
        if not dialects:
            raise ValueError("at least one dialect must be served")
        self._dialects = tuple(dialects)
        self._by_key = {dialect.key: dialect for dialect in self._dialects}
        self._methods = {dialect.key: dialect.methods for dialect in self._dialects if isinstance(dialect, _Named)}
        self._answering = {
            (binding, line): self._served(binding, line)
            for binding in (_JSONRPC, _REST, _GRPC)
            for line in (FINAL, DRAFT, OLD)
        }
        self._final_jsonrpc = self._by_key.get(f"{FINAL}/{_JSONRPC}")
        self._final_grpc = self._by_key.get(f"{FINAL}/{_GRPC}")
        self._lenient = missing_version == "by-grammar"
        self._v1_is_tenant = _OLDER_PREFIX in tenants

    def _served(self, binding: str, line: Line) -> Dialect | None:
        found = (self._by_key.get(f"{other}/{binding}") for other in (line, FINAL, DRAFT, OLD))
        return next((dialect for dialect in found if dialect is not None), None)

    def refusing(self, request: HttpRequest) -> tuple[Dialect, Any]:
        """The dialect in which to answer, whatever the body is, and what of the body it needs for that, as far as it
        can be read; for refusals before the body is decoded, or has come.
        """
        binding, asked = _binding(request), _asked(request)
        dialect = self._answering[binding, self._line(binding, request, asked)] or self._dialects[0]
        return dialect, id_of(request.body) if binding is _JSONRPC else None

    def decode(self, request: HttpRequest) -> tuple[Dialect, Call | Refusal]:
        """The dialect and what it makes of the request. Refusals are in the caller's own dialect, as far as there is
        one, and name the request's id where it can be read.
        """
        binding = _binding(request)
        final = self._plainly_final(binding, request)
        if final is not None:
            outcome = final.decode_request(request)
            if isinstance(outcome, Call):
                return final, outcome
        asked = _asked(request)
        dialect = self._answering[binding, self._line(binding, request, asked)]
        if dialect is None:
            refused = MethodNotFoundError(f"The binding {binding} is not served here")
            return self._dialects[0], Refusal(refused)
        outcome = dialect.decode_request(request)
        if asked in self._accepted(dialect):
            return dialect, outcome
        return dialect, Refusal(self._unsupported(asked), outcome.reply_to)

    def _plainly_final(self, binding: str, request: HttpRequest) -> Dialect | None:
        """The dialect of 1.0 where there is nothing to choose: for most requests, so this is quick."""
        if request.headers.get("a2a-version") != _CURRENT:
            return None
        if binding is _JSONRPC:
            body = request.body
            return self._final_jsonrpc if b'"role":"ROLE_' in body or b'"role": "ROLE_' in body else None
        return self._final_grpc if binding is _GRPC and not request.path.startswith(_OLDER_PACKAGE) else None

    def _accepted(self, dialect: Dialect) -> tuple[str, ...]:
        """The versions that a dialect answers to; the empty one is none."""
        if dialect.key.startswith(OLD):
            return ("", _OLDER)
        if dialect.binding == _GRPC:
            return ("", _CURRENT, _OLDER) if dialect.key.startswith(DRAFT) else ("", _CURRENT)
        return ("", _CURRENT) if self._lenient else (_CURRENT,)

    def _line(self, binding: str, request: HttpRequest, asked: str) -> Line:
        if binding is _JSONRPC:
            return self._line_of_method(request, asked)
        if binding is _GRPC:
            return self._line_of_service(request, asked)
        return self._line_of_path(request, asked)

    def _line_of_method(self, request: HttpRequest, asked: str) -> Line:
        try:
            opened = _open(request.body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            opened = _Opened()
        final, draft = self._operation(FINAL, _JSONRPC, opened.method), self._operation(DRAFT, _JSONRPC, opened.method)
        if final is not None:
            in_doubt = draft is not None and telling(final)
            return DRAFT if in_doubt and line_of(opened.params, final) == DRAFT else FINAL
        if draft is not None:
            return DRAFT
        if self._operation(OLD, _JSONRPC, opened.method) is not None:
            return OLD
        return OLD if asked in ("", _OLDER) else FINAL

    def _line_of_service(self, request: HttpRequest, asked: str) -> Line:
        if not request.path.startswith(_OLDER_PACKAGE):
            return FINAL
        method = request.path.rpartition("/")[2]
        lines: list[Line] = [line for line in (OLD, DRAFT) if self._operation(line, _GRPC, method) is not None]
        if len(lines) == 1:
            return lines[0]
        return OLD if asked in ("", _OLDER) else DRAFT

    def _operation(self, line: Line, binding: str, name: str) -> Operation | None:
        return self._methods.get(f"{line}/{binding}", {}).get(name)

    def _line_of_path(self, request: HttpRequest, asked: str) -> Line:
        resource = _older_resource(request.path)
        if resource is None:
            return FINAL
        if resource == "card":
            return OLD
        if resource == "extendedAgentCard":
            return DRAFT
        if asked in ("", _OLDER):
            return DRAFT if self._lenient and not asked and _says_draft(request, resource) else OLD
        if self._v1_is_tenant:
            return FINAL
        return FINAL if resource.startswith("message:") and line_of(request.body, SEND_MESSAGE) == FINAL else DRAFT

    def _unsupported(self, asked: str) -> VersionNotSupportedError:
        served = served_versions(self._dialects)
        versions = ", ".join(served)
        if not asked:
            what = f"The request names no protocol version, which means {_OLDER}, and that "
            what += "has no such request" if _OLDER in served else "is not supported"
        elif asked in served:
            what = f"Protocol version {asked} has no such request"
        else:
            what = f"The protocol version {asked[:20]!r} is not supported"
        return VersionNotSupportedError(
            f"{what}; supported: {versions} (header A2A-Version)", details={"supportedVersions": versions}
        )


def _binding(request: HttpRequest) -> str:
    if request.method != "POST":
        return _REST
    if request.path in {"", "/"}:
        return _JSONRPC
    return _GRPC if request.headers.get("content-type", "").startswith("application/grpc") else _REST


def _says_draft(request: HttpRequest, resource: str) -> bool:
    """Whether a request below `/v1/` is one that 0.3 does not have."""
    if resource.startswith("message:"):
        return line_of(request.body, SEND_MESSAGE) == DRAFT
    return request.method == "POST" and request.path.endswith(("/tasks", "/tasks/list"))


def _older_resource(path: str) -> str | None:
    """What follows `/v1/`, which one segment may stand in front of; None if the path is none of an older line."""
    segments = path.removeprefix("/").split("/")
    if segments[0] == _OLDER_PREFIX:
        return segments[1] if len(segments) > 1 else ""
    hosted = len(segments) > 2 and segments[1] == _OLDER_PREFIX and _OLDER_RESOURCES.match(segments[2])  # noqa: PLR2004 -- tenant, v1, resource
    return segments[2] if hosted else None


def _asked(request: HttpRequest) -> str:
    """The version asked for, as Major.Minor where it is one; empty if there is none."""
    stated = request.headers.get("a2a-version", "")
    if stated == _CURRENT:
        return stated
    stated = stated.strip() or _asked_in_query(request.query)
    exact = _VERSION.fullmatch(stated)
    return exact[1] if exact else stated


def _asked_in_query(query: str) -> str:
    if "version" not in query.lower():
        return ""
    try:
        pairs = parse_qsl(query, max_num_fields=100)
    except ValueError:
        return ""
    return next((value.strip() for name, value in pairs if name.lower() == "a2a-version"), "")
