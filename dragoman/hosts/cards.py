"""The agent card at its well-known address, with what HTTP caches need (specification sections 8.2 and 8.6)."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.types.card import AgentCard, APIKeySecurityScheme, MutualTlsSecurityScheme, SecurityScheme

__all__ = ["MAX_AGE", "CallerCards", "CardPublisher", "has_tag"]

MAX_AGE = 300
"""Seconds."""
CALLER_MAX_AGE = 60
"""Seconds for which a caller keeps a card of its own: what it may see can change any time."""
CACHED_BASES = 64


def has_tag(tags: str, etag: str) -> bool:
    """Whether the caller has what has this tag, by the `If-None-Match` that it sends."""
    return tags.strip() == "*" or etag in [tag.strip().removeprefix("W/") for tag in tags.split(",")]


class CallerCards:
    """What HTTP caches are told of the card that a caller has got (section 13.3): it is the caller's own. Callers are
    told apart by the headers of these schemes; where no header tells them apart, no answer is good for another request.
    """

    def __init__(self, schemes: Mapping[str, SecurityScheme]) -> None:
        self._vary = ", ".join(dict.fromkeys(["accept", "a2a-version", *map(_header, schemes.values())])).strip(", ")
        if any(isinstance(scheme, MutualTlsSecurityScheme) for scheme in schemes.values()):
            self._vary = "*"

    def kept(self, request: HttpRequest, reply: HttpReply) -> HttpReply:
        """The answer with what caches need, if it is one to GET; 304 if the caller has it."""
        if request.method != "GET" or reply.status != 200:  # noqa: PLR2004 -- the status is its own name
            return reply
        etag = f'"{hashlib.sha256(reply.body).hexdigest()[:32]}"'
        about = {"cache-control": f"private, max-age={CALLER_MAX_AGE}", "etag": etag, "vary": self._vary}
        if has_tag(request.headers.get("if-none-match", ""), etag):
            return HttpReply(304, about)
        return HttpReply(reply.status, reply.headers | about, reply.body)


def _header(scheme: SecurityScheme) -> str:
    """In which header callers of a scheme are known; empty if in none."""
    if not isinstance(scheme, APIKeySecurityScheme):
        return "authorization"
    return {"header": scheme.name.lower(), "cookie": "cookie"}.get(scheme.location, "")


class CardPublisher:
    """Serves the card as it is for each base URL; encodes it once for each, for up to 64 of them, and anew when
    `edition` gives something else.
    """

    def __init__(
        self,
        card_at: Callable[[str], AgentCard],
        encode: Callable[[AgentCard], bytes],
        *,
        since: datetime,
        edition: Callable[[], object] = lambda: None,
    ) -> None:
        self._card_at = card_at
        self._encode = encode
        self._since = since.replace(microsecond=0)
        self._edition = edition
        self._current = edition()
        self._encoded: dict[str, tuple[bytes, str]] = {}

    def reply(self, method: str, headers: Mapping[str, str], base: str) -> HttpReply:
        """The answer to a request of the card: 200, 304 if the caller has it, 405 for other verbs than GET and HEAD."""
        if method not in ("GET", "HEAD"):
            return HttpReply(405, {"allow": "GET, HEAD"})
        body, etag = self._card(base)
        about = {
            "cache-control": f"public, max-age={MAX_AGE}",
            "etag": etag,
            "last-modified": format_datetime(self._since, usegmt=True),
        }
        if self._known(headers, etag):
            return HttpReply(304, about)
        about["content-type"] = "application/json"
        if method == "HEAD":
            about["content-length"] = str(len(body))
            return HttpReply(200, about)
        return HttpReply(200, about, body)

    def _card(self, base: str) -> tuple[bytes, str]:
        if (edition := self._edition()) != self._current:
            self._current = edition
            self._encoded.clear()
        known = self._encoded.get(base)
        if known is None:
            body = self._encode(self._card_at(base))
            known = (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            if len(self._encoded) >= CACHED_BASES:
                self._encoded.clear()
            self._encoded[base] = known
        return known

    def _known(self, headers: Mapping[str, str], etag: str) -> bool:
        """Whether the caller's copy is current; If-None-Match goes before the date (RFC 9110 section 13.2.2)."""
        tags = headers.get("if-none-match")
        if tags is not None:
            return has_tag(tags, etag)
        date = headers.get("if-modified-since")
        if date is None:
            return False
        try:
            return parsedate_to_datetime(date) >= self._since
        except (ValueError, TypeError, OverflowError):
            return False
