"""Where logins are kept: in files for their owner alone, or in memory."""

import hashlib
import logging
import os
import re
import stat
import sys
import threading
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from dragoman.client.login.oauth.failures import TokensUnsafe
from dragoman.client.login.oauth.tokens import Kept, Key
from dragoman.client.login.oauth.turn import Free, by_file, by_thread_lock, in_turn
from dragoman.errors import ConfigurationError
from dragoman.signing.files import write_secret

__all__ = ["MemoryTokens", "TokenCache", "Tokens"]

LARGEST = 256 * 1024
"""Bytes of a file."""
MOST = 1000
"""Files that are looked at."""
log = logging.getLogger("dragoman.client")

_HAS_MODES = sys.platform != "win32"
_OTHERS = 0o077


class Tokens(Protocol):
    """Keeps logins. All but the turn is done at once."""

    def read(self, key: Key) -> Kept | None: ...

    def write(self, kept: Kept) -> None: ...

    def remove(self, key: Key) -> bool:
        """Whether there was one."""
        ...

    def turn(self, key: Key) -> AbstractAsyncContextManager[None]:
        """For reading, renewing and writing one login: entered by one at a time, of all who share these tokens.

        Raises:
            TimedOut: somebody else has had it for a minute.
        """
        ...


class MemoryTokens:
    """Keeps logins as long as it lives. Threads may share it."""

    def __init__(self) -> None:
        self._kept: dict[Key, Kept] = {}
        self._locks: dict[Key, threading.Lock] = {}

    def read(self, key: Key) -> Kept | None:
        return self._kept.get(key)

    def write(self, kept: Kept) -> None:
        self._kept[kept.key] = kept

    def remove(self, key: Key) -> bool:
        return self._kept.pop(key, None) is not None

    def turn(self, key: Key) -> AbstractAsyncContextManager[None]:
        lock = self._locks.setdefault(key, threading.Lock())
        return in_turn(lambda: by_thread_lock(lock))


class TokenCache:
    """Keeps logins in a folder, by default `dragoman/tokens` in `XDG_STATE_HOME` (`~/.local/state`), one file for each.

    Folder and files are made for their owner alone, and used only if they are so: none is read that is a link, belongs
    to somebody else, can be opened by others, or is about another agent than its name says. A file is replaced in one
    step. Removing files by hand logs out. On Windows nobody looks at who can open what.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = _default() if folder is None else Path(folder)

    def path(self, key: Key) -> Path:
        """The file of a login, whether it is there or not."""
        digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:32]
        host = re.sub(r"[^a-z0-9.-]", "-", urlsplit(key.origin).netloc.lower())[:100]
        return self.folder / f"{host}-{digest}.json"

    def read(self, key: Key) -> Kept | None:
        """
        Raises:
            TokensUnsafe: there is a file, and it is not for its owner alone.
        """
        kept = self._read(self.path(key)) if self._is_there() else None
        return kept if kept is not None and kept.key == key else None

    def write(self, kept: Kept) -> None:
        """
        Raises:
            TokensUnsafe: the folder is not for its owner alone, or the file cannot be written.
        """
        self._make()
        try:
            write_secret(self.path(kept.key), msgspec.json.encode(kept))
        except ConfigurationError as error:
            raise TokensUnsafe(str(error)) from None

    def remove(self, key: Key) -> bool:
        """Whether there was one. To be called in its turn."""
        place = self.path(key)
        with suppress(OSError):
            _lock_beside(place).unlink()
        try:
            place.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise TokensUnsafe(f"{place} cannot be removed: {error.strerror}") from None
        return True

    def every(self) -> list[Kept]:
        """All logins, the latest first. Files that hold none, or are kept under another's name, are passed over.

        So are those that are not for their owner alone, which is logged.

        Raises:
            TokensUnsafe: the folder is not for its owner alone.
        """
        if not self._is_there():
            return []
        places = sorted(self.folder.glob("*.json"))[:MOST]
        found = [kept for place in places if (kept := self._looked_at(place)) is not None]
        return sorted(found, key=lambda kept: kept.token.obtained_at, reverse=True)

    def _looked_at(self, place: Path) -> Kept | None:
        try:
            kept = self._read(place)
        except TokensUnsafe as error:
            log.warning("%s", error)
            return None
        return kept if kept is not None and self.path(kept.key) == place else None

    def turn(self, key: Key) -> AbstractAsyncContextManager[None]:
        self._make()
        return in_turn(lambda: self._attempt(_lock_beside(self.path(key))))

    def _attempt(self, place: Path) -> Free | None:
        try:
            return by_file(place)
        except OSError as error:
            raise TokensUnsafe(f"{place} cannot be made: {error.strerror}") from None

    def _make(self) -> None:
        if self._is_there():
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise TokensUnsafe(f"{self.folder} cannot be made: {error.strerror}") from None
        self._is_there()

    def _is_there(self) -> bool:
        try:
            found = self.folder.lstat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise TokensUnsafe(f"{self.folder} cannot be looked at: {error.strerror}") from None
        if not stat.S_ISDIR(found.st_mode):
            raise TokensUnsafe(f"{self.folder} is no folder, or a link to one: tokens are not kept there")
        _owned(self.folder, found, "chmod 700")
        return True

    def _read(self, place: Path) -> Kept | None:
        try:
            handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TokensUnsafe(f"{place} is a link, or cannot be read: {error.strerror}") from None
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise TokensUnsafe(f"{place} is no file: no token is taken from it")
            _owned(place, found, "chmod 600")
            content = file.read(LARGEST + 1)
        try:
            return msgspec.json.decode(content, type=Kept) if len(content) <= LARGEST else None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            # Of an older version, or written by hand: as if it was not there.
            return None


def _owned(place: Path, found: os.stat_result, cure: str) -> None:
    if not _HAS_MODES:
        return
    if found.st_uid != os.geteuid():
        raise TokensUnsafe(f"{place} belongs to somebody else: no token is taken from it")
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        raise TokensUnsafe(f"{place} can be opened by others ({cure} {place}, and log in anew if it was not you)")


def _lock_beside(place: Path) -> Path:
    return place.with_suffix(".lock")


def _default() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    # The specification of these variables says that relative paths are to be ignored.
    root = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return root / "dragoman" / "tokens"
