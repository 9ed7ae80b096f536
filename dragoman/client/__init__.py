"""Calling agents: `connect` gives a `Client`."""

from typing import TYPE_CHECKING, Any

from dragoman.client.channel import Channel, ChannelFactory, ChannelOptions
from dragoman.client.client import Client
from dragoman.client.connecting import AgentReference, connect
from dragoman.client.content import (
    Content,
    ReceiverOptions,
    ReplyOptions,
    ResultOptions,
    SendOptions,
    StartOptions,
    WaitOptions,
)
from dragoman.client.discovery import CardCache, CardInvalid, CardNotFound, NoUsableInterface
from dragoman.client.local import InProcess, LocalChannel, LocalService
from dragoman.client.login import (
    Auth,
    CredentialsMissing,
    CredentialsWithheld,
    Environment,
    Login,
    LoginError,
    Need,
    Secret,
)
from dragoman.client.network import Network
from dragoman.client.outcome import AuthRequired, InputRequired, TaskFailed, TaskUnfinished
from dragoman.client.signatures import CardNotVerified, CardSignatures
from dragoman.client.task import TaskHandle
from dragoman.client.transport import AiohttpTransport, HttpResponse, HttpTransport

if TYPE_CHECKING:
    from dragoman.client.login.oauth import KeptLogins, LoginFailed, LoginRequired, OAuth, TokenCache

__all__ = [
    "AgentReference",
    "AiohttpTransport",
    "Auth",
    "AuthRequired",
    "CardCache",
    "CardInvalid",
    "CardNotFound",
    "CardNotVerified",
    "CardSignatures",
    "Channel",
    "ChannelFactory",
    "ChannelOptions",
    "Client",
    "Content",
    "CredentialsMissing",
    "CredentialsWithheld",
    "Environment",
    "HttpResponse",
    "HttpTransport",
    "InProcess",
    "InputRequired",
    "KeptLogins",
    "LocalChannel",
    "LocalService",
    "Login",
    "LoginError",
    "LoginFailed",
    "LoginRequired",
    "Need",
    "Network",
    "NoUsableInterface",
    "OAuth",
    "ReceiverOptions",
    "ReplyOptions",
    "ResultOptions",
    "Secret",
    "SendOptions",
    "StartOptions",
    "TaskFailed",
    "TaskHandle",
    "TaskUnfinished",
    "TokenCache",
    "WaitOptions",
    "connect",
]

# Most who call have their credentials already.
_OAUTH = frozenset({"KeptLogins", "LoginFailed", "LoginRequired", "OAuth", "TokenCache"})


def __getattr__(name: str) -> Any:
    if name not in _OAUTH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dragoman.client.login import oauth

    return getattr(oauth, name)
