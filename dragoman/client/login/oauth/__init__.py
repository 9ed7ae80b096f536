"""Logging in by OAuth 2 and OpenID Connect."""

from dragoman.client.login.oauth.cache import TokenCache, Tokens
from dragoman.client.login.oauth.failures import LoginFailed, LoginRequired, ProviderUnreachable, TokensUnsafe
from dragoman.client.login.oauth.kept import KeptLogins
from dragoman.client.login.oauth.login import Grant, OAuth
from dragoman.client.login.oauth.visit import Show, Visit

__all__ = [
    "Grant",
    "KeptLogins",
    "LoginFailed",
    "LoginRequired",
    "OAuth",
    "ProviderUnreachable",
    "Show",
    "TokenCache",
    "Tokens",
    "TokensUnsafe",
    "Visit",
]
