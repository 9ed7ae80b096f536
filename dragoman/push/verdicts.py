"""Whether a URL may be called, asked once for many configurations that name the same origin."""

import asyncio
import re

from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.ports.webhook import AddressRefused, Undelivered, WebhookClient

__all__ = ["Verdicts"]

KEPT = 10.0
"""Seconds for which an origin that may be called is not looked at again. Every call looks again, whatever is kept."""
MOST = 1_024
"""How many origins are kept."""

# What is not in this form is looked at each time, so that no odd spelling gains from what a plain one was told.
_plain = re.compile(r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)(?:[/?][!\"$-\[\]-~]*)?").fullmatch


class Verdicts:
    """Asks the client of webhooks, and keeps for a moment what may be called."""

    def __init__(self, client: WebhookClient) -> None:
        self._client = client
        self._good: dict[str, float] = {}

    async def check(self, url: str, field: str) -> None:
        """Returns if the URL may be called; `field` is where it stands in the request.

        Raises:
            InvalidParamsError: it may not, or its name cannot be resolved now.
        """
        plain = _plain(url)
        now = asyncio.get_running_loop().time()
        if plain is not None and self._good.get(plain[1], 0.0) > now:
            return
        try:
            await self._client.check(url)
        except AddressRefused as error:
            raise _refused(field, f"may not be called: {error}") from error
        except Undelivered as error:
            raise _refused(field, f"cannot be reached now: {error}") from None
        if plain is not None:
            if len(self._good) >= MOST:
                self._good.clear()
            self._good[plain[1]] = now + KEPT


def _refused(field: str, why: str) -> InvalidParamsError:
    return InvalidParamsError(f"The webhook {why}", violations=(FieldViolation(field, why),))
