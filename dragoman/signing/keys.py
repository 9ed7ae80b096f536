"""What the agent signs with: private keys in files, and rings of them in which keys follow each other.

A new key is published for a time before it signs, since receivers keep the key set that they have fetched; one that
has signed stays published for a time, since what it has signed may still be on its way.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.signing import jws
from dragoman.signing.files import read_or_make_secret, read_secret, write_secret

__all__ = ["ALGORITHMS", "Algorithm", "KeyRing", "RingKey", "SigningKey"]

Algorithm = Literal["ES256", "EdDSA", "RS256"]
ALGORITHMS: tuple[Algorithm, ...] = ("ES256", "EdDSA", "RS256")
"""ECDSA on P-256, Ed25519, and RSA (PKCS 1 v1.5, 2,048 bits or more), each with SHA-256 or its own hash."""

LEAD = 7_200.0
"""Seconds that a new key is published before it signs: longer than anybody is expected to keep a key set."""
OVERLAP = 86_400.0
"""Seconds that a key stays published after the next one has begun to sign."""
NEW_RSA_BITS = 2048


class SigningKey:
    """A private key with its id and its algorithm. Its id is its thumbprint (RFC 7638), unless its file says one.

    Its representation tells the id alone.
    """

    def __init__(self, key: Any, key_id: str, algorithm: Algorithm) -> None:
        self._key = key
        self.id = key_id
        self.algorithm: Algorithm = algorithm

    def __repr__(self) -> str:
        return f"SigningKey(id={self.id!r}, algorithm={self.algorithm!r})"

    @classmethod
    def generate(cls, algorithm: Algorithm = "ES256", *, key_id: str | None = None) -> "SigningKey":
        """A new key.

        Raises:
            ConfigurationError: the algorithm is none of `ALGORITHMS`.
        """
        from joserfc.jwk import ECKey, OKPKey, RSAKey

        match algorithm:
            case "ES256":
                return cls._of(ECKey.generate_key("P-256"), key_id)
            case "EdDSA":
                return cls._of(OKPKey.generate_key("Ed25519"), key_id)
            case "RS256":
                return cls._of(RSAKey.generate_key(NEW_RSA_BITS), key_id)
            case _:
                raise ConfigurationError(f"keys are made for {', '.join(ALGORITHMS)}, not for {algorithm!r}")

    @classmethod
    def load(cls, text: bytes | str | Mapping[str, Any]) -> "SigningKey":
        """The key of a PEM text (PKCS 8, without a password) or of a JWK.

        Raises:
            ConfigurationError: it is neither, or no private key of an algorithm in `ALGORITHMS`.
        """
        from joserfc.jwk import JWKRegistry

        given = _jwk_or_pem(text)
        about: dict[str, Any] = {} if isinstance(given, bytes) else given
        try:
            if isinstance(given, bytes):
                key = _pem_key(given)
            else:
                key = JWKRegistry.import_key({name: given[name] for name in _MEMBERS if name in given})
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with it, its text must not be told
            form = "it is to be PEM (PKCS 8) without a password, or a JWK"
            raise ConfigurationError(f"the signing key cannot be read: {form} ({type(error).__name__})") from None
        loaded = cls._of(key, key.kid)
        stated = "EdDSA" if about.get("alg") == "Ed25519" else about.get("alg", loaded.algorithm)
        if about.get("use", "sig") != "sig" or stated != loaded.algorithm:
            raise ConfigurationError(f"the signing key is for something else; keys sign with {', '.join(ALGORITHMS)}")
        return loaded

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "SigningKey":
        """The key in a file, PEM or JWK; raises as `load` does, and if the file cannot be read."""
        return cls.load(read_secret(path))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the key to a file that only its owner can read: a PEM if its name ends in `.pem`, else a JWK.

        A file that is there is replaced at once, and never half.
        """
        pem = os.fspath(path).endswith(".pem")
        write_secret(path, self._key.as_pem(private=True) if pem else msgspec.json.encode(self.private_jwk()))

    def private_jwk(self) -> dict[str, Any]:
        """The JWK with its secret."""
        return self._jwk(self._key.as_dict(private=True))

    def public_jwk(self) -> dict[str, Any]:
        """The JWK that is published."""
        return self._jwk(self._key.as_dict(private=False))

    def sign(self, payload: bytes, header: Mapping[str, Any] | None = None) -> str:
        """The compact form of a signature over the payload; `alg` and `kid` are added to its protected header.

        Takes 0.1 ms with ES256 and EdDSA, and 1.5 ms with RS256.
        """
        return jws.sign(payload, {"kid": self.id, **(header or {})}, self._key, self.algorithm)

    def _jwk(self, members: dict[str, Any]) -> dict[str, Any]:
        about = {**members, "kid": self.id}
        return {name: about[name] for name in _MEMBERS if name in about} | {"alg": self.algorithm, "use": "sig"}

    @classmethod
    def _of(cls, key: Any, key_id: str | None) -> "SigningKey":
        kind = (key.key_type, getattr(key, "curve_name", None))
        algorithm = _KINDS.get(kind)
        if algorithm is None or not key.is_private:
            raise ConfigurationError(f"signing takes a private key for one of {', '.join(ALGORITHMS)}")
        if jws.too_small(key):
            raise ConfigurationError(f"signing takes RSA keys of {jws.LEAST_RSA_BITS} bits or more")
        return cls(key, key_id or key.thumbprint(), algorithm)


_MEMBERS = ("kty", "kid", "crv", "x", "y", "n", "e", "d", "p", "q", "dp", "dq", "qi")
"""The members of a JWK that make the key, in the order in which they are written; others are not kept."""
_KINDS: dict[tuple[str, str | None], Algorithm] = {
    ("EC", "P-256"): "ES256",
    ("OKP", "Ed25519"): "EdDSA",
    ("RSA", None): "RS256",
}


def _jwk_or_pem(text: bytes | str | Mapping[str, Any]) -> dict[str, Any] | bytes:
    if isinstance(text, Mapping):
        return dict(text)
    raw = (text.encode() if isinstance(text, str) else text).strip()
    if not raw.startswith(b"{"):
        return raw
    try:
        return cast("dict[str, Any]", msgspec.json.decode(raw))
    except msgspec.MsgspecError:
        raise ConfigurationError("the signing key cannot be read: it is not JSON") from None


def _pem_key(pem: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    match load_pem_private_key(pem, None):
        case EllipticCurvePrivateKey():
            return ECKey.import_key(pem)
        case Ed25519PrivateKey():
            return OKPKey.import_key(pem)
        case RSAPrivateKey():
            return RSAKey.import_key(pem)
        case other:
            raise TypeError(type(other).__name__)


class RingKey(msgspec.Struct, frozen=True):
    """A key, when it begins to sign, and until when it is published at least; None for as long as nobody says.

    Both in seconds since 1970.
    """

    key: SigningKey
    signs_from: float = 0.0
    published_until: float | None = None


class KeyRing:
    """Keys that follow each other. A value: what changes is a new ring."""

    def __init__(self, keys: Sequence[RingKey]) -> None:
        """
        Raises:
            ConfigurationError: there is no key, or two have one id.
        """
        if not keys:
            raise ConfigurationError("a key ring has at least one key")
        if len({entry.key.id for entry in keys}) < len(keys):
            raise ConfigurationError("the keys of a ring have different ids")
        self.keys = tuple(sorted(keys, key=lambda entry: entry.signs_from))

    @classmethod
    def of(cls, *keys: SigningKey) -> "KeyRing":
        """The last key signs; the others are only published."""
        return cls([RingKey(key) for key in keys])

    def current(self, now: float) -> SigningKey:
        """The key that signs: the last that has begun, or the first to begin."""
        begun = [entry for entry in self.keys if entry.signs_from <= now]
        return (begun[-1] if begun else self.keys[0]).key

    def published(self, now: float) -> tuple[SigningKey, ...]:
        """The keys that a receiver must know, the one that signs among them, older ones first."""
        signing = self.current(now)
        return tuple(entry.key for entry in self.keys if entry.key is signing or _alive(entry, now))

    def jwks(self, now: float) -> bytes:
        """The JWK Set to be published (RFC 7517 section 5)."""
        return msgspec.json.encode({"keys": [key.public_jwk() for key in self.published(now)]})

    def rotated(
        self, new: SigningKey, now: float | None = None, *, lead: float = LEAD, overlap: float = OVERLAP
    ) -> "KeyRing":
        """The ring in which the new key signs after `lead` seconds; the others go `overlap` seconds after that.

        Those that are published no more are dropped, the one that signs never.
        """
        now = float(int(time.time())) if now is None else now
        begins = now + lead
        signing = self.current(now)
        kept = [
            RingKey(entry.key, entry.signs_from, _earlier(entry.published_until, begins + overlap))
            for entry in self.keys
            if entry.key is signing or _alive(entry, now)
        ]
        return KeyRing([*kept, RingKey(new, begins)])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "KeyRing":
        """The ring in a file: a JWK Set of private keys, or one key as PEM or JWK.

        In the set, `nbf` says from when a key signs and `exp` until when it is published; of keys without, the last
        signs.

        Raises:
            ConfigurationError: the file is missing, or is none of these.
        """
        return _ring(read_secret(path))

    @classmethod
    def open(cls, path: str | os.PathLike[str], algorithm: Algorithm = "ES256") -> "KeyRing":
        """The ring in a file; where there is none, it is made with one new key. Raises as `read` does."""
        return _ring(read_or_make_secret(path, lambda: cls.of(SigningKey.generate(algorithm)).encode()))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the ring to a file that only its owner can read. One that is there is replaced at once, never half."""
        write_secret(path, self.encode())

    def encode(self) -> bytes:
        """What stands in its file."""
        listed = [
            entry.key.private_jwk()
            | ({"nbf": entry.signs_from} if entry.signs_from > 0 else {})
            | ({} if entry.published_until is None else {"exp": entry.published_until})
            for entry in self.keys
        ]
        return msgspec.json.format(msgspec.json.encode({"keys": listed}))


def _alive(entry: RingKey, now: float) -> bool:
    return entry.published_until is None or entry.published_until > now


def _earlier(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _ring(text: bytes) -> KeyRing:
    given = _jwk_or_pem(text)
    if isinstance(given, bytes) or "keys" not in given:
        return KeyRing.of(SigningKey.load(given))
    listed = given["keys"]
    if not isinstance(listed, list):
        raise ConfigurationError("a key ring is a JWK Set: an object with a list of keys")
    return KeyRing([_entry(one) for one in cast("Sequence[Any]", listed)])


def _entry(jwk: Any) -> RingKey:
    if not isinstance(jwk, dict):
        raise ConfigurationError("a key ring is a JWK Set: an object with a list of keys")
    jwk = cast("dict[str, Any]", jwk)
    begins, ends = jwk.pop("nbf", 0.0), jwk.pop("exp", None)
    if not isinstance(begins, int | float) or not isinstance(ends, int | float | None):
        raise ConfigurationError("`nbf` and `exp` of a key in a ring are seconds since 1970")
    return RingKey(SigningKey.load(jwk), float(begins), None if ends is None else float(ends))
