"""Where the caller sees this server: the base URL of the interfaces, from the request."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.errors import ConfigurationError

__all__ = ["Proxies", "base_url"]


class Proxies:
    """The proxies whose word about the caller is believed."""

    def __init__(self, trusted: Sequence[str]) -> None:
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
    """The URL under which the caller reached the application, without a slash at the end."""
    scheme, host, prefix = scope.get("scheme", "http"), headers.get("host", ""), scope.get("root_path", "")
    client = scope.get("client")
    if client and proxies.trust(client[0]):
        forwarded = _forwarded(headers.get("forwarded", ""))
        scheme = forwarded.get("proto") or _first(headers.get("x-forwarded-proto", "")) or scheme
        host = forwarded.get("host") or _first(headers.get("x-forwarded-host", "")) or host
        prefix = _first(headers.get("x-forwarded-prefix", "")).rstrip("/") + prefix
    if not host:
        server = scope.get("server") or ("localhost", None)
        host = server[0] if server[1] is None else f"{server[0]}:{server[1]}"
    if scheme in ("ws", "wss"):
        scheme = scheme.replace("ws", "http")
    return f"{scheme}://{host}{prefix}".rstrip("/")


def _first(value: str) -> str:
    return value.partition(",")[0].strip()


def _forwarded(value: str) -> dict[str, str]:
    """The first hop of a `Forwarded` header (RFC 7239)."""
    pairs = (pair.partition("=") for pair in _first(value).split(";"))
    return {name.strip().lower(): word.strip().strip('"') for name, _, word in pairs}
