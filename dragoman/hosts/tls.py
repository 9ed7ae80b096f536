"""TLS as every binding on the port has it: 1.2 at least, 1.3 preferred, both versions of HTTP by ALPN."""

import ssl
from os import PathLike, fspath

from dragoman.errors import ConfigurationError

__all__ = ["HSTS", "TlsFiles", "tls_context"]

HSTS = b"max-age=31536000"
"""What `strict-transport-security` says: a year of HTTPS only (RFC 6797)."""
TlsFiles = tuple[str | PathLike[str], str | PathLike[str]]
"""Certificate chain and private key, both PEM."""


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """The server's context.

    Raises:
        ConfigurationError: a file cannot be read, or certificate and key are no pair.
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
    return context
