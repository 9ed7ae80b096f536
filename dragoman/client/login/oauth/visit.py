"""What a user is asked to open."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import msgspec

__all__ = ["Show", "Visit", "in_browser", "opened"]


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the provider's. Its URL was checked: it is https, or of this machine."""

    url: str
    code: str = ""
    """What the user compares, or types there; empty if there is none."""
    complete_url: str = ""
    """The same page with the code in it, if the provider has such."""
    seconds: float
    """How long it is waited for."""

    def words(self) -> str:
        """A sentence for the user."""
        code = f" and enter the code {self.code}" if self.code else ""
        return f"To log in, open {self.url}{code}"


Show = Callable[[Visit], Awaitable[None]]
"""Has the user open the page; it may return before that has happened."""


async def in_browser(visit: Visit) -> None:
    """Opens the page in the browser if there is one, and writes to standard error where it is."""
    sys.stderr.write(f"{visit.words()}\n")
    await opened(visit)


async def opened(visit: Visit) -> None:
    """Opens the page in the browser, if there is one."""
    import webbrowser  # brings much along

    # A browser of the terminal's own would take the terminal, and wait until it is left.
    await asyncio.to_thread(webbrowser.open, visit.complete_url or visit.url)
