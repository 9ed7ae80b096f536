"""The key under which the configurations of a store are sealed."""

import contextlib
import logging
import os
import secrets
from pathlib import Path

from dragoman.errors import ConfigurationError
from dragoman.push.seal import KEY_BYTES, derived

__all__ = ["key_beside", "key_for"]

log = logging.getLogger("dragoman.push")


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
    try:
        if not place.exists():
            _make(place)
        return _read(place)
    except OSError as error:
        raise ConfigurationError(f"The key {place} cannot be had: {error.strerror}") from error


def _make(place: Path) -> None:
    fresh = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(KEY_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        # If another was faster, its key is the key.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, place)
    finally:
        fresh.unlink()


def _read(place: Path) -> bytes:
    if place.stat().st_mode & 0o077:
        log.warning("the key %s can be read by others than its owner", place)
    try:
        key = bytes.fromhex(place.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(f"{place} holds no key: {2 * KEY_BYTES} hexadecimal digits")
    return key
