"""The public keys with which the agent's signatures are verified, at their well-known address."""

import hashlib
from collections.abc import Callable, Mapping

from dragoman.dialects.base import HttpReply
from dragoman.hosts.cards import MAX_AGE, has_tag

__all__ = ["KEYS_PATH", "KeyPublisher"]

KEYS_PATH = "/.well-known/jwks.json"
"""Relative to where the application is mounted."""


class KeyPublisher:
    """Serves the JWK Set as it is at the moment, for caches to keep five minutes."""

    def __init__(self, key_set: Callable[[], bytes | None]) -> None:
        self._key_set = key_set

    def reply(self, method: str, headers: Mapping[str, str]) -> HttpReply:
        """The answer to a request of the set: 200, 304 if the caller has it, 404 if there are no keys to be known, 405
        for other verbs than GET and HEAD.
        """
        if method not in ("GET", "HEAD"):
            return HttpReply(405, {"allow": "GET, HEAD"})
        body = self._key_set()
        if body is None:
            return HttpReply(404, {"cache-control": "no-store"})
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        about = {"cache-control": f"public, max-age={MAX_AGE}", "etag": etag}
        if has_tag(headers.get("if-none-match", ""), etag):
            return HttpReply(304, about)
        about |= {"content-type": "application/jwk-set+json", "content-length": str(len(body))}
        return HttpReply(200, about, b"" if method == "HEAD" else body)
