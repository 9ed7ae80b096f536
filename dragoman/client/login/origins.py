"""Where credentials may go: origins, each read in the one way that all readers share."""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address

from dragoman.errors import ConfigurationError
from dragoman.outbound.url import DEFAULT_PORTS, read_host, split_port
from dragoman.ports.webhook import AddressRefused

__all__ = ["Origins", "origin_of"]

_SHAPE = re.compile(r"(?:([A-Za-z]+)://)?([^/?#]*)([/?#].*)?")
_ODD = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
_SCHEMES = {
    "https": "https",
    "grpcs": "https",
    "wss": "https",
    "http": "http",
    "grpc": "http",
    "ws": "http",
}
"""What a scheme is to an origin: with TLS or without. One port has one speaker, whatever is spoken there."""


def origin_of(url: str, *, secure: bool = True) -> str | None:
    """The origin of a URL: `https` or `http`, host in lower case and ASCII, and the port unless it is the default one.

    None if the URL has none that all readers agree about: user information, blanks, backslashes, other spellings of
    addresses and letters, schemes that are not known here. `secure` says what a URL without a scheme is.
    """
    found = _read(url, secure=secure)
    if found is None:
        return None
    scheme, host, port, _ = found
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + (f":{port}" if port != DEFAULT_PORTS[scheme] else "")


def _read(url: str, *, secure: bool = True) -> tuple[str, str, int, IPv4Address | IPv6Address | None] | None:
    found = None if _ODD.search(url) is not None else _SHAPE.fullmatch(url)
    if found is None or "@" in found[2]:
        return None
    scheme = ("https" if secure else "http") if found[1] is None else _SCHEMES.get(found[1].lower())
    if scheme is None:
        return None
    try:
        text, port = split_port(found[2])
        host, address = read_host(text)
    except AddressRefused:
        return None
    return scheme, host, port or DEFAULT_PORTS[scheme], address


def _is_loopback(origin: str) -> bool:
    found = _read(origin)
    if found is None:
        return False
    _, host, _, address = found
    return host == "localhost" if address is None else address.is_loopback


class Origins:
    """The origins that what the caller gave may go to: those that the caller named, and that of the agent.

    That is where the card comes from. A card from a file or a value comes from nowhere; then it is that of its
    interfaces, as long as all have the same.

    Args:
        named: by the caller; these may be without TLS.
        card: the origin that the card comes from; None if it comes from a file or a value.

    Raises:
        ConfigurationError: what is named is no origin.
    """

    def __init__(self, named: Iterable[str], card: str | None) -> None:
        self._named = frozenset(map(_named, named))
        self._card = card

    @property
    def nowhere(self) -> bool:
        """Whether the card comes from a file or a value, so that its interfaces count."""
        return self._card is None

    def are_of(self, origin: str | None, interfaces: Sequence[str | None]) -> bool:
        """Whether the origin is one of these, for an agent whose interfaces have those origins."""
        if origin is None:
            return False
        home = {self._card} if self._card is not None else set(interfaces)
        return origin in self._named or home == {origin}

    def refusal(self, origin: str | None, url: str, interfaces: Sequence[str | None]) -> str:
        """Why credentials may not go there; empty if they may."""
        if origin is None:
            return (
                f"Credentials are not sent to {_shortened(url)}: the URL can be read in more ways than one, or in none"
            )
        if not self.are_of(origin, interfaces):
            home = f"it comes from {self._card}" if self._card is not None else "its interfaces are at several places"
            return f"Credentials are not sent to {origin}, where the card leads: {home}"
        if origin.startswith("http:") and origin not in self._named and not _is_loopback(origin):
            return f"Credentials are not sent to {origin} without TLS"
        return ""


def _named(text: str) -> str:
    found = _SHAPE.fullmatch(text)
    origin = origin_of(text)
    if origin is None or found is None or found[3] not in {None, "/"}:
        raise ConfigurationError(f"credential_origins has https://host or https://host:port, not {_shortened(text)}")
    return origin


def _shortened(url: str) -> str:
    """As much of a URL as can be shown: without query, and without user information."""
    scheme, mark, rest = url.partition("?")[0][:200].rpartition("://")
    return repr(scheme + mark + rest.rpartition("@")[2])
