"""Files with secrets: only their owner can read them, and nobody ever finds half of one."""

import contextlib
import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from dragoman.errors import ConfigurationError

__all__ = ["read_or_make_secret", "read_secret", "write_secret"]

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


def read_or_make_secret(path: str | os.PathLike[str], make: Callable[[], bytes]) -> bytes:
    """What stands in the file, which is made if there is none; of several processes at the same time one makes it.

    Raises:
        ConfigurationError: it cannot be read, or not be written.
    """
    # With all that can be wrong with a path it is "not there", and writing tells what it is.
    if not os.path.exists(path):  # noqa: PTH110 -- `Path.exists` raises some of it
        with contextlib.suppress(FileExistsError):
            write_secret(path, make(), new=True)
    return read_secret(path)


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
