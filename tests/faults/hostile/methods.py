"""Methods and paths of nothing that is there, or of more than there should be."""

from tests.faults.hostile.cases import Case, Cases, requested

__all__ = ["METHODS"]


def _asked(target: str, method: str = "GET", **how: bool) -> tuple[bytes]:
    return (requested(method, target, b"", kind="", **how),)


OTHER = "405 METHOD_NOT_FOUND"
NONE = "404 METHOD_NOT_FOUND"
MISSING = "404 TASK_NOT_FOUND"

METHODS: Cases = {
    "a method in lower case": Case("400", _asked("/tasks/t", "get")),
    "a method that is none": Case("400", _asked("/tasks/t", "FROB")),
    "a method with a NUL": Case("400", _asked("/tasks/t", "GE\0T")),
    "a very long method": Case("400", _asked("/tasks/t", "A" * 10_000)),
    "an echo of the head": Case(OTHER, _asked("/tasks/t", "TRACE")),
    "a method of files": Case(OTHER, _asked("/tasks/t", "PROPFIND")),
    "a task that is put": Case(OTHER, _asked("/tasks/t", "PUT")),
    "a task that is deleted": Case(OTHER, _asked("/tasks/t", "DELETE")),
    "a task that is patched": Case(OTHER, _asked("/tasks/t", "PATCH")),
    "a path above the root": Case(NONE, _asked("/../../etc/passwd")),
    "a path above the root, encoded": Case(NONE, _asked("/%2e%2e/%2e%2e/etc/passwd")),
    "a path above the root, encoded twice": Case(NONE, _asked("/%252e%252e/%252e%252e/etc/passwd")),
    "a path above the root, behind semicolons": Case(NONE, _asked("/..;/..;/etc/passwd")),
    "a path with backslashes": Case(NONE, _asked("/..\\..\\etc\\passwd")),
    "a path with a NUL": Case("400", _asked("/tasks/\0")),
    "a path in other letters": Case("400", _asked("/tasks/\xe4")),
    "a path with a space": Case("400", _asked("/tasks/a b")),
    "a path of slashes": Case(NONE, _asked("//////tasks/t")),
    "a path that is a host": Case(NONE, _asked("//evil.example/tasks/t")),
    "a path without a slash": Case("400", _asked("tasks/t")),
    "a path of a million": Case("431", _asked("/" + "a" * 1_000_000)),
    "a query of a million": Case("431", _asked("/tasks?" + "a" * 1_000_000)),
    "a thousand parameters": Case("400 INVALID_PARAMS", _asked("/tasks?" + "&".join(["a=b"] * 1000))),
    "a fragment": Case(NONE, _asked("/tasks/t#/healthz")),
    "a target of another scheme": Case("400", _asked("file:///etc/passwd")),
    "a target with a user": Case("400", _asked("http://alice:secret@agent.example/tasks/t")),
    "an asterisk": Case(NONE, _asked("*", "OPTIONS")),
    "an asterisk for another method": Case(NONE, _asked("*")),
    "percent signs alone": Case(MISSING, _asked("/tasks/%%%")),
    "half a percent encoding": Case(MISSING, _asked("/tasks/%e")),
    "bytes that are no UTF-8, encoded": Case("400 INVALID_PARAMS", _asked("/tasks/%ff%fe")),
    "an overlong slash": Case("400 INVALID_PARAMS", _asked("/tasks/%c0%af")),
    "the card is no file": Case("404 METHOD_NOT_FOUND", _asked("/.well-known/../.well-known/agent-card.json%00.html")),
    "a dot file": Case(NONE, _asked("/.git/config")),
    "the card cannot be changed": Case("405", _asked("/.well-known/agent-card.json", "DELETE")),
    "a probe cannot be changed": Case("405", _asked("/healthz", "POST")),
}
