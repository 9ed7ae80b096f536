"""What a card asks of its callers, and how a way to log in answers that."""

from typing import Any, Protocol, runtime_checkable

import msgspec

from dragoman.errors import DragomanError
from dragoman.types.card import SecurityScheme

__all__ = ["CredentialsMissing", "CredentialsWithheld", "Login", "LoginError", "Need", "Secret"]


class LoginError(DragomanError):
    """The client could not log in; nothing was sent to the agent. The message holds no secret."""


class CredentialsMissing(LoginError):
    """The card asks for credentials, and the caller's `auth` has none that are enough. `schemes` names what lacks."""

    def __init__(self, message: str, schemes: tuple[str, ...] = ()) -> None:
        self.schemes = schemes
        super().__init__(message)


class CredentialsWithheld(LoginError):
    """There are credentials, and they may not go where the card sends its callers. `origin` is that place, which the
    caller can name to allow it; empty if it has none. `reason` is the message without that advice.
    """

    def __init__(self, reason: str, origin: str = "") -> None:
        self.reason = reason
        self.origin = origin
        super().__init__(f"{reason}; credential_origins=[{origin!r}] allows it" if origin else reason)


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """One scheme that an agent asks for, and who asks. What is for one origin, scheme and scopes is met by one secret.

    Where it is given to a login, the origin was checked already: the secret may go there.
    """

    name: str
    """The scheme's name in the card."""
    scheme: SecurityScheme
    scopes: tuple[str, ...] = ()
    """What the card's requirement names."""
    origin: str
    """Where the secret goes, as `https://agent.example` or `http://127.0.0.1:9999`; without a default port."""
    agent: str
    """The agent as OAuth's `resource` would name it: the URL that its card is well known below, else that of its first
    interface at the origin; without query.
    """
    card: str | None = None
    """URL that the card was fetched from; None for a file or a value."""
    alone: bool = True
    """Whether nothing else but a client certificate is asked for together with this."""
    public: bool = False
    """Whether the client may call public addresses alone (`network="public"`): nobody else is asked for a secret then,
    unless the user has named them.
    """


class Secret(msgspec.Struct, frozen=True):
    """What goes to an agent for one scheme. Its `repr` shows nothing of it.

    The client puts it where the scheme says: an API key into its header, query or cookie; `name:password` of HTTP Basic
    coded; all else behind the name of the HTTP scheme, which is Bearer for OAuth 2 and OpenID Connect.
    """

    value: str
    expires_at: float | None = None
    """Seconds since 1970, as `time.time()`; another is asked for before. None: as long as the agent takes it."""

    def __repr__(self) -> str:
        return "Secret()"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


@runtime_checkable
class Login(Protocol):
    """A way to get credentials, used by one client or by several. Asked by one call for all that wait for the same."""

    def takes(self, need: Need) -> bool:
        """Whether there may be a secret for this; told at once, without input or output. By this it is chosen among
        the alternatives of a card, so that nobody logs in where something else would still be lacking.
        """
        ...

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        """A secret for this; None if there is none after all, and other alternatives of the card are looked at.

        Asked once, and again shortly before what it gave expires, and when the agent did not take it: `refused` is that
        secret then, which is not to be given again. Kept in memory only.

        Raises:
            LoginError: there could be one, but it takes the user; goes up to the caller.
            TransportError: whoever gives it cannot be reached; a caller who follows a task tries again. Never
                `ConnectFailed`, which is the word for the agent's own connection.
        """
        ...
