"""What was found out about credentials, kept for a while. The credentials themselves are not kept."""

import hashlib
import secrets
from typing import Generic, TypeVar

__all__ = ["Kept"]

V = TypeVar("V")


class Kept(Generic[V]):
    """Values by secrets, for the `most` that came last; a value is good until its time, in seconds. A secret is kept
    as its digest, together with a key that this object has and nobody else.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # A whole block, digested once. An HMAC would take four times as long, and keep no more from anybody: what it is
        # for is digests that others see.
        self._peppered = hashlib.sha256(secrets.token_bytes(64))
        self._values: dict[bytes, tuple[V, float]] = {}

    def get(self, secret: str, now: float) -> V | None:
        found = self._values.get(self._mark(secret))
        return None if found is None or found[1] <= now else found[0]

    def put(self, secret: str, value: V, until: float) -> None:
        mark = self._mark(secret)
        self._values.pop(mark, None)
        if len(self._values) >= self._most:
            del self._values[next(iter(self._values))]
        self._values[mark] = value, until

    def clear(self) -> None:
        self._values.clear()

    def _mark(self, secret: str) -> bytes:
        digest = self._peppered.copy()
        digest.update(secret.encode(errors="replace"))
        return digest.digest()
