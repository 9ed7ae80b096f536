"""Security schemes, each of which knows callers and says so in the card, to be combined by `|` and `&`."""

from dragoman.auth.api_key import ApiKey, hash_key, new_key
from dragoman.auth.basic import Basic
from dragoman.auth.bearer import Bearer
from dragoman.auth.own import OwnScheme
from dragoman.auth.passwords import hash_password
from dragoman.auth.scheme import Auth, Scheme
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal

__all__ = [
    "ApiKey",
    "Auth",
    "Basic",
    "Bearer",
    "Credentials",
    "OwnScheme",
    "Principal",
    "Scheme",
    "hash_key",
    "hash_password",
    "new_key",
]
