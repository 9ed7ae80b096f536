"""What a client certificate says of its holder (RFC 5280), and what tells it from all others."""

import re
from binascii import a2b_base64
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.errors import ConfigurationError
from dragoman.types.json import JsonObject

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, Name, ObjectIdentifier, SubjectAlternativeName

__all__ = ["ClientCertificate", "NoCertificate", "certificate_fingerprint", "fingerprint_of"]

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")


class NoCertificate(Exception):
    """The bytes are none that can be read."""


class ClientCertificate(NamedTuple):
    """A certificate that was read."""

    certificate: "Certificate"
    fingerprint: str
    begins: float
    """Seconds since 1970, as `ends`: the first and the last in which it is good."""
    ends: float
    for_clients: bool
    """Whether its holder may be a client: it says so, or does not say what it is for."""
    uri: tuple[str, ...]
    dns: tuple[str, ...]
    """In lower case: so they are compared."""
    email: tuple[str, ...]
    cn: tuple[str, ...]
    """The common names of the subject."""
    claims: JsonObject

    @classmethod
    def read(cls, der: bytes) -> "ClientCertificate":
        """
        Raises:
            NoCertificate: it is none, or one of its names or extensions is not what it should be.
        """
        from cryptography.x509 import load_der_x509_certificate

        try:
            return cls._of(load_der_x509_certificate(der), fingerprint_of(der))
        except Exception as error:  # noqa: BLE001 -- bytes of a stranger can be wrong in any way
            raise NoCertificate(type(error).__name__) from None

    @classmethod
    def _of(cls, certificate: "Certificate", fingerprint: str) -> "ClientCertificate":
        from cryptography.x509 import DNSName, NameOID, RFC822Name, UniformResourceIdentifier

        names = _alternatives(certificate)
        uri = tuple(names.get_values_for_type(UniformResourceIdentifier)) if names else ()
        dns = tuple(name.lower() for name in names.get_values_for_type(DNSName)) if names else ()
        email = tuple(names.get_values_for_type(RFC822Name)) if names else ()
        cn = _stated(certificate.subject, NameOID.COMMON_NAME)
        organization = _stated(certificate.subject, NameOID.ORGANIZATION_NAME)
        claims: dict[str, Any] = {"subject": certificate.subject.rfc4514_string(), "fingerprint": fingerprint}
        claims["issuer"] = certificate.issuer.rfc4514_string()
        several = {"uri": uri, "dns": dns, "email": email, "cn": cn}
        claims |= {name: list(values) for name, values in several.items() if values}
        if len(organization) == 1:
            claims["organization"] = organization[0]
        return cls(
            certificate,
            fingerprint,
            certificate.not_valid_before_utc.timestamp(),
            certificate.not_valid_after_utc.timestamp(),
            _for_clients(certificate),
            uri,
            dns,
            email,
            cn,
            claims,
        )


def _alternatives(certificate: "Certificate") -> "SubjectAlternativeName | None":
    from cryptography.x509 import ExtensionNotFound, SubjectAlternativeName

    try:
        return certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except ExtensionNotFound:
        return None


def _for_clients(certificate: "Certificate") -> bool:
    from cryptography.x509 import ExtendedKeyUsage, ExtensionNotFound
    from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

    try:
        uses = certificate.extensions.get_extension_for_class(ExtendedKeyUsage).value
    except ExtensionNotFound:
        return True
    return Usage.CLIENT_AUTH in uses or Usage.ANY_EXTENDED_KEY_USAGE in uses


def _stated(name: "Name", kind: "ObjectIdentifier") -> tuple[str, ...]:
    values = [attribute.value for attribute in name.get_attributes_for_oid(kind)]
    return tuple(value if isinstance(value, str) else value.decode("utf-8", "replace") for value in values)


def fingerprint_of(der: bytes) -> str:
    return sha256(der).hexdigest()


def certificate_fingerprint(told: str | bytes) -> str:
    """The SHA-256 of a certificate as 64 hexadecimal digits: of one as PEM or DER, or as it was told, with colons or
    without.

    Raises:
        ConfigurationError: it is none of these.
    """
    text = told.encode() if isinstance(told, str) else told
    pem = _PEM.search(text)
    if pem is not None:
        return fingerprint_of(a2b_base64(pem[1]))
    if isinstance(told, bytes):
        return fingerprint_of(told)
    plain = told.strip().replace(":", "").lower()
    if not _FINGERPRINT.fullmatch(plain):
        raise ConfigurationError("the fingerprint of a certificate is its SHA-256, 64 hexadecimal digits")
    return plain
