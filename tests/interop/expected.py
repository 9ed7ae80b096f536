"""What must be seen: the same in every cell, but for what the versions themselves tell apart."""

from tests.interop.columns import Column
from tests.interop.scenarios import DATA, FILES, METADATA, TEXT
from tests.interop.seeing import Facts

__all__ = ["absent", "expected"]

_COUNTED = "".join(f"{number} " for number in range(1, 21))

_PUSHED: Facts = {"authorizations": ["Bearer secret"], "tasks": True, "text": "1 2 3 ", "state": "completed"}
_TYPES = {"1.0": "application/a2a+json", "0.3": "application/json"}

_EVERYWHERE: dict[str, Facts] = {
    "blocking": {"state": "completed", "text": "hello"},
    "at_once": {"running": True, "state": "completed", "text": "1 2 3 4 5 6 "},
    "message": {"state": "", "text": "hello"},
    "stream": {"first": "task", "pieces": "many", "text": _COUNTED, "state": "completed"},
    "stream_message": {"kinds": ["message"], "text": "hello"},
    "get": {"state": "completed", "text": "keep this", "same": True},
    "history": {"first": ["say keep this"], "at_most_one": True},
    "pages": {"sizes": [2, 1], "total": 3, "newest_first": True},
    "cancel": {"running": True, "state": "canceled", "later": "canceled"},
    "subscribe": {"first": "task", "missed": set(), "state": "canceled"},
    "leave": {"state": "canceled", "count": "from 1"},
    "follow_up": {
        "asked": "input-required",
        "question": "Up or down?",
        "state": "completed",
        "text": "5 4 3 2 1 ",
        "same": True,
    },
    "stream_follow_up": {"asked": "input-required", "text": "1 2 3 4 5 ", "state": "completed"},
    "authorization": {"state": "auth-required", "note": "Who are you?"},
    "many_at_once": {"texts": True, "ids": 30},
    "letters": {"whole": TEXT, "streamed": TEXT},
    "large_file": {"same": True},
    "files": {
        "state": "completed",
        "parts": [{key: value for key, value in part.items() if key != "name"} for part in FILES],
    },
    "file_names": {"names": [part["name"] for part in FILES]},
    "data": {"state": "completed", "data": [DATA["data"]]},
    "metadata": {"metadata": [METADATA]},
    "failures": {"failed": ["failed", "It broke."], "rejected": ["rejected", "Not this."]},
    "unknown_task": dict.fromkeys(("get", "cancel", "subscribe", "send"), "TaskNotFoundError"),
    "ended_task": {"cancel": "TaskNotCancelableError", "send": "UnsupportedOperationError"},
    "subscribe_to_ended": {"answer": "UnsupportedOperationError"},
    "extended_card": {"name": "Interop, extended"},
    "tenant": {"text": "mine", "found": True},
    "webhook_settings": {
        "created": "as given",
        "read": "as given",
        "listed": "as given",
        "deleted": [],
        "left": "as given",
        "gone": "TaskNotFoundError",
    },
    "webhook": {"tokens": ["of-mine"], **_PUSHED},
    "webhook_with_message": {"tokens": ["of-mine"], **_PUSHED},
}

_OURS: dict[str, Facts] = {
    "subscribe": {"count": "from 1"},
    "tenant": {"elsewhere": "TaskNotFoundError"},
    "webhook_settings": {"credentials": False},
    "webhook": {"numbered": True},
    "webhook_with_message": {"numbered": True},
}
"""What our server promises beyond the protocol: nothing comes twice, tenants do not see each other's tasks, nobody sees
a webhook's credentials, and what is posted says its number and its version.
"""

_ONLY_1_0 = {"pages": "0.3 lists no tasks", "tenant": "0.3 has no tenants"}


def absent(column: Column, scenario: str) -> str:
    """Why the version itself has no such cell; empty if it has."""
    if column.version == "1.0":
        return ""
    if scenario == "subscribe_to_ended" and column.role == "server":
        return "0.3 does not say what a server answers"
    return _ONLY_1_0.get(scenario, "")


def expected(column: Column, scenario: str) -> Facts:
    facts = _EVERYWHERE[scenario]
    if scenario == "subscribe_to_ended" and column.version == "0.3":
        return {"answer": "completed"}
    ours = column.role == "client"
    if scenario in {"webhook", "webhook_with_message"}:
        said = {"versions": [column.version], "types": [_TYPES[column.version]]}
        facts = {**facts, "forms": [column.version], **(said if ours else {})}
    return {**facts, **_OURS.get(scenario, {})} if ours else facts
