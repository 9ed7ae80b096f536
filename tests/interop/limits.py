"""What a peer cannot do, with the lines of its source that say so. A limit that no longer holds fails its test."""

from tests.interop.columns import Column
from tests.interop.limit import Evidence, Limit
from tests.interop.webhook_limits import WEBHOOK_LIMITS

__all__ = ["LIMITS", "limit_of"]

_JS = ("js-1.3.0", "js-0.3.14")
_PROTO = ("HTTP+JSON", "GRPC")
_DEFAULT_HANDLER = "a2a/server/request_handlers/default_request_handler.py"

LIMITS: tuple[Limit, ...] = (
    Limit(
        peers=_JS,
        role="client",
        bindings=_PROTO,
        scenarios=("stream", "stream_follow_up", "subscribe"),
        instead={"text": ..., "missed": ..., "count": ...},
        reason="of an artifact's update `append` is not read, so each chunk replaces the one before",
        evidence=(
            Evidence("js-1.3.0", "dist/client/index.js", 4476, "static taskArtifactUpdateEvent(event)"),
            Evidence("js-0.3.14", "dist/chunk-5ONEQMOQ.js", 1506, 'kind: "artifact-update"'),
        ),
    ),
    Limit(
        peers=_JS,
        role="client",
        bindings=_PROTO,
        scenarios=("files", "large_file"),
        instead={"parts": ..., "same": False},
        reason="a file's bytes are taken as they are; the base64 text that the Python SDKs put there, and "
        "expect there, comes out encoded twice",
        evidence=(
            Evidence("js-1.3.0", "dist/client/index.js", 4207, 'toString("base64")'),
            Evidence("js-0.3.14", "dist/chunk-5ONEQMOQ.js", 1250, 'toString("base64")'),
            Evidence("py-0.3.26", "a2a/utils/proto_utils.py", 661, "file.file_with_bytes.decode('utf-8')"),
        ),
    ),
    Limit(
        peers=_JS,
        role="client",
        bindings=_PROTO,
        scenarios=("file_names",),
        instead={"names": [None, None]},
        reason="its `FilePart` has no `name`",
        evidence=(
            Evidence("js-1.3.0", "dist/client/index.js", 3177, "var FilePart"),
            Evidence("js-0.3.14", "dist/chunk-5ONEQMOQ.js", 198, "var FilePart"),
        ),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="client",
        bindings=("GRPC",),
        scenarios=("data",),
        instead="Request message serialization failure",
        reason="null within data cannot be written",
        evidence=(Evidence("js-0.3.14", "dist/chunk-QQCCX2KH.js", 221, '$case: "nullValue", value'),),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="client",
        bindings=("HTTP+JSON",),
        scenarios=("unknown_task",),
        instead={"subscribe": "status 400"},
        reason="the status of the answer to a subscription is not looked at; any error is taken for a stream of "
        "the wrong type",
        evidence=(
            Evidence("py-0.3.26", "a2a/client/transports/rest.py", 364, "async for sse in event_source.aiter_sse()"),
        ),
    ),
    Limit(
        peers=_JS,
        role="server",
        bindings=_PROTO,
        scenarios=("file_names",),
        instead={"names": [None, None]},
        reason="its `FilePart` has no `name`, as in its client",
        evidence=(Evidence("js-0.3.14", "dist/chunk-5ONEQMOQ.js", 198, "var FilePart"),),
    ),
    Limit(
        peers=_JS,
        role="server",
        versions=("1.0", "0.3"),
        bindings=("JSONRPC", "HTTP+JSON"),
        scenarios=("large_file",),
        instead="RequestTooLargeError",
        reason="bodies are read with the default limit of Express, 100 kB",
        evidence=(
            Evidence("js-1.3.0", "dist/server/express/index.js", 3409, "express.json()"),
            Evidence("js-0.3.14", "dist/server/express/index.js", 47, "express.json()"),
        ),
    ),
    Limit(
        peers=("js-1.3.0",),
        role="server",
        bindings=("GRPC",),
        scenarios=("history",),
        instead={"first": []},
        reason="a history length of 0, which in 0.3 is no limit and cannot be told from absence, is taken as "
        "1.0 has it",
        evidence=(
            Evidence(
                "js-1.3.0", "dist/compat/v0_3/server/grpc/index.js", 2508, "historyLength: compat.params.historyLength"
            ),
        ),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        bindings=("JSONRPC", "HTTP+JSON"),
        scenarios=("history",),
        instead={"first": []},
        reason="who does not ask for a length of history gets none",
        evidence=(Evidence("js-0.3.14", "dist/server/index.js", 836, "task.history = []"),),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        bindings=("JSONRPC", "HTTP+JSON"),
        scenarios=("ended_task",),
        instead={"send": "InvalidRequestError"},
        reason="a message to an ended task is an invalid request; 0.3 does not name the error",
        evidence=(Evidence("js-0.3.14", "dist/server/index.js", 625, "A2AError.invalidRequest("),),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        bindings=("GRPC",),
        scenarios=("ended_task",),
        instead={"send": "InvalidParamsError"},
        reason="the same, of which gRPC tells INVALID_ARGUMENT alone",
        evidence=(Evidence("js-0.3.14", "dist/server/grpc/index.js", 153, "[-32600]: grpc.status.INVALID_ARGUMENT"),),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        bindings=("HTTP+JSON",),
        scenarios=("unknown_task",),
        instead={"subscribe": "InternalError"},
        reason="an error before a stream is answered with 500",
        evidence=(
            Evidence(
                "js-0.3.14", "dist/server/express/index.js", 408, "Bug: toJson serializer and body must be provided"
            ),
        ),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        bindings=("GRPC",),
        scenarios=("data",),
        instead={"data": ...},
        reason="null within data is read as 0",
        evidence=(Evidence("js-0.3.14", "dist/chunk-QQCCX2KH.js", 238, "return message.kind?.value"),),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        scenarios=("subscribe",),
        instead={"first": ..., "missed": ..., "state": ...},
        reason="a subscriber gets what happens from now on, without the task as it is, and is not told of a "
        "cancellation",
        evidence=(
            Evidence("py-0.3.26", _DEFAULT_HANDLER, 152, "queue = await self._queue_manager.tap(task.id)"),
            Evidence("py-0.3.26", _DEFAULT_HANDLER, 539, "self._queue_manager.tap(task.id)"),
        ),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        scenarios=("leave",),
        instead={"count": ..., "state": ...},
        reason="the same, and for each subscriber every event is written to the stored task once more",
        evidence=(Evidence("py-0.3.26", _DEFAULT_HANDLER, 529, "task_manager = TaskManager("),),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        scenarios=("ended_task",),
        instead={"send": "InvalidParamsError"},
        reason="a message to an ended task has invalid parameters; 0.3 does not name the error",
        evidence=(Evidence("py-0.3.26", _DEFAULT_HANDLER, 222, "error=InvalidParamsError("),),
    ),
    Limit(
        peers=("py-1.3.0", "py-0.3.26"),
        role="server",
        bindings=("HTTP+JSON",),
        scenarios=("unknown_task",),
        instead={"subscribe": ...},
        reason="an error before a stream breaks off the answer, which has begun as a stream",
        evidence=(
            Evidence("py-1.3.0", "a2a/compat/v0_3/rest_adapter.py", 99, "async for item in stream:"),
            Evidence("py-0.3.26", "a2a/server/apps/rest/rest_adapter.py", 135, "async for item in stream:"),
        ),
    ),
    *WEBHOOK_LIMITS,
)


def limit_of(column: Column, scenario: str) -> int | None:
    """The number of the limit that covers a cell, from 1."""
    for number, limit in enumerate(LIMITS, 1):
        if limit.covers(column, scenario):
            return number
    return None
