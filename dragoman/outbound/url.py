"""The one reading of a URL: what it is checked as, and what it is called as, is the same `Target`.

Other readers disagree about odd URLs, and each disagreement is a way past a check. So there are no repairs here: what
has more than one reading, or another spelling than the plain one, is refused.
"""

import re
from ipaddress import IPv4Address

import msgspec

from dragoman.outbound.addresses import Address, address_of
from dragoman.outbound.names import ascii_name
from dragoman.ports.webhook import AddressRefused

__all__ = ["DEFAULT_PORTS", "Target", "read_host", "read_url", "split_port"]

DEFAULT_PORTS = {"https": 443, "http": 80}
LONGEST = 2048
LONGEST_NAME = 253
_VISIBLE = re.compile(r"[\x21-\x7e]*")
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0]")
_SHAPE = re.compile(r"(?i:(https?)://)([^/?]*)(.*)")
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_HIGHEST_PORT = 65535
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
# What browsers and C libraries take for a part of an IPv4 address.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call goes."""

    scheme: str
    host: str
    """A name in lower case and ASCII without a dot at its end, or an address in its shortest form without brackets."""
    port: int
    path: str
    """Path and query as they were given, an empty query left out; begins with a slash."""
    address: Address | None
    """The host, if it is an address."""

    @property
    def url(self) -> str:
        """Everything in one, in its plain form."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def read_url(url: str) -> Target:
    """Reads an `http` or `https` URL of at most 2,048 characters.

    Raises:
        AddressRefused: it is none, or it is none that all readers read alike. The message repeats nothing of it.
    """
    if len(url) > LONGEST:
        raise AddressRefused(f"The URL is longer than {LONGEST} characters")
    if _UNSEEN.search(url) is not None:
        raise AddressRefused("The URL contains blanks or control characters")
    if "\\" in url:
        raise AddressRefused("The URL contains a backslash")
    if "#" in url:
        raise AddressRefused("The URL has a fragment")
    found = _SHAPE.fullmatch(url)
    if found is None:
        raise AddressRefused("The URL does not begin with https:// and a host")
    scheme, authority, path = found.groups()
    if "@" in authority:
        raise AddressRefused("The URL has a user name or a password")
    if _VISIBLE.fullmatch(path) is None:
        raise AddressRefused("Path and query of the URL are not ASCII: they must be percent-encoded")
    scheme = scheme.lower()
    text, port = split_port(authority)
    host, address = read_host(text)
    path, _, query = path.partition("?")
    path = f"{path or '/'}?{query}" if query else path or "/"
    port = DEFAULT_PORTS[scheme] if port is None else port
    return Target(scheme=scheme, host=host, port=port, path=path, address=address)


def split_port(authority: str) -> tuple[str, int | None]:
    """Host, still in its brackets if it has some, and port.

    Raises:
        AddressRefused: what stands behind a colon is no port.
    """
    end = (authority.rfind("]") + 1 or len(authority)) if authority.startswith("[") else 0
    colon = authority.find(":", end)
    if colon == -1:
        return authority, None
    port = authority[colon + 1 :]
    if _PORT.fullmatch(port) is None or int(port) > _HIGHEST_PORT:
        raise AddressRefused("What stands behind the host of the URL is no port")
    return authority[:colon], int(port)


def read_host(text: str) -> tuple[str, Address | None]:
    """The host of a URL in its plain form, and the address if it is one.

    Raises:
        AddressRefused: it is neither a name nor an address, or written in an odd way.
    """
    if text.startswith("["):
        return _v6(text)
    if not text:
        raise AddressRefused("The URL has no host")
    if "%" in text:
        raise AddressRefused("The host is percent-encoded")
    name = ascii_name(text)
    plain = name.removesuffix(".")
    labels = plain.split(".")
    if _NUMBER.fullmatch(labels[-1]) is not None:
        address = address_of(name)
        if not isinstance(address, IPv4Address):
            raise AddressRefused("The host is an IPv4 address in another spelling than four decimal numbers")
        return str(address), address
    if len(plain) > LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise AddressRefused("The host is no name: labels of letters, digits and hyphens, with dots between")
    return plain, None


def _v6(text: str) -> tuple[str, Address]:
    if "%" in text:
        raise AddressRefused("The host is an address with a zone")
    address = address_of(text[1:-1]) if text.endswith("]") and ":" in text else None
    if address is None:
        raise AddressRefused("The host in brackets is no IPv6 address")
    return str(address), address
