"""The audit log: what it tells of decisions, what it keeps to itself, and how its file bears what is done to it."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import audit
from dragoman.audit import AuditLog
from dragoman.ports.audit import Decision
from dragoman.ports.auth import Peer
from dragoman.ports.call import Principal

CALL = Decision(
    outcome="refused",
    reason="PERMISSION_DENIED",
    operation="GetTask",
    dialect="1.0/JSONRPC",
    principal=Principal("alice@example.com", "key", frozenset({"pay"}), {"email": "alice@example.com"}),
    peer=Peer("192.0.2.77"),
    task_id="t",
    request_id="r",
)


def at_the_epoch() -> float:
    return 0.0


def kept(**options: Any) -> tuple[AuditLog, list[dict[str, Any]]]:
    told: list[dict[str, Any]] = []
    return AuditLog(told.append, now=at_the_epoch, **options), told


def test_what_is_told_of_a_decision_names_nobody() -> None:
    log, told = kept(key=b"k" * 16)
    log.keep(CALL)
    (line,) = told
    assert line == {
        "at": "1970-01-01T00:00:00.000Z",
        "outcome": "refused",
        "reason": "PERMISSION_DENIED",
        "operation": "GetTask",
        "dialect": "1.0/JSONRPC",
        "scheme": "key",
        "principal": line["principal"],
        "address": "192.0.2.0/24",
        "taskId": "t",
        "requestId": "r",
    }
    assert line["principal"].startswith("~")
    assert "alice" not in json.dumps(line)


def test_with_personal_it_names_who_it_was() -> None:
    log, told = kept(personal=True)
    log.keep(CALL)
    assert (told[0]["principal"], told[0]["address"]) == ("alice@example.com", "192.0.2.77")


def test_one_key_gives_a_principal_one_name_and_another_key_another() -> None:
    names: list[str] = []
    for key in (b"k" * 16, b"k" * 16, b"j" * 16, None):
        log, told = kept(key=key)
        log.keep(CALL)
        names.append(told[0]["principal"])
    assert names[0] == names[1]
    assert len(set(names)) == 3


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        AuditLog(key=b"short")


@pytest.mark.parametrize(("address", "told"), [("2001:db8:1:2::9", "2001:db8:1::/48"), ("", None), ("somewhere", None)])
def test_of_an_address_its_network_is_told(address: str, told: str | None) -> None:
    log, lines = kept()
    log.keep(Decision(outcome="allowed", peer=Peer(address)))
    assert lines[0].get("address") == told


def test_without_a_place_refusals_are_logged_at_info_and_the_rest_at_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = AuditLog(now=at_the_epoch)
    caplog.set_level(logging.INFO, "dragoman.audit")
    assert (log.wants("refused"), log.wants("allowed")) == (True, False)
    log.keep(CALL)
    assert json.loads(caplog.messages[0])["reason"] == "PERMISSION_DENIED"
    caplog.set_level(logging.DEBUG, "dragoman.audit")
    assert log.wants("allowed")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_file_is_for_its_owner_alone_and_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(2):
        log = AuditLog(path)
        assert log.wants("allowed")
        log.keep(CALL)
    assert [line["outcome"] for line in lines_of(path)] == ["refused", "refused"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, old = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    monkeypatch.setattr(audit, "LOOK", 0.0)
    log = AuditLog(path)
    log.keep(CALL)
    path.rename(old)
    log.keep(CALL)
    assert (len(lines_of(old)), len(lines_of(path))) == (1, 1)


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="audit"):
        AuditLog(tmp_path / "nowhere" / "audit.jsonl")


def _broken(_told: dict[str, Any]) -> None:
    raise RuntimeError("full")


@pytest.mark.parametrize("keep", [_broken])
def test_what_cannot_be_kept_costs_no_call_its_answer(
    keep: Callable[[dict[str, Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    times = iter([0.0, 0.0, 0.0, 1.0, 1.0, 61.0, 61.0, 61.0])
    log = AuditLog(keep, now=lambda: next(times))
    for _ in range(3):
        log.keep(CALL)
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(" could not be written")[0] for line in said] == ["1 decisions", "2 decisions"]
    assert "alice" not in caplog.text


def test_a_line_that_is_written_in_part_is_said_and_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    log.keep(CALL)
    write = os.write

    def in_part(file: int, line: bytes) -> int:
        return write(file, line[:20])

    with monkeypatch.context() as full:
        full.setattr(os, "write", in_part)
        log.keep(CALL)
    assert "could not be written" in caplog.text
    log.keep(CALL)
    log.keep(CALL)
    first, torn, *later = path.read_bytes().splitlines()
    assert len(torn) == 20
    assert [json.loads(line)["operation"] for line in (first, *later)] == ["GetTask"] * 3
