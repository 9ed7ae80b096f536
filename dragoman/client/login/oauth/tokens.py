"""What a login has brought, and what is kept of it."""

from typing import Any

import msgspec

from dragoman.client.login.need import Secret

__all__ = ["MARGIN", "Kept", "Key", "Token", "is_below"]

MARGIN = 30.0
"""Seconds before its end at which a token counts as expired; half its life if that is shorter."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What a token is for. Scopes are those that were asked for, in order of the alphabet."""

    origin: str
    """Of the agent."""
    scheme: str
    """Its name in the agent's card."""
    scopes: tuple[str, ...] = ()
    client_id: str = ""
    resource: str = ""
    """What it was asked for (RFC 8707): several agents may be at one origin."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """An access token, and what renews it. Its `repr` shows nothing of them. Times are seconds since 1970."""

    access: str
    refresh: str = ""
    obtained_at: float
    expires_at: float | None = None
    """None: the provider has not said."""
    scopes: tuple[str, ...] = ()
    """What was granted."""
    subject: str = ""
    """Who has logged in, as far as the provider has said."""

    def __repr__(self) -> str:
        return "Token()"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []

    def fresh(self, now: float) -> bool:
        """Whether it can still be used for a while."""
        if self.expires_at is None:
            return True
        return now < self.expires_at - min(MARGIN, (self.expires_at - self.obtained_at) / 2)

    def good(self, now: float) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at

    def secret(self) -> Secret:
        """As it goes to the agent."""
        return Secret(self.access, self.expires_at)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A login: what it is for, what it has brought, and where that came from.

    What renews a token goes back to where it came from, and nowhere else, whatever a card says by then.
    """

    key: Key
    token: Token
    agent: str
    """The agent as its user named it, or nearly so."""
    grant: str
    token_url: str
    refresh_url: str = ""
    """Where the card says that tokens are renewed, if that is another place."""
    revocation_url: str = ""
    issuer: str = ""
    client_auth: str = "none"
    parameters: dict[str, str] = {}
    """What the user has added to requests."""
    secret_variable: str = ""
    """The environment variable that has the client's secret, which itself is not kept."""


def is_below(place: str, root: str) -> bool:
    """Whether one URL is the other, or below it."""
    return f"{place.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")
