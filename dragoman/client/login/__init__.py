"""Logging in to agents, by what their cards say."""

from dragoman.client.login.need import (
    CredentialsMissing,
    CredentialsWithheld,
    Login,
    LoginError,
    Need,
    Secret,
)

__all__ = ["CredentialsMissing", "CredentialsWithheld", "Login", "LoginError", "Need", "Secret"]
