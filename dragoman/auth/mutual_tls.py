"""Client certificates: callers as TLS has shown who they are."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from dragoman.auth.certificates import ClientCertificate, NoCertificate, certificate_fingerprint
from dragoman.auth.scheme import Scheme, challenge, unauthenticated
from dragoman.errors import ConfigurationError
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.types.card import MutualTlsSecurityScheme

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

__all__ = ["MutualTls"]

REMEMBERED = 1024
"""Certificates that are not read anew at each call."""
KINDS = ("uri", "dns", "email", "cn")


class MutualTls(Scheme):
    """Callers by their certificates, which TLS has verified against the authorities of the owner (`client_ca=` of
    `Agent.run`), another ASGI server, or a trusted proxy.

    A certificate is good while it is in force, also on connections that outlive it, and only if it is for clients.
    The id of the principal is a name in it: a URI as it stands, another behind `dns:`, `email:` or `cn:`, so that
    authorities do not give away names that the owner gives. The claims are `subject`, `issuer`, `organization`,
    `fingerprint`, and the names by kind.

    Args:
        subject: Which name: the URI (a SPIFFE id is one), the DNS name or the e-mail address among the alternative
            names, or the common name of the subject (`cn`). It must be there exactly once, or, but for URIs, exactly
            one that is `allowed` must. Or a function: given the certificate, it gives the principal's id, or None for
            nobody; it is asked at each call.
        allowed: The names that are let in, as the certificate has them. Default: all that the authorities vouch for.
        pinned: Instead of names: by the caller's name, which is the id of the principal, the SHA-256 of a certificate
            or of several, or the certificate itself (PEM, DER). Nobody else is let in.
        name: The scheme's name in the card.
        description: What the card says of it.
        now: Seconds since 1970.

    Raises:
        ConfigurationError: there is no such kind of name, `allowed` and `pinned` are both given, or two callers share
            a certificate.
    """

    def __init__(
        self,
        subject: 'Literal["uri", "dns", "email", "cn"] | Callable[[Certificate], str | None]' = "uri",
        *,
        allowed: Collection[str] | None = None,
        pinned: Mapping[str, str | bytes | Sequence[str | bytes]] | None = None,
        name: str = "mtls",
        description: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(name, MutualTlsSecurityScheme(description=description))
        if not callable(subject) and subject not in KINDS:
            raise ConfigurationError(f"the subject of a certificate is one of {', '.join(KINDS)}, or a function's")
        if allowed is not None and (pinned is not None or callable(subject) or isinstance(allowed, str)):
            raise ConfigurationError("allowed= are names, and neither pinned= nor a function stand beside it")
        self._subject = subject
        self._allowed = allowed if allowed is None else frozenset(map(_folded(subject), allowed))
        self._challenge = challenge("MutualTLS")
        self._now = now
        self._pinned: dict[str, str] | None = None if pinned is None else {}
        self._revoked: set[str] = set()
        self._read: dict[bytes, ClientCertificate] = {}
        for caller, own in (pinned or {}).items():
            for one in (own,) if isinstance(own, str | bytes) else own:
                self.pin(caller, one)

    def pin(self, caller: str, certificate: str | bytes) -> None:
        """Takes a further certificate of a caller, or the SHA-256 of one, from now on. Raises as the constructor does,
        also where callers are known by names.
        """
        if self._pinned is None or not caller:
            raise ConfigurationError("certificates are pinned, each for a caller with a name, where pinned= is given")
        fingerprint = certificate_fingerprint(certificate)
        found = self._pinned.setdefault(fingerprint, caller)
        if found != caller:
            raise ConfigurationError(f"{caller} and {found} have the same certificate")
        self._revoked.discard(fingerprint)

    def revoke(self, certificate: str | bytes) -> bool:
        """Refuses this certificate, or that with this SHA-256, from the next call on; False if it was refused before.
        Streams that are open stay so. It is forgotten at the end of the process, unless pins say who is let in.
        """
        fingerprint = certificate_fingerprint(certificate)
        if self._pinned is not None:
            return self._pinned.pop(fingerprint, None) is not None
        new = fingerprint not in self._revoked
        self._revoked.add(fingerprint)
        return new

    async def known(self, credentials: Credentials) -> Principal:
        found = self._certificate(credentials.peer.certificate)
        if found is not None and found.for_clients and found.begins <= self._now() <= found.ends:
            who = self._who(found)
            if who and who.isprintable():
                return Principal(who, self.name, claims=found.claims)
        raise unauthenticated(self._challenge)

    def _certificate(self, der: bytes) -> ClientCertificate | None:
        """What it says; None without one, and for one that cannot be read."""
        if not der:
            return None
        found = self._read.get(der)
        if found is None:
            try:
                found = ClientCertificate.read(der)
            except NoCertificate:
                return None
            if len(self._read) >= REMEMBERED:
                del self._read[next(iter(self._read))]
            self._read[der] = found
        return found

    def _who(self, found: ClientCertificate) -> str | None:
        if self._pinned is not None:
            return self._pinned.get(found.fingerprint)
        if found.fingerprint in self._revoked:
            return None
        if callable(self._subject):
            return self._subject(found.certificate)
        names: tuple[str, ...] = getattr(found, self._subject)
        if self._allowed is not None and not (self._subject == "uri" and len(names) > 1):
            names = tuple(name for name in names if name in self._allowed)
        if len(names) != 1 or not names[0] or names[0] != names[0].strip():
            return None
        return names[0] if self._subject == "uri" else f"{self._subject}:{names[0]}"


def _folded(subject: object) -> Callable[[str], str]:
    return str.lower if subject == "dns" else str
