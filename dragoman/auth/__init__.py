"""Security schemes, each of which knows callers and says so in the card, to be combined by `|` and `&`."""

from dragoman.auth.access import by_claim
from dragoman.auth.api_key import ApiKey, hash_key, new_key
from dragoman.auth.basic import Basic
from dragoman.auth.bearer import Bearer
from dragoman.auth.certificates import certificate_fingerprint
from dragoman.auth.flows import flow_at
from dragoman.auth.introspection import Introspection
from dragoman.auth.mutual_tls import MutualTls
from dragoman.auth.oauth2 import OAuth2
from dragoman.auth.oidc import OpenIdConnect
from dragoman.auth.own import OwnScheme
from dragoman.auth.passwords import hash_password
from dragoman.auth.scheme import Auth, Scheme
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.types.card import (
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    ImplicitOAuthFlow,
    PasswordOAuthFlow,
)

__all__ = [
    "ApiKey",
    "Auth",
    "AuthorizationCodeOAuthFlow",
    "Basic",
    "Bearer",
    "ClientCredentialsOAuthFlow",
    "Credentials",
    "DeviceCodeOAuthFlow",
    "ImplicitOAuthFlow",
    "Introspection",
    "MutualTls",
    "OAuth2",
    "OpenIdConnect",
    "OwnScheme",
    "PasswordOAuthFlow",
    "Principal",
    "Scheme",
    "by_claim",
    "certificate_fingerprint",
    "flow_at",
    "hash_key",
    "hash_password",
    "new_key",
]
