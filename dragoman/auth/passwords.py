"""Passwords as they are stored: hashed by scrypt, which takes time and memory on purpose."""

import hashlib
import hmac
import re
import secrets

import pybase64

from dragoman.errors import ConfigurationError

__all__ = ["check_form", "hash_password", "is_password"]

_LOG_N, _R, _P = 15, 8, 3
"""32 MiB and a third of a second each."""
_MOST_MEMORY = 256 * 1024 * 1024
_SALT_BYTES = 16
_FORM = re.compile(
    r"scrypt\$(1[0-9])\$([1-9]|1[0-6])\$([1-9]|1[0-6])\$([A-Za-z0-9_-]{16,})\$([A-Za-z0-9_-]{43})", re.ASCII
)


def hash_password(password: str) -> str:
    """What is stored in place of a password: `scrypt$`, its costs, a salt, and the hash."""
    salt = pybase64.urlsafe_b64encode(secrets.token_bytes(_SALT_BYTES)).decode().rstrip("=")
    hashed = _hash(password, salt, _LOG_N, _R, _P)
    return f"scrypt${_LOG_N}${_R}${_P}${salt}${hashed}"


def check_form(stored: str) -> str:
    """The hash, if it is one of ours.

    Raises:
        ConfigurationError: it is not; the message does not repeat it, since it may be a password.
    """
    found = _FORM.fullmatch(stored)
    if found is None or 128 * int(found[2]) << int(found[1]) >= _MOST_MEMORY:
        raise ConfigurationError("passwords are given as hash_password() makes them")
    return stored


def is_password(password: str, stored: str) -> bool:
    """Whether it is the password of that hash, which `check_form` has passed. Takes as long either way."""
    _, log_n, r, p, salt, hashed = stored.split("$")
    return hmac.compare_digest(_hash(password, salt, int(log_n), int(r), int(p)), hashed)


def _hash(password: str, salt: str, log_n: int, r: int, p: int) -> str:
    raw = hashlib.scrypt(
        password.encode(errors="replace"), salt=salt.encode(), n=1 << log_n, r=r, p=p, maxmem=_MOST_MEMORY, dklen=32
    )
    return pybase64.urlsafe_b64encode(raw).decode().rstrip("=")
