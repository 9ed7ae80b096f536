"""One step that helps, made from what is known; nothing where nothing is."""

import shlex
from typing import TYPE_CHECKING

import click

from dragoman import errors
from dragoman.cli import failures

if TYPE_CHECKING:
    from dragoman.cli.invocation import Invocation
    from dragoman.client.login import LoginError

__all__ = ["hint_for", "usage_hint"]


def hint_for(error: BaseException, invocation: "Invocation") -> str | None:
    """What the user can do about the error, best a command to paste."""
    if isinstance(error, click.UsageError):
        return usage_hint(error)
    if isinstance(error, failures.Interrupted | failures.WaitTooLong):
        ways = invocation.ways_on()
        return ways[-1] if ways else None
    if isinstance(error, errors.UnauthenticatedError | errors.PermissionDeniedError | failures.CredentialsMissing):
        return _credential_hint(invocation)
    if isinstance(error, errors.A2AError):
        return _protocol_hint(error, invocation)
    return _local_hint(error, invocation)


def usage_hint(error: click.UsageError) -> str:
    """The help of the command that was used wrongly."""
    path = error.ctx.command_path if error.ctx is not None else "dragoman"
    return f"{path} --help"


def _local_hint(error: BaseException, invocation: "Invocation") -> str | None:
    from dragoman.client.login import LoginError

    if isinstance(error, LoginError):
        return _login_hint(error, invocation)
    if isinstance(error, errors.ConnectFailed | errors.TimedOut):
        return "Check that the agent is running and that the address and port are right"
    return _card_hint(error, invocation)


def _card_hint(error: BaseException, invocation: "Invocation") -> str | None:
    from dragoman.client.discovery import CardInvalid, CardNotFound
    from dragoman.client.signatures import CardNotVerified

    if isinstance(error, CardNotVerified):
        return "See what each signature shows: " + invocation.command("card verify")
    if isinstance(error, CardInvalid):
        return "Ask the operator of the agent for a valid A2A card, or pass a corrected copy of it: -a PATH"
    if isinstance(error, CardNotFound):
        if error.status in (401, 403):
            return "The card itself is protected: pass a saved copy of it with -a PATH"
        return "Check the reference: a host, an origin, the full URL of a card, or the path of a card file"
    return None


def _login_hint(error: "LoginError", invocation: "Invocation") -> str | None:
    from dragoman.client.login import CredentialsMissing, CredentialsWithheld
    from dragoman.client.login.oauth import LoginFailed, LoginRequired

    if isinstance(error, LoginRequired):
        return f"Log in: {error.command(invocation.settings.agent_card or '')}"
    if isinstance(error, CredentialsMissing):
        return _credential_hint(invocation)
    if isinstance(error, CredentialsWithheld):
        return (
            f"If that place is to have them: --credential-origin {shlex.quote(error.origin)}" if error.origin else None
        )
    if isinstance(error, LoginFailed) and error.code == "invalid_target":
        return "The provider does not know the agent by its URL: name it with --resource URL, or '' to name none"
    return None


def _credential_hint(invocation: "Invocation") -> str:
    if invocation.can_log_in and not invocation.had_credentials:
        agent = shlex.quote(invocation.redact(invocation.settings.agent_card or "AGENT"))
        return f"Log in: dragoman auth login {agent}"
    if invocation.had_credentials:
        return "Check the credential and what it may do; --debug shows which scheme was used"
    return "Set A2ACLI_BEARER or A2ACLI_API_KEY (or pass --bearer TOKEN or --api-key KEY), as the card's scheme asks"


def _protocol_hint(error: errors.A2AError, invocation: "Invocation") -> str | None:
    settings = invocation.settings
    if isinstance(error, errors.VersionNotSupportedError):
        return "See what the agent offers: " + invocation.command("card get")
    if settings.task_id is not None or settings.context_id is not None:
        return "The id was refused and nothing else was sent; run the command again with --debug to see the exchange"
    if isinstance(error, errors.TaskNotFoundError):
        return "See which tasks there are: " + invocation.command("task list")
    if isinstance(error, errors.UnsupportedOperationError | errors.PushNotificationNotSupportedError):
        return "See what the agent can do: " + invocation.command("card get")
    return None
