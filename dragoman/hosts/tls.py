"""TLS as every binding on the port has it: 1.2 at least, 1.3 preferred, both versions of HTTP by ALPN."""

import logging
import ssl
from functools import lru_cache
from os import PathLike, fspath
from typing import Any

from dragoman.errors import ConfigurationError

__all__ = ["HSTS", "TlsFiles", "described", "tls_context"]

HSTS = b"max-age=31536000"
"""What `strict-transport-security` says: a year of HTTPS only (RFC 6797)."""
TlsFiles = tuple[str | PathLike[str], str | PathLike[str]]
"""Certificate chain and private key, both PEM."""
VERSIONS = {"TLSv1.2": 0x0303, "TLSv1.3": 0x0304}

log = logging.getLogger("dragoman.hosts")


def tls_context(files: TlsFiles, client_ca: str | PathLike[str] | None = None) -> ssl.SSLContext:
    """The server's context. With `client_ca`, authorities (PEM), callers are asked for a certificate. They may have
    none; one that they have must be for clients, in force, and issued by these authorities, or the handshake fails.

    Raises:
        ConfigurationError: a file cannot be read, certificate and key are no pair, or there is no authority in theirs.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"])
    # What compresses or renegotiates gives attackers a hold, and no caller needs it.
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    certificate, key = fspath(files[0]), fspath(files[1])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"TLS with certificate {certificate} and key {key}: {error}") from error
    if client_ca is not None:
        try:
            context.load_verify_locations(cafile=fspath(client_ca))
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(f"authorities of callers in {fspath(client_ca)}: {error}") from error
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def described(connection: ssl.SSLObject) -> dict[str, Any]:
    """A TLS connection as the TLS extension of ASGI (0.2) has it. Of the caller's chain it says the first certificate,
    and only if it was verified.
    """
    certificate = connection.getpeercert(binary_form=True)
    cipher = connection.cipher()
    return {
        "server_cert": None,
        "client_cert_chain": [] if certificate is None else [ssl.DER_cert_to_PEM_cert(certificate)],
        "client_cert_name": None if certificate is None else _subject(certificate),
        "client_cert_error": None,
        "tls_version": VERSIONS.get(connection.version() or ""),
        "cipher_suite": None if cipher is None else _suites(connection.context).get(cipher[0]),
    }


def _subject(certificate: bytes) -> str | None:
    """The distinguished name of the subject (RFC 4514); None if it is none that can be read."""
    # Most servers never see a certificate of a caller, and start without it.
    from cryptography.x509 import load_der_x509_certificate

    try:
        return load_der_x509_certificate(certificate).subject.rfc4514_string()
    except ValueError as error:
        log.info("the subject of a client certificate cannot be read: %s", error)
        return None


@lru_cache(8)
def _suites(context: ssl.SSLContext) -> dict[str, int]:
    """The numbers of cipher suites, as TLS has them, by OpenSSL's names."""
    return {suite["name"]: suite["id"] & 0xFFFF for suite in context.get_ciphers()}
