"""Calling agents: `connect` gives a `Client`."""

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
from dragoman.client.outcome import AuthRequired, InputRequired, TaskFailed, TaskUnfinished
from dragoman.client.signatures import CardNotVerified, CardSignatures
from dragoman.client.task import TaskHandle
from dragoman.client.transport import AiohttpTransport, HttpResponse, HttpTransport

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
    "LocalChannel",
    "LocalService",
    "Login",
    "LoginError",
    "Need",
    "NoUsableInterface",
    "ReceiverOptions",
    "ReplyOptions",
    "ResultOptions",
    "Secret",
    "SendOptions",
    "StartOptions",
    "TaskFailed",
    "TaskHandle",
    "TaskUnfinished",
    "WaitOptions",
    "connect",
]
