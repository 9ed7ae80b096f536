"""The three bindings as a caller writes and reads them by hand, in every line of the protocol.

A form takes requests of 1.0 in JSON and gives answers of 1.0 in JSON, whatever stands on the wire in between.
"""

import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, urlencode

import msgspec
from google.protobuf import json_format

from dragoman import _proto
from dragoman.dialects.base import HttpReply, HttpRequest
from tests.behaviour.cells import CELLS, Cell
from tests.behaviour.faults import Fault, read_error, read_status
from tests.behaviour.spellings import DRAFT, FINAL, KINDS, PROTO, Final, Older
from tests.unit.hosts.grpc.driver import framed, unframed

__all__ = ["FORMS", "ROUTES", "Asked", "Form", "GrpcForm", "Wish"]

Params = dict[str, Any]

ROUTES: dict[str, tuple[str, str]] = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/{taskId}/pushNotificationConfigs"),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/{taskId}/pushNotificationConfigs"),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}
_OLDER_ROUTES = {operation: (verb, f"/v1{route}") for operation, (verb, route) in ROUTES.items()}
# The names of each line, where they are others than those of 1.0.
_METHODS: dict[str, dict[str, str]] = {
    "1.0/JSONRPC": {},
    "1.0/GRPC": {},
    "draft/JSONRPC": {
        "CreateTaskPushNotificationConfig": "SetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig",
    },
    "draft/GRPC": {
        "CreateTaskPushNotificationConfig": "SetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig",
    },
    "0.3/JSONRPC": {
        "SendMessage": "message/send",
        "SendStreamingMessage": "message/stream",
        "GetTask": "tasks/get",
        "ListTasks": "tasks/list",
        "CancelTask": "tasks/cancel",
        "SubscribeToTask": "tasks/resubscribe",
        "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
        "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
        "ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list",
        "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
        "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
    },
    "0.3/GRPC": {
        "SubscribeToTask": "TaskSubscription",
        "ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig",
        "GetExtendedAgentCard": "GetAgentCard",
    },
}
_ROUTES: dict[str, dict[str, tuple[str, str]]] = {
    "1.0": ROUTES,
    "draft": _OLDER_ROUTES,
    "0.3": {**_OLDER_ROUTES, "GetExtendedAgentCard": ("GET", "/v1/card")},
}
_UNTOLD = {"GetTask", "CancelTask", "SubscribeToTask", "GetExtendedAgentCard"}
_SERVICES = {"1.0": "lf.a2a.v1.A2AService", "draft": "a2a.v1.A2AService", "0.3": "a2a.v1.A2AService"}
_SPELLINGS: dict[str, Final | Older] = {
    "1.0/JSONRPC": FINAL,
    "1.0/HTTP+JSON": FINAL,
    "1.0/GRPC": FINAL,
    "0.3/JSONRPC": KINDS,
    "0.3/HTTP+JSON": PROTO,
    "0.3/GRPC": PROTO,
    "draft/JSONRPC": DRAFT,
    "draft/HTTP+JSON": DRAFT,
    "draft/GRPC": PROTO,
}
_numbers = itertools.count(1)


class Asked(HttpRequest, frozen=True):
    """A request that knows what it asks for."""

    operation: str = ""


class Wish(msgspec.Struct, frozen=True):
    """What to ask for, in the words of 1.0."""

    path: str
    operation: str
    params: Params
    headers: dict[str, str]
    query: Mapping[str, str]
    tenant: str


class Form(ABC):
    """One cell, as bytes."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.spelling = _SPELLINGS[cell.key]

    def headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """Headers of a request; callers of 0.3 name no version, and have an older name for extensions."""
        if self.cell.line == "0.3":
            names = {"a2a-extensions": "x-a2a-extensions"}
            return {"host": "agent.example", **{names.get(name, name): value for name, value in given.items()}}
        return {"host": "agent.example", "a2a-version": "1.0", **given}

    @property
    def version(self) -> str:
        """By which requests of the line ask for it."""
        return "0.3" if self.cell.line == "0.3" else "1.0"

    @property
    def extensions_header(self) -> str:
        return "x-a2a-extensions" if self.cell.line == "0.3" else "a2a-extensions"

    @abstractmethod
    def request(self, wish: Wish) -> Asked: ...

    @abstractmethod
    def result(self, request: Asked, reply: HttpReply) -> Any:
        """The result of an operation that does not stream; raises `Fault`."""

    @abstractmethod
    def event(self, request: Asked, data: bytes, *, error: bool) -> Any:
        """One event of a stream; `error` says that the stream calls it one. Raises `Fault`."""

    def field(self, name: str) -> str:
        """A member named in an error, as 1.0 names it in JSON."""
        return self.spelling.field(name)

    def fault(self, error: tuple[str, str, list[dict[str, Any]]], reply: HttpReply) -> Fault:
        reason, text, details = error
        for detail in details:
            for violation in detail.get("fieldViolations", []):
                violation["field"] = self.field(violation["field"])
        return Fault(reason, text, details, reply)


class JsonRpcForm(Form):
    """JSON-RPC 2.0.

    Where the draft and 1.0 have one method and nothing in the request tells which of them is spoken, it is 1.0.
    """

    def _answering(self, operation: str, status: int = 200) -> "Form":
        untold = operation in _UNTOLD or status == 413
        return FORMS[Cell("1.0", "JSONRPC")] if self.cell.line == "draft" and untold else self

    def request(self, wish: Wish) -> Asked:
        given = {
            **self.spelling.params(wish.operation, wish.params),
            **({"tenant": wish.tenant} if wish.tenant else {}),
        }
        method = _METHODS[self.cell.key].get(wish.operation, wish.operation)
        body: Params = {"jsonrpc": "2.0", "id": f"r-{next(_numbers)}", "method": method, "params": given}
        sent = {"content-type": "application/json", **wish.headers}
        return Asked("POST", wish.path, urlencode(wish.query), sent, json.dumps(body).encode(), wish.operation)

    def result(self, request: Asked, reply: HttpReply) -> Any:
        media = reply.headers["content-type"].split(";")[0]
        if media == "text/event-stream" and self.cell.line == "0.3":
            # Clients of 0.3 expect a stream from what streams, even of an error.
            return self.event(request, reply.body.strip().removeprefix(b"data:"), error=False)
        assert media == "application/json"
        body = json.loads(reply.body)
        if "error" in body:
            raise self._fault(request, reply.status, body, reply)
        assert reply.status == 200
        spelling = self._answering(request.operation).spelling
        return spelling.result(request.operation, self._opened(request, body))

    def event(self, request: Asked, data: bytes, *, error: bool) -> Any:
        body = json.loads(data)
        # An error has no name in 0.3: of one that has, an official client reads no code.
        assert error == ("error" in body and self.cell.line != "0.3")
        if "error" in body:
            raise self._fault(request, 200, body, HttpReply(200, {}, data))
        return self._answering(request.operation).spelling.event(self._opened(request, body))

    def _opened(self, request: Asked, body: Any) -> Any:
        assert set(body) == {"jsonrpc", "id", "result"}
        assert (body["jsonrpc"], body["id"]) == ("2.0", json.loads(request.body)["id"])
        return body["result"]

    def _fault(self, request: Asked, status: int, body: Any, reply: HttpReply) -> Fault:
        # The id of a body that was not read is not known.
        assert body["id"] == (None if status == 413 else json.loads(request.body)["id"])
        return self.fault(
            read_error(self._answering(request.operation, status).cell, status, body, streamed=False), reply
        )


class RestForm(Form):
    """HTTP+JSON: what the path names is in neither query nor body."""

    def request(self, wish: Wish) -> Asked:
        verb, route = _ROUTES[self.cell.line][wish.operation]
        in_path = set(re.findall(r"{(\w+)}", route))
        route = route.format(**{name: quote(str(wish.params.get(name, "")), safe="") for name in in_path})
        taken = in_path if in_path <= {"id"} else ()
        params = {name: value for name, value in wish.params.items() if name not in taken}
        given = self.spelling.params(wish.operation, params)
        rest = {name: value for name, value in given.items() if name not in in_path}
        prefix = f"{wish.path}/{quote(wish.tenant, safe='')}" if wish.tenant else wish.path
        if verb in {"GET", "DELETE"}:
            written = {name: _in_query(value) for name, value in rest.items()}
            return Asked(
                verb,
                prefix + route,
                urlencode({**written, **wish.query}, quote_via=quote),
                wish.headers,
                b"",
                wish.operation,
            )
        media = "application/a2a+json" if self.cell.line == "1.0" else "application/json"
        sent = {"content-type": media, **wish.headers}
        return Asked(verb, prefix + route, urlencode(wish.query), sent, json.dumps(rest).encode(), wish.operation)

    def result(self, request: Asked, reply: HttpReply) -> Any:
        media = reply.headers["content-type"].split(";")[0]
        body = json.loads(reply.body)
        if reply.status != 200:
            assert media == ("application/problem+json" if self.cell.line == "draft" else "application/json")
            raise self.fault(read_error(self.cell, reply.status, body, streamed=False), reply)
        assert media == ("application/json" if self.cell.line == "0.3" else "application/a2a+json")
        return self.spelling.result(request.operation, body)

    def event(self, request: Asked, data: bytes, *, error: bool) -> Any:  # noqa: ARG002 -- the same in all forms
        body = json.loads(data)
        if error:
            raise self.fault(read_error(self.cell, 200, body, streamed=True), HttpReply(200, {}, data))
        return self.spelling.event(body)


class GrpcForm(Form):
    """gRPC: the JSON is made into messages, and back, by protobuf itself. Bodies are framed as on the wire."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell)
        service = _SERVICES[cell.line]
        self.package = service.rpartition(".")[0]
        methods = _proto.descriptor_of(f"{self.package}.Task").file.services_by_name["A2AService"].methods_by_name
        self.service, self._types = service, {method.name: method for method in methods.values()}

    def request(self, wish: Wish) -> Asked:
        given = {
            **self.spelling.params(wish.operation, wish.params),
            **({"tenant": wish.tenant} if wish.tenant else {}),
        }
        method = _METHODS[self.cell.key].get(wish.operation, wish.operation)
        body = b""
        if method in self._types:
            message = _proto.message(self._types[method].input_type.full_name)()
            body = json_format.ParseDict(given, message, ignore_unknown_fields=True).SerializeToString()
        sent = {"content-type": "application/grpc", "te": "trailers", **wish.headers}
        return Asked("POST", f"/{self.service}/{method}", "", sent, framed(body), wish.operation)

    def result(self, request: Asked, reply: HttpReply) -> Any:
        assert (reply.status, reply.headers["content-type"]) == (200, "application/grpc")
        self.end(reply)
        (message,) = unframed(reply.body)
        return self.spelling.result(request.operation, self._read(request, message))

    def event(self, request: Asked, data: bytes, *, error: bool) -> Any:  # noqa: ARG002 -- the same in all forms
        return self.spelling.event(self._read(request, data))

    def serves(self, path: str) -> bool:
        service, _, method = path.removeprefix("/").rpartition("/")
        return service == self.service and method in self._types

    def output_of(self, path: str) -> str:
        """The message that the method at this path answers with."""
        name: str = self._types[path.rpartition("/")[2]].output_type.full_name
        return name

    def field(self, name: str) -> str:
        return super().field(re.sub(r"_([a-z])", lambda found: found[1].upper(), name))

    def end(self, reply: HttpReply) -> None:
        """Raises the `Fault` that the trailers say, if they do."""
        if reply.headers["grpc-status"] != "0":
            raise self.fault(read_status(self.cell, reply.headers), reply)

    def _read(self, request: Asked, message: bytes) -> Any:
        read: Params = json_format.MessageToDict(_proto.parse(self.output_of(request.path), message))
        if request.operation == "ListTasks":
            read = {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0, **read}
        return _stamped(read)


def _stamped(value: Any, member: str = "") -> Any:
    """Timestamps with milliseconds, which protobuf leaves out where there are none."""
    if isinstance(value, dict):
        return {name: _stamped(inner, name) for name, inner in cast("Params", value).items()}
    if isinstance(value, list):
        return [_stamped(inner) for inner in cast("Any", value)]
    return re.sub(r":(\d\d)Z$", r":\1.000Z", value) if member == "timestamp" and isinstance(value, str) else value


def _in_query(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


_KINDS: dict[str, type[Form]] = {"JSONRPC": JsonRpcForm, "HTTP+JSON": RestForm, "GRPC": GrpcForm}
FORMS: dict[Cell, Form] = {cell: _KINDS[cell.binding](cell) for cell in CELLS}
