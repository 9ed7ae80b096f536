"""From decoded fields to a request's head: what RFC 9113 section 8 asks of it, and what ASGI makes of it."""

import re
from typing import Any, Final
from urllib.parse import unquote

from dragoman.hosts.http1.heads import AUTHORITY
from dragoman.hosts.http2.fields import OF_A_CONNECTION, TOKEN, Field, FieldReader

__all__ = ["Head", "HeadReader", "MalformedError", "check_trailers", "read_head"]

MOST_KNOWN = 32
"""Heads that a connection remembers."""
LARGEST_KNOWN = 4096
"""Bytes of block and values of a head that is remembered."""

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+").fullmatch
_BAD_VALUE = re.compile(rb"[\0\r\n]|\A[ \t]|[ \t]\Z").search
_TARGET = re.compile(rb"/[!-\"$-~]*|\*").fullmatch
"""Without a fragment, which is the client's own business."""
_DIGITS = re.compile(rb"[0-9]{1,18}").fullmatch

_PSEUDO = frozenset({b":method", b":scheme", b":path", b":authority"})


class MalformedError(Exception):
    """The stream is reset with PROTOCOL_ERROR."""


class Head:
    """A request's head. Several requests may share one: what is taken from it is copied first."""

    __slots__ = ("expects", "headers", "length", "method", "scope")

    def __init__(self, method: str, scope: dict[str, Any], headers: list[Field]) -> None:
        self.method: Final = method
        self.scope: Final = scope
        """`method`, `path`, `raw_path`, `query_string`, as in an ASGI scope."""
        self.headers: Final = headers
        """`host` first, from `:authority`; several `cookie` fields are one."""
        values = [value for name, value in headers if name == b"content-length"]
        self.length: Final = int(values[0]) if values else None
        """What `content-length` announces."""
        self.expects: Final = (b"expect", b"100-continue") in headers


def read_head(fields: list[Field]) -> Head:
    """
    :raises MalformedError: of what RFC 9113 sections 8.2 and 8.3 forbid, except that CONNECT is read as any other
        method: it is refused later.
    """
    pseudo, headers = _split(fields)
    method, path, authority = pseudo.get(b":method", b""), pseudo.get(b":path", b"/"), pseudo.get(b":authority")
    if not TOKEN(method) or not _TARGET(path) or (path == b"*" and method != b"OPTIONS"):
        raise MalformedError("method or path")
    if method != b"CONNECT" and not (pseudo.get(b":scheme") and b":path" in pseudo):
        raise MalformedError("scheme or path are missing")
    headers = _with_host(headers, authority)
    lengths = {value for name, value in headers if name == b"content-length"}
    if len(lengths) > 1 or not all(map(_DIGITS, lengths)):
        raise MalformedError("content-length")
    raw_path, _, query = path.partition(b"?")
    scope: dict[str, Any] = {
        "method": method.decode("ascii"),
        "path": unquote(raw_path.decode("ascii")),
        "raw_path": raw_path,
        "query_string": query,
    }
    return Head(scope["method"], scope, _one_cookie(headers))


def check_trailers(fields: list[Field]) -> None:
    """:raises MalformedError: these cannot stand behind a body."""
    pseudo, _ = _split(fields)
    if pseudo:
        raise MalformedError("pseudo-header in trailers")


def _split(fields: list[Field]) -> tuple[dict[bytes, bytes], list[Field]]:
    pseudo: dict[bytes, bytes] = {}
    for name, value in fields:
        if name[:1] != b":":
            break
        if name not in _PSEUDO or name in pseudo or _BAD_VALUE(value):
            raise MalformedError("pseudo-header: unknown, twice, or with a value that is none")
        pseudo[name] = value
    headers = fields[len(pseudo) :]
    for name, value in headers:
        if not _NAME(name) or name in OF_A_CONNECTION or _BAD_VALUE(value):
            raise MalformedError("header field that HTTP/2 does not have")
        if name == b"te" and value.lower() != b"trailers":
            raise MalformedError("te")
    return pseudo, headers


def _with_host(headers: list[Field], authority: bytes | None) -> list[Field]:
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (hosts and authority and hosts[0].lower() != authority.lower()):
        raise MalformedError("host")
    host = authority or (hosts[0] if hosts else None)
    if host is None:
        return headers
    if not AUTHORITY(host):
        raise MalformedError("authority")
    return [(b"host", host), *(field for field in headers if field[0] != b"host")]


def _one_cookie(headers: list[Field]) -> list[Field]:
    """The cookies of one request may come in several fields, to be compressed better (RFC 9113 section 8.2.3)."""
    cookies = [value for name, value in headers if name == b"cookie"]
    if len(cookies) < 2:  # noqa: PLR2004 -- one is in one field already
        return headers
    return [*(field for field in headers if field[0] != b"cookie"), (b"cookie", b"; ".join(cookies))]


class HeadReader:
    """Heads of one connection from their blocks. A block that came before and still says the same is not read again."""

    def __init__(self, max_bytes: int, max_fields: int) -> None:
        self._fields = FieldReader(max_bytes, max_fields)
        self._known: dict[bytes, Head] = {}

    def head(self, block: bytes) -> Head | None:
        """
        :returns: None for a head that is larger than allowed.
        :raises ConnectionFault: as `FieldReader.read`.
        :raises MalformedError: as `read_head`.
        """
        known = self._known.get(block)
        if known is not None:
            return known
        before = self._fields.changes
        fields = self.fields(block)
        if fields is None:
            return None
        head = read_head(fields)
        if self._fields.changes == before and len(block) + sum(len(value) for _, value in fields) <= LARGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[block] = head
        return head

    def fields(self, block: bytes) -> list[Field] | None:
        """As `FieldReader.read`."""
        before = self._fields.changes
        fields = self._fields.read(block)
        if self._fields.changes != before:
            self._known.clear()
        return fields
