"""What is said of a token by whoever issued it, and whether it is enough."""

from collections.abc import Collection
from typing import Any

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.ports.call import Principal
from dragoman.signing.jws import NotVerified

__all__ = ["Claims", "Expected", "principal_of", "read_claims"]


class Claims(msgspec.Struct):
    """The claims that are looked at (RFC 7519 section 4.1, RFC 9068 section 2.2, RFC 7662 section 2.2)."""

    iss: str = ""
    aud: str | list[str] = ""
    exp: int | float | None = None
    nbf: int | float = 0
    iat: int | float = 0
    scope: str = ""
    scp: str | list[str] = ""
    cnf: Any = None

    @property
    def scopes(self) -> frozenset[str]:
        scp = self.scp.split() if isinstance(self.scp, str) else self.scp
        return frozenset([*self.scope.split(), *scp])

    @property
    def audiences(self) -> frozenset[str]:
        return frozenset({self.aud} if isinstance(self.aud, str) else self.aud)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a token must say to be for this agent, now."""

    issuers: frozenset[str]
    audiences: frozenset[str]
    """One of them must be in `aud`; if there are none, nobody looks."""
    skew: float
    """Seconds that the issuer's clock and ours may differ."""
    subject: str
    """The claim that names the caller."""

    @classmethod
    def of(
        cls, issuers: Collection[str], audience: str | Collection[str], *, skew: float = 60.0, subject: str = "sub"
    ) -> "Expected":
        """As an owner says it.

        Raises:
            ConfigurationError: there is no issuer, or one or an audience is empty.
        """
        audiences = frozenset({audience} if isinstance(audience, str) else audience)
        if not issuers or "" in issuers or "" in audiences:
            raise ConfigurationError("tokens are of an issuer=, and for an audience=")
        return cls(issuers=frozenset(issuers), audiences=audiences, skew=skew, subject=subject)

    def check(self, claims: Claims, now: float) -> float | None:
        """Until when the token is good by its own words; None if it does not say.

        Raises:
            NotVerified: it is of another issuer, for another audience, not good now, or bound to a key of its owner,
                which nobody asks for here (RFC 9449, RFC 8705): who has stolen it has no such key.
        """
        if claims.iss not in self.issuers or (self.audiences and not claims.audiences & self.audiences):
            raise NotVerified("it is of another issuer, or for another audience")
        until = None if claims.exp is None else claims.exp + self.skew
        if max(claims.nbf, claims.iat) - self.skew > now or (until is not None and now >= until):
            raise NotVerified("it is not good now")
        if claims.cnf is not None:
            raise NotVerified("it is good only with a key")
        return until

    def subject_in(self, members: dict[str, Any]) -> str:
        """The caller's name at the issuer.

        Raises:
            NotVerified: there is none.
        """
        subject = members.get(self.subject)
        if not isinstance(subject, str) or not subject or not subject.isprintable():
            raise NotVerified("it names nobody")
        return subject


def read_claims(document: bytes) -> tuple[Claims, dict[str, Any]]:
    """The claims, and all members of the document.

    Raises:
        NotVerified: it cannot be read.
    """
    try:
        return msgspec.json.decode(document, type=Claims), msgspec.json.decode(document)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NotVerified("its claims cannot be read") from None


def principal_of(claims: Claims, name: str, scheme: str, members: dict[str, Any], kind: str = "") -> Principal:
    """The caller of this name: names are an issuer's own, and of each `kind` are others."""
    return Principal(f"{kind}{claims.iss} {name}", scheme, claims.scopes, members)
