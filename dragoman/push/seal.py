"""Configurations as the store keeps them: unreadable without the key.

AES-256-GCM. A sealed configuration is one byte that tells the form, twelve random bytes, and the cipher text with its
tag; it opens only for the task and the id that it was sealed for. Random nonces allow some 2**32 seals with one key.
"""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import DragomanError
from dragoman.types.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["KEY_BYTES", "Seal", "SealBroken", "derived"]

KEY_BYTES = 32
_NONCE_BYTES = 12
_NONCES_AT_A_TIME = 256
_FORM = b"\x01"
_NUMBER_BYTES = 8

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TaskPushNotificationConfig).decode


class SealBroken(DragomanError):
    """What is sealed cannot be opened: it is another's, it was changed, or the key is another one."""


class Seal:
    """Seals and opens with one key of 32 bytes, which is asked for when it is first needed."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key
        self._cipher: AESGCM | None = None
        self._nonces: list[bytes] = []
        """Fresh ones: to ask the system for each alone takes as long as to seal."""
        if hasattr(os, "register_at_fork"):
            # A forked process must not seal with the same ones as its parent.
            os.register_at_fork(after_in_child=self._nonces.clear)

    def seal(self, config: TaskPushNotificationConfig, task_id: str, config_id: str) -> bytes:
        """The configuration, for this place in the store."""
        nonce = self._nonce()
        cipher = self._cipher or self._made()
        return _FORM + nonce + cipher.encrypt(nonce, _encode(config), _place(task_id, config_id))

    def _nonce(self) -> bytes:
        if not self._nonces:
            random = os.urandom(_NONCE_BYTES * _NONCES_AT_A_TIME)
            self._nonces += [random[at : at + _NONCE_BYTES] for at in range(0, len(random), _NONCE_BYTES)]
        return self._nonces.pop()

    def open(self, sealed: bytes, task_id: str, config_id: str) -> TaskPushNotificationConfig:
        """The configuration that was sealed for this place.

        Raises:
            SealBroken: it was not, or not with this key.
        """
        from cryptography.exceptions import InvalidTag

        cipher = self._cipher or self._made()
        nonce, text = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            if sealed[:1] != _FORM:
                raise SealBroken("it is sealed in a form that is not known")
            return _decode(cipher.decrypt(nonce, text, _place(task_id, config_id)))
        except (InvalidTag, ValueError, msgspec.MsgspecError) as error:
            raise SealBroken("it cannot be decrypted with the key that is in use") from error

    def seal_number(self, number: int, *place: str) -> str:
        """A number, as text that tells nothing of it, for this place."""
        nonce = self._nonce()
        cipher = self._cipher or self._made()
        text = cipher.encrypt(nonce, number.to_bytes(_NUMBER_BYTES, "big"), _encode(("number", *place)))
        return urlsafe_b64encode(nonce + text).decode()

    def open_number(self, text: str, *place: str) -> int:
        """The number that was sealed for this place.

        Raises:
            SealBroken: none was, or not with this key.
        """
        from cryptography.exceptions import InvalidTag

        cipher = self._cipher or self._made()
        try:
            sealed = urlsafe_b64decode(text)
            number = cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _encode(("number", *place)))
        except (InvalidTag, ValueError) as error:
            raise SealBroken("it is no number that was sealed for this place") from error
        return int.from_bytes(number, "big")

    def _made(self) -> "AESGCM":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(self._key())
        return self._cipher


def derived(secret: str) -> bytes:
    """The key that a secret of any length stands for."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"dragoman push configurations").derive(secret.encode())


def _place(task_id: str, config_id: str) -> bytes:
    return f"{len(task_id)}:{task_id}{config_id}".encode()
