"""What is said of a token by whoever issued it, and whether it is enough."""

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

import msgspec
import pybase64

from dragoman.errors import ConfigurationError
from dragoman.ports.call import Principal
from dragoman.signing.jws import NotVerified
from dragoman.types.json import Json

__all__ = ["Claims", "Expected", "holds_key", "principal_of", "read_claims"]


class Claims(msgspec.Struct):
    """The claims that are looked at (RFC 7519 section 4.1, RFC 9068 section 2.2, RFC 7662 section 2.2)."""

    iss: str = ""
    aud: str | list[str] = ""
    exp: int | float | None = None
    nbf: int | float = 0
    iat: int | float = 0
    scope: str = ""
    scp: str | list[str] = ""

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
            NotVerified: it is of another issuer, for another audience, or not good now.
        """
        if claims.iss not in self.issuers or (self.audiences and not claims.audiences & self.audiences):
            raise NotVerified("it is of another issuer, or for another audience")
        until = None if claims.exp is None else claims.exp + self.skew
        if max(claims.nbf, claims.iat) - self.skew > now or (until is not None and now >= until):
            raise NotVerified("it is not good now")
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


def holds_key(cnf: Json, certificate: bytes) -> bool:
    """Whether somebody with this client certificate (DER, empty for none) may use a token that is bound to what `cnf`
    says: its certificate (`x5t#S256`, RFC 8705 section 3.1). To nobody does it count who is to show another key, which
    nothing here asks for (RFC 9449): whoever has stolen a token has no key.
    """
    if not certificate or not isinstance(cnf, Mapping) or set(cnf) != {"x5t#S256"}:
        return False
    own = pybase64.urlsafe_b64encode(sha256(certificate).digest()).rstrip(b"=").decode()
    return cnf["x5t#S256"] == own
