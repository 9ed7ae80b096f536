"""Header fields between the bytes of hosts and the text of dialects."""

from collections.abc import Sequence

from dragoman.dialects.base import HttpReply
from dragoman.hosts.http1.heads import NO_BODY

__all__ = ["fields_by_name", "reply_fields"]


def fields_by_name(fields: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Values by lower-case name; several of one name are joined by a comma (RFC 9110 section 5.3), but cookies by a
    semicolon: over HTTP/2 they may come apart, and not every server joins them (RFC 9113 section 8.2.3).
    """
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
    return named if len(named) == len(fields) else _joined(fields)


def _joined(fields: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    named: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        between = "; " if name == "cookie" else ", "
        named[name] = f"{named[name]}{between}{value}" if name in named else value
    return named


def reply_fields(reply: HttpReply) -> list[tuple[bytes, bytes]]:
    """The fields of a reply, its length among them if it may have a body."""
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    if reply.status not in NO_BODY and "content-length" not in reply.headers:
        fields.append((b"content-length", b"%d" % len(reply.body)))
    return fields
