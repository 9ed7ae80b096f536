"""The key under which the configurations of a store are sealed."""

import secrets
from pathlib import Path

from dragoman.errors import ConfigurationError
from dragoman.push.seal import KEY_BYTES, derived
from dragoman.signing.files import read_or_make_secret

__all__ = ["key_beside", "key_for"]


def key_for(secret: str | None, store: Path | None) -> bytes:
    """The key that the secret stands for; without one the key beside this file of a store, or a fresh one.

    Raises:
        ConfigurationError: what is beside the store is no key, or cannot be read or written.
    """
    if secret is not None:
        return derived(secret)
    return secrets.token_bytes(KEY_BYTES) if store is None else key_beside(store)


def key_beside(store: Path) -> bytes:
    """The key in the file `<store>.key`, which only its owner can read. It is made when there is none: whole, and never
    over another.
    """
    place = store.with_name(f"{store.name}.key")
    text = read_or_make_secret(place, _fresh)
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(f"{place} holds no key: {2 * KEY_BYTES} hexadecimal digits")
    return key


def _fresh() -> bytes:
    return f"{secrets.token_hex(KEY_BYTES)}\n".encode()
