"""Files with secrets: only their owner can read them, and nobody ever finds half of one."""

import logging
import os
import secrets
from pathlib import Path

from dragoman.errors import ConfigurationError

__all__ = ["read_secret", "write_secret"]

log = logging.getLogger("dragoman.signing")


def read_secret(path: str | os.PathLike[str]) -> bytes:
    """What stands in the file; a warning is logged if others than its owner can read it.

    Raises:
        ConfigurationError: it cannot be read.
    """
    place = Path(path)
    try:
        if place.stat().st_mode & 0o077:
            log.warning("%s can be read by others than its owner", place)
        return place.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{place} cannot be read: {error.strerror or error}") from None


def write_secret(path: str | os.PathLike[str], content: bytes, *, new: bool = False) -> None:
    """Writes the file, in place of the one that may be there; `new` says that none may be.

    Raises:
        FileExistsError: one is there all the same.
        ConfigurationError: it cannot be written.
    """
    place = Path(path)
    try:
        _put(place, content, new=new)
    except FileExistsError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{place} cannot be written: {error.strerror or error}") from None


def _put(place: Path, content: bytes, *, new: bool) -> None:
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if new:
            os.link(draft, place)
        else:
            draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
