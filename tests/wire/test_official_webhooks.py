"""What the official SDKs have posted to webhooks is read, and we post the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import types
from dragoman.dialects.push import read_push, write_push
from tests.wire.test_official_sdks_0_3 import plain

GOLDENS = Path(__file__).parent / "goldens" / "push"
DIALECTS = {
    "a2a-js-0.3.14": "0.3/JSONRPC",
    "a2a-js-1.3.0": "1.0/JSONRPC",
    "a2a-js-1.3.0-compat03": "0.3/JSONRPC",
    "a2a-sdk-0.3.26": "0.3/JSONRPC",
    "a2a-sdk-1.3.0": "1.0/JSONRPC",
    # It posts 1.0 to whoever has registered in 0.3.
    "a2a-sdk-1.3.0-compat03": "1.0/JSONRPC",
}
"""In which dialect each posts."""
MEDIA_TYPES = {"1.0/JSONRPC": "application/a2a+json", "0.3/JSONRPC": "application/json"}
KINDS: dict[str, type[Any]] = {
    "task": types.Task,
    "statusUpdate": types.TaskStatusUpdateEvent,
    "artifactUpdate": types.TaskArtifactUpdateEvent,
}


def _posted() -> Iterator[Any]:
    for path in sorted(GOLDENS.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield pytest.param(path.stem, json.loads(line), id=f"{path.stem}-{number}")


each_posted = pytest.mark.parametrize(("peer", "request_"), list(_posted()))


def test_all_peers_have_posted() -> None:
    assert {path.stem for path in GOLDENS.glob("*.jsonl")} == DIALECTS.keys()


@each_posted
def test_what_they_post_is_read(peer: str, request_: dict[str, Any]) -> None:
    body = json.loads(request_["body"])
    event = read_push(request_["body"].encode(), request_["headers"]["content-type"])
    name = "task" if "kind" in body else next(iter(body))
    assert isinstance(event, KINDS[name])
    told = body if "kind" in body else body[name]
    assert _about(event) == (told.get("taskId") or told["id"])


def _about(event: types.StreamEvent) -> str | None:
    return event.id if isinstance(event, types.Task) else event.task_id


@each_posted
def test_we_post_what_they_post(peer: str, request_: dict[str, Any]) -> None:
    dialect = DIALECTS[peer]
    event = read_push(request_["body"].encode(), request_["headers"]["content-type"], dialect)
    media_type, body = write_push(dialect, event)
    assert media_type == MEDIA_TYPES[dialect]
    assert plain(json.loads(body)) == plain(json.loads(request_["body"]))
