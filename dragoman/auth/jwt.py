"""Tokens that are signed JWTs (RFC 7519, RFC 9068), verified with the issuer's keys."""

import re
from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec
import pybase64

from dragoman.auth.claims import Expected, principal_of, read_claims
from dragoman.auth.kept import Kept
from dragoman.auth.keys import KeySource
from dragoman.auth.tokens import LONGEST
from dragoman.errors import ConfigurationError
from dragoman.ports.call import Principal
from dragoman.signing.jws import ASYMMETRIC, NotVerified, verify

__all__ = ["ALGORITHMS", "JwtVerifier", "read_part"]

ALGORITHMS = ("ES256", "EdDSA", "Ed25519", "RS256")
"""What may have signed, unless the owner says otherwise."""
REMEMBERED = 4096
T = TypeVar("T")
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_KINDS = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""What `typ` may say; tokens for other ends say so there (RFC 8725 section 3.11)."""


class JwtVerifier:
    """A token that was good is remembered, by its digest, until it expires, or the keys change.

    Principals are of `scheme`; `now` gives seconds since 1970.
    """

    def __init__(
        self,
        expected: Expected,
        source: KeySource,
        algorithms: Collection[str],
        *,
        scheme: str,
        now: Callable[[], float],
    ) -> None:
        """
        Raises:
            ConfigurationError: an algorithm is none, or one whose keys for verifying are secrets; or no audience is
                expected: whoever signs in anywhere at the issuer would be let in.
        """
        if not algorithms or not frozenset(algorithms) <= ASYMMETRIC:
            raise ConfigurationError(f"algorithms can be {', '.join(sorted(ASYMMETRIC))}")
        if not expected.audiences:
            raise ConfigurationError("tokens are for an audience=")
        self._expected = expected
        self._source = source
        self._algorithms = frozenset(algorithms)
        self._scheme = scheme
        self._now = now
        self._good: Kept[Principal] = Kept(REMEMBERED)
        self._edition = 0

    async def principal(self, token: str) -> Principal:
        keys, edition = await self._source.keys()
        if edition != self._edition:
            self._edition = edition
            self._good.clear()
        now = self._now()
        principal = self._good.get(token, now)
        if principal is not None:
            return principal
        key_id = _key_id(token)
        if keys.find(key_id) is None:
            keys, _ = await self._source.keys(key_id)
        verified = verify(token, keys, algorithms=self._algorithms)
        if str(verified.header.get("typ", "JWT")).lower() not in _KINDS:
            raise NotVerified("it is a token for another end")
        claims, members = read_claims(verified.payload)
        until = self._expected.check(claims, now)
        if until is None:
            raise NotVerified("it does not say until when it is good")
        principal = principal_of(claims, self._expected.subject_in(members), self._scheme, members)
        self._good.put(token, principal, until)
        return principal


class _Header(msgspec.Struct):
    kid: str


def _key_id(token: str) -> str:
    """The id of the key that a token names, before anything of it is believed."""
    return read_part(token, 0, _Header).kid


def read_part(token: str, number: int, kind: type[T]) -> T:
    """What stands in the header (0) or in the payload (1) of a JWT. Nothing of it is verified.

    Raises:
        NotVerified: it is no JWT, or has something else there.
    """
    if len(token) > LONGEST or not _FORM.fullmatch(token):
        raise NotVerified("it is no JWT")
    part = token.split(".")[number]
    try:
        return msgspec.json.decode(pybase64.urlsafe_b64decode(part + "=" * (-len(part) % 4)), type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NotVerified("it says nothing of that kind") from None
