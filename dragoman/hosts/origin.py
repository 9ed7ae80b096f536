"""Who is connected, and where that caller sees this server, from the request: behind proxies, by their word."""

import ipaddress
import re
from binascii import a2b_base64
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dragoman.errors import ConfigurationError
from dragoman.ports.auth import NOBODY, Peer

__all__ = ["Proxies", "base_url", "caller_behind", "peer_of"]


PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.*)-----END CERTIFICATE-----", re.DOTALL).fullmatch
DISPUTED = "0.0.0.0"  # noqa: S104 -- nobody listens there
"""An address that nobody has: all callers who are named differently are held to what one may."""


class Proxies:
    """The proxies whose word about the caller is believed. With `certificates` that is so also of the certificate by
    which they know it (`Client-Cert`, RFC 9440): proxies that do not know this header let through what callers say.
    """

    def __init__(self, trusted: Sequence[str], *, certificates: bool = False) -> None:
        self.certificates = certificates
        try:
            self._networks = [ipaddress.ip_network(entry, strict=False) for entry in trusted]
        except ValueError as error:
            raise ConfigurationError(f"trusted_proxies takes addresses and networks: {error}") from error

    def trust(self, client: str) -> bool:
        if not self._networks:
            return False
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return False
        # On a socket for both, an IPv4 address looks like ::ffff:10.0.0.1.
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)


def base_url(scope: Mapping[str, Any], headers: Mapping[str, str], proxies: Proxies) -> str:
    """The URL under which the caller reached the application, without a slash at the end.

    Callers can send forwarding headers too, and proxies append to them, so they are read from the right, and only if
    the peer is trusted. Of `Forwarded` that element counts which the outermost of an unbroken row of trusted proxies
    has appended: each names the one before it (`for`). `X-Forwarded-*` name nobody, so of each the last element
    counts, which the nearest proxy has appended. `Forwarded` goes before `X-Forwarded-*`, but neither counts if the
    two name different callers.
    """
    scheme, host, prefix = scope.get("scheme", "http"), headers.get("host", ""), scope.get("root_path", "")
    client = scope.get("client")
    if client and proxies.trust(client[0]) and _named(headers, proxies) != DISPUTED:
        forwarded = _forwarded(headers.get("forwarded", ""), proxies)
        scheme = forwarded.get("proto") or _last(headers.get("x-forwarded-proto", "")) or scheme
        host = forwarded.get("host") or _last(headers.get("x-forwarded-host", "")) or host
        prefix = _last(headers.get("x-forwarded-prefix", "")).rstrip("/") + prefix
    if scheme in ("ws", "wss"):
        scheme = scheme.replace("ws", "http")
    return f"{scheme}://{host or _own_host(scope)}{prefix}".rstrip("/")


def peer_of(scope: Mapping[str, Any]) -> Peer:
    """Who is at the other end of the connection of this ASGI scope, whose TLS extension may have a certificate."""
    client = scope.get("client")
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    tls: Mapping[str, Any] | None = extensions.get("tls")
    certificate = b"" if tls is None or tls.get("client_cert_error") else _first(tls.get("client_cert_chain") or ())
    return Peer("" if not client else client[0], certificate) if client or certificate else NOBODY


def _first(chain: Iterable[str]) -> bytes:
    return next(map(_from_pem, chain), b"")


@lru_cache(256)
def _from_pem(certificate: str) -> bytes:
    """The certificate as DER; empty if it is none."""
    found = PEM(certificate.strip())
    return b"" if found is None else _from_base64("".join(found[1].split()))


def _from_base64(text: str) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        return b""


def caller_behind(peer: Peer, headers: Mapping[str, str], proxies: Proxies) -> Peer:
    """Who calls, where the peer is a trusted proxy: the last address of the row that is not one itself; else the peer.

    What a proxy says of the caller stands in for what is known of the proxy.
    """
    if not proxies.trust(peer.address):
        return peer
    certificate = _said(headers.get("client-cert", "")) if proxies.certificates else b""
    return Peer(_named(headers, proxies), certificate)


def _named(headers: Mapping[str, str], proxies: Proxies) -> str:
    """The address of the caller by the word of proxies; empty if they name none.

    A proxy that knows one of the headers lets through what the caller says in the other, and nobody can tell which one
    it knows: if both name callers and not the same, one of them is made up.
    """
    row = [_plain(_address(node.strip())) for node in headers.get("x-forwarded-for", "").split(",")]
    older = next((one for one in reversed(row) if not proxies.trust(one)), row[0])
    if "forwarded" not in headers:
        return older
    named = _plain(_address(_forwarded(headers["forwarded"], proxies).get("for", "")))
    return DISPUTED if older and older != named and not proxies.trust(older) else named


def _said(client_cert: str) -> bytes:
    """The one certificate of a `Client-Cert` field, a byte sequence (RFC 9440 section 2.2); empty if it is not that."""
    told = client_cert.strip()
    return _from_base64(told[1:-1]) if len(told) > 1 and told[0] == told[-1] == ":" else b""


def _plain(address: str) -> str:
    """The address, if it is one."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return str(getattr(found, "ipv4_mapped", None) or found)


def _own_host(scope: Mapping[str, Any]) -> str:
    """The address that the server listens at; a socket in the file system is on this machine."""
    host, port = scope.get("server") or ("localhost", None)
    if port is None:
        return "localhost"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _last(value: str) -> str:
    return value.rpartition(",")[2].strip()


def _forwarded(value: str, proxies: Proxies) -> dict[str, str]:
    """The hop of a `Forwarded` header (RFC 7239) that the outermost trusted proxy has seen."""
    hop: dict[str, str] = {}
    # Split at every comma: a quote that the caller left open must not swallow what a proxy has appended.
    for element in reversed(value.split(",")):
        pairs = (pair.partition("=") for pair in element.split(";"))
        hop = {name.strip().lower(): word.strip().strip('"') for name, _, word in pairs}
        if not proxies.trust(_address(hop.get("for", ""))):
            break
    return hop


def _address(node: str) -> str:
    """The address of a node, which may be given with a port; an IPv6 address is in brackets then, or stands alone."""
    if node.startswith("["):
        return node[1:].partition("]")[0]
    return node if node.count(":") > 1 else node.partition(":")[0]
