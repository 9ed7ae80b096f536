"""The audit log: a line of JSON for each decision about access, without personal data unless it is asked for."""

import hmac
import ipaddress
import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from dragoman.ports.audit import Decision, Outcome

__all__ = ["AuditLog", "Decision"]

log = logging.getLogger("dragoman.audit")
trouble = logging.getLogger("dragoman.server")

LEVELS: dict[Outcome, int] = {"refused": logging.INFO, "allowed": logging.DEBUG}
QUIET = 60.0
"""Seconds between two lines about what could not be written."""
LOOK = 1.0
"""Seconds between two looks whether the file is still where it was."""
KEPT_BITS = {4: 24, 6: 48}
"""Of an address, by its version: what is left says whose network it is, and no more."""
_encoder = msgspec.json.Encoder()

Keep = Callable[[dict[str, Any]], None]


class AuditLog:
    """Account of who was let in and who was not, one decision for each call and for each act of the agent's owner.

    What is told of each, as far as it is there: `at` (UTC, milliseconds), `outcome` (`allowed`, `refused`), `reason`
    (as the caller was told, or `ADDRESS_REFUSED`), `operation`, `dialect`, `scheme`, `principal`, `address`, `taskId`,
    and `requestId`, which the logs have too. Neither credentials nor contents are ever among it.

    Args:
        to: A file, which is appended to, and begun anew where it was moved away; made with mode 0600. Or a function,
            which is given each decision as a dict, and must not wait. Without either the logger `dragoman.audit` is
            given JSON, at INFO what was refused, at DEBUG what was allowed.
        personal: Whether principals and addresses are told as they are. Else a principal has a name that stands for it
            in this log alone, and of an address its network is told (24 bits of IPv4, 48 of IPv6).
        key: What the names of principals are made with, at least 16 bytes. Without it they are others in each process.
        now: Seconds since 1970.

    Raises:
        ValueError: the key is too short.
        OSError: the file cannot be written.
    """

    def __init__(
        self,
        to: "str | os.PathLike[str] | Keep | None" = None,
        *,
        personal: bool = False,
        key: bytes | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if key is not None and len(key) < 16:  # noqa: PLR2004 -- the key of an HMAC that nobody can guess
            raise ValueError("the key of an audit log has 16 bytes or more")
        self._personal = personal
        self._key = key or secrets.token_bytes(32)
        self._now = now
        self._logs = to is None
        self._lost, self._said = 0, -math.inf
        if callable(to):
            self._keep: Keep = to
        else:
            self._keep = _log if to is None else _File(to).append

    def wants(self, outcome: Outcome) -> bool:
        """As `Audit.wants`."""
        return not self._logs or log.isEnabledFor(LEVELS[outcome])

    def keep(self, decision: Decision) -> None:
        """As `Audit.keep`. What cannot be kept is said in the log of the server, at most once a minute, and costs no
        call its answer.
        """
        try:
            self._keep(self._told(decision))
        except Exception:  # noqa: BLE001 -- whatever goes wrong with it, the call has its answer
            self._lost += 1
            if abs(self._now() - self._said) >= QUIET:
                lost, self._lost, self._said = self._lost, 0, self._now()
                trouble.exception("%d decisions could not be written into the audit log, the last: %r", lost, decision)

    def _told(self, decision: Decision) -> dict[str, Any]:
        address = decision.peer.address
        at = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {
            "at": at,
            "outcome": decision.outcome,
            "reason": decision.reason,
            "operation": decision.operation,
            "dialect": decision.dialect,
            "scheme": decision.principal.scheme,
            "principal": self._name(decision.principal.id),
            "address": address if self._personal else _network(address),
            "taskId": decision.task_id,
            "requestId": decision.request_id,
        }
        return {name: value for name, value in told.items() if value}

    def _name(self, principal_id: str) -> str:
        if self._personal or not principal_id:
            return principal_id
        return "~" + hmac.digest(self._key, principal_id.encode(errors="replace"), "sha256").hex()[:16]


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return str(ipaddress.ip_network(f"{parsed}/{KEPT_BITS[parsed.version]}", strict=False))


def _log(told: dict[str, Any]) -> None:
    log.log(LEVELS[told["outcome"]], "%s", _encoder.encode(told).decode())


class _File:
    """Lines at the end of a file, each written at once and in one piece; any thread may write."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._turn = threading.Lock()
        self._looked = time.monotonic()
        self._torn = False
        """Whether the last line has no end."""
        self._file = self._open()

    def append(self, told: dict[str, Any]) -> None:
        line = _encoder.encode(told) + b"\n"
        with self._turn:
            if time.monotonic() - self._looked >= LOOK:
                self._look()
            if self._torn:
                line = b"\n" + line
            written = os.write(self._file, line)
            # A disk that is full takes what still fits.
            self._torn = written < len(line)
            if self._torn:
                raise OSError("a line of the audit log was written in part")

    def _look(self) -> None:
        """Begins the file anew if it was moved away, as those do who rotate logs."""
        self._looked = time.monotonic()
        mine = os.fstat(self._file)
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino):
            old, self._file = self._file, self._open()
            self._torn = False
            os.close(old)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
