"""Authorities and the certificates that they issue, right and wrong, made once."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["ALICE", "Issued", "alternative", "authority", "issued", "other_authority"]

ALICE = "spiffe://example.org/alice"
DAY = timedelta(days=1)


class Issued(msgspec.Struct, frozen=True):
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def files(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Certificate and key, written."""
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        certificate.write_bytes(self.pem)
        key.write_bytes(self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate, key


def issued(
    by: Issued | None = None,
    *,
    names: Sequence[x509.GeneralName] = (),
    cn: str | Sequence[str] = (),
    organization: str = "",
    uses: Sequence[x509.ObjectIdentifier] | None = (ExtendedKeyUsageOID.CLIENT_AUTH,),
    begins: datetime | None = None,
    ends: datetime | None = None,
    is_authority: bool = False,
) -> Issued:
    """By itself, unless somebody issues it."""
    now = datetime.now(UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    stated = [(NameOID.COMMON_NAME, name) for name in ([cn] if isinstance(cn, str) else cn)]
    stated += [(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    subject = x509.Name([x509.NameAttribute(kind, name) for kind, name in stated])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins or now - DAY)
        .not_valid_after(ends or now + DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not stated)
    if uses is not None and not is_authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    return Issued(builder.sign(key if by is None else by.key, SHA256()), key)


@cache
def authority() -> Issued:
    """Whom the owner of the agent trusts."""
    return issued(cn="The authority", is_authority=True)


@cache
def other_authority() -> Issued:
    """Of the same name, and nobody's."""
    return issued(cn="The authority", is_authority=True)


def alternative(**names: Any) -> list[x509.GeneralName]:
    """Alternative names by kind."""
    kinds: dict[str, Callable[[str], x509.GeneralName]] = {
        "uri": x509.UniformResourceIdentifier,
        "dns": x509.DNSName,
        "email": x509.RFC822Name,
        "ip": lambda name: x509.IPAddress(ip_address(name)),
    }
    return [kinds[kind](name) for kind, told in names.items() for name in ([told] if isinstance(told, str) else told)]
