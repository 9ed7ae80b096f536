"""What was found out about credentials, kept for a while. The credentials themselves are not kept."""

import hmac
import secrets
from typing import Generic, TypeVar

__all__ = ["Kept"]

V = TypeVar("V")


class Kept(Generic[V]):
    """Values by secrets, for the `most` that came last; a value is good until its time, in seconds. A secret is kept
    as its HMAC, under a key of this object.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pepper = secrets.token_bytes(32)
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
        return hmac.digest(self._pepper, secret.encode(errors="replace"), "sha256")
