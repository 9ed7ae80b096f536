"""The secrets that a client has, kept in memory and renewed in time."""

import asyncio
import time
from collections.abc import Callable, Iterable

from dragoman.client.login.need import Login, Need, Secret
from dragoman.errors import DragomanError, TransportError

__all__ = ["MARGIN", "Wallet"]

MARGIN = 30.0
"""Seconds before its end in which a secret is renewed; half its time, if that is less."""
PATIENCE = 5.0
"""Seconds that logins have to end when the client closes."""
MOST = 64
"""Secrets that are kept: a card that changes its mind all the time is forgotten, the oldest first."""


class _Slot:
    """What is known for one need."""

    def __init__(self, need: Need) -> None:
        self.need = need
        self.secret: Secret | None = None
        self.renew_at = 0.0
        self.refused: Secret | None = None
        """What the agent did not take last."""
        self.exhausted = False
        """Whether there is nothing in place of what was refused."""
        self.asking: asyncio.Task[Secret | None] | None = None

    def keep(self, secret: Secret | None, now: float) -> None:
        self.secret = secret
        if secret is not None and secret.expires_at is not None:
            left = secret.expires_at - now
            self.renew_at = secret.expires_at - min(MARGIN, left / 2)

    def good(self, now: float) -> bool:
        secret = self.secret
        return secret is not None and (secret.expires_at is None or now < self.renew_at)


class Wallet:
    """Asks a login for each need once, for all who wait; again before the secret ends, and when it was refused.

    `clock` gives seconds since 1970.
    """

    def __init__(self, login: Login, clock: Callable[[], float] = time.time) -> None:
        self._login = login
        self._clock = clock
        self._slots: dict[tuple[str, str, tuple[str, ...]], _Slot] = {}
        self._asked: set[asyncio.Task[Secret | None]] = set()
        self._closed = False

    def takes(self, need: Need) -> bool:
        """Whether there may be a secret for this, as far as is known without asking."""
        return not self._slot(need).exhausted and self._login.takes(need)

    def at_hand(self, need: Need) -> Secret | None:
        """The secret, if nobody has to be asked for it."""
        slot = self._slot(need)
        return slot.secret if slot.good(self._clock()) else None

    async def secret(self, need: Need) -> Secret | None:
        """The secret; None if there is none. A login goes on if who waits for it is cancelled: its outcome is kept.

        Raises as `Login.credentials`; while what is there is still good, that is given instead.
        """
        slot = self._slot(need)
        if slot.good(self._clock()):
            return slot.secret
        if slot.exhausted:
            return None
        if self._closed:
            raise TransportError("The client is closed")
        if slot.asking is None:
            slot.asking = asyncio.get_running_loop().create_task(self._ask(slot))
            self._asked.add(slot.asking)
            slot.asking.add_done_callback(self._told)
        asking = slot.asking
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError as error:
            if not asking.cancelled():
                raise
            raise TransportError("The client is closed") from error

    def refuse(self, need: Need, secret: Secret) -> None:
        """The agent did not take this. It is not given again, unless another has taken its place already."""
        slot = self._slot(need)
        if slot.secret is secret:
            slot.secret, slot.refused = None, secret

    def forgive(self, needs: Iterable[Need]) -> None:
        """There was nothing better: the next call tries again with what there is."""
        for need in needs:
            slot = self._slot(need)
            slot.refused, slot.exhausted = None, False

    async def aclose(self) -> None:
        """Ends logins that are under way."""
        self._closed = True
        asked = list(self._asked)
        for asking in asked:
            asking.cancel()
        if asked:
            await asyncio.wait(asked, timeout=PATIENCE)

    async def _ask(self, slot: _Slot) -> Secret | None:
        try:
            given = await self._login.credentials(slot.need, refused=slot.refused)
        except DragomanError:
            if slot.secret is None or (slot.secret.expires_at or 0.0) <= self._clock():
                raise
            return slot.secret
        finally:
            slot.asking = None
        if slot.refused is not None and (given is None or given.value == slot.refused.value):
            slot.exhausted = True
            return None
        slot.keep(given, self._clock())
        return given

    def _told(self, asking: asyncio.Task[Secret | None]) -> None:
        self._asked.discard(asking)
        if not asking.cancelled():
            asking.exception()  # Told to those who wait, if any still do.

    def _slot(self, need: Need) -> _Slot:
        key = (need.origin, need.name, need.scopes)
        slot = self._slots.get(key)
        if slot is None or (slot.need is not need and slot.need.scheme != need.scheme):
            slot = self._slots[key] = _Slot(need)
            if len(self._slots) > MOST:
                del self._slots[next(iter(self._slots))]
        return slot
