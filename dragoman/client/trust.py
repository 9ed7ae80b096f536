"""Whom the client trusts, and its own certificate: as Python's `ssl` takes them, and as gRPC does."""

import asyncio
import ssl
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import ConfigurationError

__all__ = ["Certificate", "CertificateFiles", "Trust", "context_of", "trusted"]

CertificateFiles = tuple[str | PathLike[str], str | PathLike[str]]
"""Certificate chain and private key, both PEM; the key without a password."""


class Certificate(msgspec.Struct, frozen=True):
    """The client's own certificate, for agents that ask for one (mutual TLS)."""

    chain: str
    key: str

    @classmethod
    def of(cls, files: CertificateFiles) -> "Certificate":
        return cls(fspath(files[0]), fspath(files[1]))

    def pem(self) -> tuple[bytes, bytes]:
        return Path(self.chain).read_bytes(), Path(self.key).read_bytes()

    def load_into(self, context: ssl.SSLContext) -> None:
        """Has the context present it.

        Raises:
            ConfigurationError: a file cannot be read, or certificate and key are no pair.
        """
        try:
            # Without the function OpenSSL would ask at the terminal.
            context.load_cert_chain(self.chain, self.key, password=str)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConfigurationError(f"certificate= with {self.chain} and {self.key}: {error}") from error


def context_of(verify: bool | ssl.SSLContext, certificate: Certificate | None) -> bool | ssl.SSLContext:
    """What HTTP goes by. A context of the caller's stays as it is but for the certificate.

    Raises:
        ConfigurationError: there is no such certificate.
    """
    if certificate is None:
        return verify
    context = ssl.create_default_context() if isinstance(verify, bool) else verify
    if verify is False:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate.load_into(context)
    return context


class Trust(msgspec.Struct, frozen=True):
    """Authorities in PEM, None for those of gRPC; and the name that the certificate has, if any name will do."""

    roots: bytes | None = None
    name: str | None = None


async def trusted(host: str, port: int, verify: bool | ssl.SSLContext, certificate: Certificate | None = None) -> Trust:
    """Whom to trust at an address: True, the system's authorities; a context, its own; False, whoever is there.

    gRPC verifies always. To trust whoever is there, the certificate is looked at first, and that one is trusted.

    Raises:
        OSError: there is nobody to look at, or the certificate is not valid even by itself.
    """
    context = ssl.create_default_context() if verify is True else verify
    if isinstance(context, ssl.SSLContext) and context.verify_mode is not ssl.CERT_NONE:
        roots = context.get_ca_certs(binary_form=True)
        # Python may know a folder of authorities, and reads none before it needs one.
        return Trust(roots="".join(map(ssl.DER_cert_to_PEM_cert, roots)).encode() or None)
    unverified = _context(certificate)
    unverified.verify_mode = ssl.CERT_NONE
    pem = ssl.DER_cert_to_PEM_cert(await _certificate(host, port, unverified, binary=True))
    pinned = _context(certificate)
    pinned.load_verify_locations(cadata=pem)
    pinned.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return Trust(roots=pem.encode(), name=_name(await _certificate(host, port, pinned, binary=False)))


def _context(certificate: Certificate | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if certificate is not None:
        certificate.load_into(context)
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    return context


async def _certificate(host: str, port: int, context: ssl.SSLContext, *, binary: bool) -> Any:
    """What is presented at the address: in DER, or, if the context verifies it, its fields."""
    _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    try:
        return writer.get_extra_info("ssl_object").getpeercert(binary_form=binary)
    finally:
        writer.transport.abort()


def _name(certificate: dict[str, Any]) -> str | None:
    """One of the names that a certificate is for."""
    names = [name for kind, name in certificate.get("subjectAltName", ()) if kind in {"DNS", "IP Address"}]
    named = (value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName")
    found = names[0] if names else next(named, None)
    return found.replace("*", "any", 1) if found is not None else None
