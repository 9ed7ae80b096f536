"""Whom the gRPC client trusts: what Python's `ssl` is told, in the form that gRPC takes."""

import asyncio
import ssl
from typing import Any

import msgspec

__all__ = ["Trust", "trusted"]


class Trust(msgspec.Struct, frozen=True):
    """Authorities in PEM, None for those of gRPC; and the name that the certificate has, if any name will do."""

    roots: bytes | None = None
    name: str | None = None


async def trusted(host: str, port: int, verify: bool | ssl.SSLContext) -> Trust:
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
    unverified = _context()
    unverified.verify_mode = ssl.CERT_NONE
    pem = ssl.DER_cert_to_PEM_cert(await _certificate(host, port, unverified, binary=True))
    pinned = _context()
    pinned.load_verify_locations(cadata=pem)
    pinned.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return Trust(roots=pem.encode(), name=_name(await _certificate(host, port, pinned, binary=False)))


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
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
