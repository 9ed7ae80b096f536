"""What went wrong, as the caller gets it: an error envelope and an exit code that agree.

Errors that the protocol names keep their name; eight local codes cover the rest.
"""

from typing import Any, NamedTuple

import click

from dragoman.errors import (
    A2AError,
    ConnectFailed,
    ParseError,
    PermissionDeniedError,
    ReplyMalformed,
    RequestTooLargeError,
    TimedOut,
    UnauthenticatedError,
    UnavailableError,
)

__all__ = ["EXITS", "CredentialsMissing", "Failure", "Interrupted", "WaitTooLong", "failure_of"]

USAGE = "A2ACLI_ERR_USAGE"
CARD_NOT_FOUND = "A2ACLI_ERR_CARD_NOT_FOUND"
CARD_INVALID = "A2ACLI_ERR_CARD_INVALID"
UNREACHABLE = "A2ACLI_ERR_UNREACHABLE"
CREDENTIALS_MISSING = "A2ACLI_ERR_CREDENTIALS_MISSING"
AUTH_FAILED = "A2ACLI_ERR_AUTH_FAILED"
TIMEOUT = "A2ACLI_ERR_TIMEOUT"
INTERNAL = "A2ACLI_ERR_INTERNAL"
INTERRUPTED = "DRAGOMAN_ERR_INTERRUPTED"

_UNAUTHORIZED, _FORBIDDEN = 401, 403

EXITS = {
    USAGE: 2,
    CARD_NOT_FOUND: 3,
    CARD_INVALID: 1,
    UNREACHABLE: 3,
    CREDENTIALS_MISSING: 4,
    AUTH_FAILED: 4,
    TIMEOUT: 5,
    INTERNAL: 1,
}
"""The local codes and the exit code of each; every error that the protocol names exits with 1."""


class CredentialsMissing(Exception):
    """The card demands credentials and none that fit were given."""


class WaitTooLong(Exception):
    """`--timeout` ran out."""


class Interrupted(Exception):
    """A signal ended the program."""

    def __init__(self, signal_number: int) -> None:
        self.exit = 128 + signal_number
        super().__init__("interrupted; the task goes on")


class Failure(NamedTuple):
    """The error object of JSON output, and the exit code that goes with it."""

    code: str
    message: str
    hint: str | None
    a2a_code: int | str | None
    exit: int

    def envelope(self) -> dict[str, Any]:
        return {
            "error": {"code": self.code, "message": self.message, "hint": self.hint, "a2aCode": self.a2a_code},
        }


_LOCAL: tuple[tuple[type[BaseException], str], ...] = (
    (click.UsageError, USAGE),
    (CredentialsMissing, CREDENTIALS_MISSING),
    (WaitTooLong, TIMEOUT),
    (ConnectFailed, UNREACHABLE),
    (TimedOut, UNREACHABLE),
    (UnavailableError, UNREACHABLE),
    (UnauthenticatedError, AUTH_FAILED),
    (PermissionDeniedError, AUTH_FAILED),
)
_PROTOCOL_NAMES = {ParseError: "JSONParseError", RequestTooLargeError: "InvalidRequestError"}


def failure_of(
    error: BaseException,
    *,
    hint: str | None = None,
    a2a_code: int | str | None = None,
    had_credentials: bool = True,
) -> Failure:
    """The failure that an exception means. `a2a_code` is the binding's code of an error that the agent sent."""
    if isinstance(error, Interrupted):
        return Failure(INTERRUPTED, str(error), hint, None, error.exit)
    code = _code_of(error, had_credentials=had_credentials)
    return Failure(code, _message_of(error), hint, a2a_code, EXITS.get(code, 1))


def _code_of(error: BaseException, *, had_credentials: bool) -> str:
    found = next((code for kind, code in _LOCAL if isinstance(error, kind)), None)
    if found == AUTH_FAILED and not had_credentials:
        return CREDENTIALS_MISSING
    local = found or _card_code(error) or _login_code(error)
    if local is not None:
        return local
    if isinstance(error, A2AError):
        return next((name for kind, name in _PROTOCOL_NAMES.items() if type(error) is kind), type(error).__name__)
    return "InvalidAgentResponseError" if isinstance(error, ReplyMalformed) else INTERNAL


def _card_code(error: BaseException) -> str | None:
    # Loading the client is not worth it for failures that come before it, so those are found out first.
    from dragoman.client.discovery import CardInvalid, CardNotFound
    from dragoman.client.signatures import CardNotVerified

    if isinstance(error, CardInvalid | CardNotVerified):
        return CARD_INVALID
    if not isinstance(error, CardNotFound):
        return None
    return CREDENTIALS_MISSING if error.status in (_UNAUTHORIZED, _FORBIDDEN) else CARD_NOT_FOUND


def _login_code(error: BaseException) -> str | None:
    from dragoman.client.login import LoginError
    from dragoman.client.login.oauth import LoginFailed, ProviderUnreachable, TokensUnsafe

    if isinstance(error, ProviderUnreachable):
        return UNREACHABLE
    if isinstance(error, LoginFailed | TokensUnsafe):
        return AUTH_FAILED
    return CREDENTIALS_MISSING if isinstance(error, LoginError) else None


def _message_of(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, A2AError) and error.violations:
        places = "; ".join(f"{violation.field}: {violation.description}" for violation in error.violations)
        return f"{error.message} ({places})"
    return _withheld(error) or str(error) or type(error).__name__


def _withheld(error: BaseException) -> str:
    """Why credentials are withheld, without the advice for programs."""
    from dragoman.client.login import CredentialsWithheld

    return error.reason if isinstance(error, CredentialsWithheld) else ""
