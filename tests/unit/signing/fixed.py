"""Keys for tests, always the same: they stand beside this file, so they protect nothing."""

from pathlib import Path

import msgspec

from dragoman.signing.keys import Algorithm

__all__ = ["EC_ON_P384", "ED25519", "FIXED", "RSA_OF_1024_BITS"]

Jwk = dict[str, str]


class _Keys(msgspec.Struct):
    FIXED: dict[Algorithm, Jwk]
    EC_ON_P384: Jwk
    RSA_OF_1024_BITS: Jwk
    ED25519: Jwk


_keys = msgspec.json.decode(Path(__file__).with_name("keys.json").read_bytes(), type=_Keys)

FIXED = _keys.FIXED
"""One for each algorithm."""
EC_ON_P384 = _keys.EC_ON_P384
RSA_OF_1024_BITS = _keys.RSA_OF_1024_BITS
ED25519 = _keys.ED25519
"""RFC 8037 appendix A.1."""
