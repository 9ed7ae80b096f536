"""What schemes share whose callers bring a token in `Authorization: Bearer` (RFC 6750)."""

import re
from collections.abc import Sequence
from typing import Protocol

from dragoman.auth.claims import holds_key
from dragoman.auth.scheme import Scheme, challenge, denied, unauthenticated
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.signing.jws import NotVerified
from dragoman.types.card import SecurityScheme

__all__ = ["LONGEST", "TokenScheme", "TokenVerifier", "is_token"]

LONGEST = 16 * 1024
"""Characters of a token."""
_FORM = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def is_token(text: str) -> bool:
    """Whether it has the form of one (RFC 6750 section 2.1), and no more than 16,384 characters."""
    return len(text) <= LONGEST and _FORM.fullmatch(text) is not None


class TokenVerifier(Protocol):
    """Knows whose a token is."""

    async def principal(self, token: str) -> Principal:
        """
        Raises:
            NotVerified: it is nobody's, or not for this agent, or not good now.
            UnavailableError: it cannot be found out now.
        """
        ...


class TokenScheme(Scheme):
    """Callers by tokens. What is wrong with one is not told; a scope that is missing is, since the card names it.

    A token that is bound to a client certificate counts with that alone, and one that is bound to another key does not.
    """

    def __init__(self, name: str, described: SecurityScheme, verifier: TokenVerifier, scopes: Sequence[str]) -> None:
        super().__init__(name, described, scopes)
        self._verifier = verifier
        needed = {"scope": " ".join(scopes)} if scopes else {}
        self._none = challenge("Bearer", **needed)
        self._invalid = challenge("Bearer", error="invalid_token")
        self._lacking = challenge("Bearer", error="insufficient_scope", **needed)

    async def known(self, credentials: Credentials) -> Principal:
        token = credentials.authorization("Bearer")
        if token is None:
            raise unauthenticated(self._none)
        try:
            principal = await self._verifier.principal(token)
        except NotVerified:
            raise unauthenticated(self._invalid) from None
        if "cnf" in principal.claims and not holds_key(principal.claims["cnf"], credentials.peer.certificate):
            raise unauthenticated(self._invalid)
        if not principal.scopes.issuperset(self.needs):
            raise denied(self.needs, self._lacking)
        return principal
