"""How a login by OAuth ends when it does not end well. No message holds a secret."""

import shlex
from collections.abc import Iterable

from dragoman.client.login.need import LoginError
from dragoman.errors import TransportError

__all__ = ["LoginFailed", "LoginRequired", "ProviderUnreachable", "TokensUnsafe", "shown"]

LONGEST = 200


class LoginFailed(LoginError):
    """The provider said no, or what it or the card says cannot be trusted.

    `code` is the provider's word (RFC 6749 section 5.2, as `invalid_client` or `access_denied`), empty where it is
    ours; `description` is what the provider says of it: at most 200 printable characters.
    """

    def __init__(self, message: str, *, code: str = "", description: str = "") -> None:
        self.code = code
        self.description = description
        super().__init__(message)

    @classmethod
    def told(cls, code: str, description: str = "", secrets: Iterable[str] = ()) -> "LoginFailed":
        """What a provider answered. Whatever it repeats of `secrets` is left out."""
        code, description = shown(code, secrets), shown(description, secrets)
        message = f"The provider refuses: {code}" + (f" ({description})" if description else "")
        return cls(message, code=code, description=description)


class LoginRequired(LoginError):
    """Somebody has to log in to the agent, and this program may not ask them to."""

    def __init__(self, agent: str, client_id: str) -> None:
        self.agent = agent
        self.client_id = client_id
        super().__init__(f"Somebody has to log in to the agent first: {self.command()}")

    def command(self, agent: str = "") -> str:
        """The command line that does it; `agent` is another name for it."""
        return shlex.join(["dragoman", "auth", "login", agent or self.agent, "--client-id", self.client_id])


class TokensUnsafe(LoginError):
    """The files of tokens are not for their owner alone, or cannot be written; none of them was used."""


class ProviderUnreachable(TransportError):
    """The provider of tokens did not answer, or is in trouble. The agent was not asked."""


def shown(text: str, secrets: Iterable[str] = ()) -> str:
    """A beginning of what somebody else wrote, fit to be printed, without these secrets."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    return "".join(char if char.isprintable() else " " for char in text[:LONGEST])
