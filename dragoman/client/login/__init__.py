"""Logging in to agents, by what their cards say."""

from dragoman.client.login.need import (
    CredentialsMissing,
    CredentialsWithheld,
    Login,
    LoginError,
    Need,
    Secret,
)
from dragoman.client.login.sources import Auth, Environment

__all__ = ["Auth", "CredentialsMissing", "CredentialsWithheld", "Environment", "Login", "LoginError", "Need", "Secret"]
