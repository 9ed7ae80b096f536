"""Heads of requests and answers, as HTTP/1.1 writes them (RFC 9112)."""

import http
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from email.utils import formatdate
from urllib.parse import unquote_to_bytes

from httptools import parse_url

__all__ = [
    "AUTHORITY",
    "NO_BODY",
    "answer_head",
    "date_line",
    "expects_word",
    "plain_answer",
    "split_target",
    "whole_answer",
    "without_upgrade",
]

AUTHORITY = re.compile(rb"(?:\[[0-9A-Za-z:.%\-_~]+\]|[!$%&'()*+,\-.0-9;=A-Z_a-z~]*)(?::[0-9]*)?").fullmatch
"""Host and port (RFC 3986 section 3.2), either of them perhaps empty, and no user information."""

UPGRADE = frozenset({b"upgrade", b"connection", b"http2-settings"})
"""Fields that ask for another protocol."""

NO_BODY = frozenset({204, 304})
"""Statuses whose answers have no body, and say nothing of its length (RFC 9110 section 6.4.1)."""

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode("latin-1") for status in http.HTTPStatus
}


class _Date:
    """The date line, written once a second."""

    second = 0
    line = b""


def date_line() -> bytes:
    now = int(time.time())
    if now != _Date.second:
        _Date.second, _Date.line = now, b"date: %b\r\n" % formatdate(now, usegmt=True).encode("latin-1")
    return _Date.line


def answer_head(status: int, headers: Iterable[tuple[bytes, bytes]], further: bytes) -> bytes:
    """Status line, `headers`, whole lines in `further`, the date, and the empty line.

    Raises:
        ValueError: a name or value would end its line early.
    """
    lines = [b"%b: %b\r\n" % field for field in headers]
    fields = b"".join(lines)
    if fields.count(b"\n") != len(lines) or fields.count(b"\r") != len(lines) or b"\0" in fields:
        raise ValueError("a header field of the answer holds a line break")
    line = _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
    return b"%b%b%b%b\r\n" % (line, fields, further, date_line())


def whole_answer(status: int, headers: Mapping[str, str], body: bytes, further: bytes) -> bytes:
    """Status line, `headers`, the length of the body, whole lines in `further`, the date, and the body.

    Raises:
        ValueError: a name or value would end its line early, or is not Latin-1.
    """
    count = len(headers)
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if fields.count("\n") != count or fields.count("\r") != count or "\0" in fields:
        raise ValueError("a header field of the answer holds a line break")
    line = _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
    head = fields.encode("latin-1")
    return b"%b%bcontent-length: %d\r\n%b%b\r\n%b" % (line, head, len(body), further, date_line(), body)


def plain_answer(status: int, further: bytes = b"") -> bytes:
    """A whole answer that ends the connection, for what never reaches the application."""
    text = http.HTTPStatus(status).phrase.encode() + b"\n"
    headers = (
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
        (b"connection", b"close"),
    )
    return answer_head(status, headers, further) + text


def expects_word(fields: Sequence[tuple[bytes, bytes]], named: Mapping[str, str], version: str) -> bool:
    """Whether the caller waits for word before it sends the body (RFC 9110 section 10.1.1). `named` are the same
    fields, by name.

    Raises:
        ValueError: there is not one host (RFC 9112 section 3.2), or the body's coding is another than the version's own
            chunks: whoever stands between may have seen another end of it (section 6.1).
    """
    newer = version == "1.1"
    if newer and len(named) == len(fields) and "transfer-encoding" not in named:
        host = named.get("host")
        if host is None or not AUTHORITY(host.encode("latin-1")):
            raise ValueError("there has to be one host")
        return "expect" in named and named["expect"].lower() == "100-continue"
    return _expects_word(fields, version)


def _expects_word(fields: Iterable[tuple[bytes, bytes]], version: str) -> bool:
    hosts, expects = 0, False
    for name, value in fields:
        if name == b"host":
            hosts += 1
            if not AUTHORITY(value):
                raise ValueError("the host is none")
        elif name == b"expect":
            expects = value.lower() == b"100-continue"
        elif name == b"transfer-encoding" and (version == "1.0" or value.lower() != b"chunked"):
            raise ValueError("this coding is not understood")
    if hosts != 1 and (hosts or version == "1.1"):
        raise ValueError("there has to be one host")
    return expects and version == "1.1"


def without_upgrade(method: bytes, target: bytes, version: str, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The head of a request again, as if it had not asked for another protocol (RFC 9110 section 7.8)."""
    lines = [b"%b %b HTTP/%b" % (method, target, version.encode())]
    lines += [b"%b: %b" % field for field in fields if field[0] not in UPGRADE]
    lines += [b"connection: close" for name, value in fields if name == b"connection" and b"close" in value]
    return b"\r\n".join([*lines, b"", b""])


def split_target(target: bytes) -> tuple[str, bytes, bytes, bytes | None]:
    """Path, path as it was sent, query and authority of a request target in origin, absolute or asterisk form; only
    the absolute form has an authority.

    Raises:
        ValueError: it is in none of them.
    """
    authority = None
    if target[:1] == b"/":
        raw, _, query = target.partition(b"?")
        query = query.partition(b"#")[0]
    elif target == b"*":
        raw, query = b"*", b""
    else:
        raw, query, authority = _absolute(target)
    path = unquote_to_bytes(raw) if b"%" in raw else raw
    return path.decode("utf-8", "replace"), raw, query, authority


def _absolute(target: bytes) -> tuple[bytes, bytes, bytes]:
    try:
        url = parse_url(target)
    except Exception as error:  # httptools raises its own, which is no ValueError
        raise ValueError("the request target is no URL") from error
    if url.schema.lower() not in {b"http", b"https"} or url.userinfo or not url.host:
        raise ValueError("the request target is no URL of HTTP")
    host = b"[%b]" % url.host if b":" in url.host else url.host
    return url.path or b"/", url.query or b"", b"%b:%d" % (host, url.port) if url.port else host
