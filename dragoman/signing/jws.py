"""JSON Web Signatures in their compact form (RFC 7515): made with one private key, verified with published ones."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, cast

import msgspec

from dragoman.errors import ConfigurationError, DragomanError

__all__ = ["ASYMMETRIC", "JWT_ALGORITHMS", "NotVerified", "PublicKeys", "Verified", "sign", "too_small", "verify"]

JWT_ALGORITHMS = ("ES256", "EdDSA", "Ed25519", "RS256")
"""What is accepted unless the caller says otherwise. `Ed25519` is the newer name of what `EdDSA` means here."""
ASYMMETRIC = frozenset(
    {*JWT_ALGORITHMS, "ES384", "ES512", "RS384", "RS512", "PS256", "PS384", "PS512"},
)
"""What a caller can accept at all: nothing whose keys for verifying are secrets, and never `none`."""
MAX_TOKEN = 4 * 1024 * 1024
"""Characters."""
MAX_KEYS = 100
LEAST_RSA_BITS = 2048


class NotVerified(DragomanError):
    """What came is not shown to be from whom it should be. The message says why, without secrets."""


class Verified(msgspec.Struct, frozen=True):
    """What was signed, and the protected header over it."""

    header: dict[str, Any]
    payload: bytes


class _KeySet(msgspec.Struct):
    keys: list[Any]


class PublicKeys:
    """The keys of a JWK Set by their ids. Keys of unknown kinds, secret ones, and those that cannot be read are not
    among them; of two with one id the first counts.
    """

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._keys = dict(keys)

    @classmethod
    def read(cls, jwks: bytes | str | Mapping[str, Any]) -> "PublicKeys":
        """The keys of a JWK Set (RFC 7517 section 5), as JSON or read already.

        Raises:
            NotVerified: it is not a JWK Set, or it has more than 100 keys.
        """
        try:
            if isinstance(jwks, bytes | str):
                listed = msgspec.json.decode(jwks, type=_KeySet).keys
            else:
                listed = msgspec.convert(jwks, _KeySet).keys
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise NotVerified("the key set is none: no JSON object with a list of keys") from None
        if len(listed) > MAX_KEYS:
            raise NotVerified(f"the key set has more than {MAX_KEYS} keys")
        found: dict[str, Any] = {}
        for jwk in listed:
            key = _public(jwk)
            if key is not None:
                found.setdefault(jwk["kid"], key)
        return cls(found)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._keys)

    def find(self, key_id: str) -> Any:
        """The key, or None."""
        return self._keys.get(key_id)


def _public(jwk: Any) -> Any:
    from joserfc.jwk import JWKRegistry

    if not isinstance(jwk, dict):
        return None
    jwk = cast("dict[str, Any]", jwk)
    if not isinstance(jwk.get("kid"), str) or jwk.get("kty") not in ("EC", "OKP", "RSA"):
        return None
    if jwk.get("use", "sig") != "sig":
        return None
    if jwk.get("alg") == "Ed25519":
        # Its kind and curve say as much, and signatures of older makers call it EdDSA.
        jwk = {name: member for name, member in jwk.items() if name != "alg"}
    try:
        key = JWKRegistry.import_key(jwk)
    except Exception:  # noqa: BLE001 -- the key of a stranger can be wrong in any way; the others still count
        return None
    return None if key.is_private or too_small(key) else key


def too_small(key: Any) -> bool:
    """Whether it is an RSA key that nothing is to be signed with any more (RFC 7518 section 3.3)."""
    return bool(key.key_type == "RSA" and key.public_key.key_size < LEAST_RSA_BITS)


@cache
def _registry(algorithms: frozenset[str]) -> Any:
    from joserfc.errors import UnsupportedAlgorithmError
    from joserfc.jws import JWSRegistry

    class Registry(JWSRegistry):
        """Exactly these algorithms, and members of headers that are not known are let be."""

        max_header_length = 8 * 1024
        max_payload_length = MAX_TOKEN

        def get_alg(self, name: str) -> Any:
            if name not in algorithms:
                raise UnsupportedAlgorithmError("the algorithm is not accepted")
            return self.algorithms[name]

    return Registry(strict_check_header=False)


def sign(payload: bytes, header: Mapping[str, Any], key: Any, algorithm: str) -> str:
    """The compact form of the payload, signed under this protected header, to which `alg` is added."""
    from joserfc import jws

    return jws.serialize_compact({"alg": algorithm, **header}, payload, key, registry=_registry(frozenset({algorithm})))


def verify(token: str, keys: PublicKeys, *, algorithms: Collection[str] = JWT_ALGORITHMS) -> Verified:
    """What was signed, if it was by one of these keys, named by its `kid`, with one of these algorithms.

    Keys that stand in the header itself, or that it links to, are not looked at. A key that says which algorithm it
    is for is used with that alone.

    Raises:
        NotVerified: everything else.
        ConfigurationError: an algorithm is accepted with which anybody could sign who can verify.
    """
    accepted = frozenset(algorithms)
    if not accepted <= ASYMMETRIC:
        raise ConfigurationError(f"algorithms can be {', '.join(sorted(ASYMMETRIC))}")
    return _verify(token, keys, _registry(accepted))


def _verify(token: str, keys: PublicKeys, registry: Any) -> Verified:
    from joserfc import jws
    from joserfc.errors import InvalidKeyCurveError, InvalidKeyTypeError, UnsupportedKeyAlgorithmError

    if len(token) > MAX_TOKEN:
        raise NotVerified("the signature is too long")
    try:
        signed = jws.extract_compact(token.encode("ascii"), registry=registry)
        header = signed.headers()
        key = _named(header, keys)
        genuine = jws.validate_compact(signed, key, registry=registry)
    except NotVerified:
        raise
    except (InvalidKeyCurveError, InvalidKeyTypeError, UnsupportedKeyAlgorithmError):
        raise NotVerified("the key of the signature is for another algorithm") from None
    except Exception as error:  # noqa: BLE001 -- bytes of a stranger: whatever they break, they are not verified
        raise NotVerified(f"the signature cannot be read: {type(error).__name__}") from None
    if not genuine:
        raise NotVerified("the signature is wrong")
    return Verified(header, signed.payload)


def _named(header: Mapping[str, Any], keys: PublicKeys) -> Any:
    if "crit" in header or "b64" in header:
        raise NotVerified("the signature is to be read in a way that is not known here")
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise NotVerified("the signature does not name its key")
    key = keys.find(kid)
    if key is None:
        raise NotVerified("the key of the signature is not known")
    return key
