"""Which addresses stand for a machine of the public internet.

The tables are of the registries of special purposes (RFC 6890, 8190, and their later rows). For IPv6 only what is
handed out at all counts, which is `2000::/3`. They stand here in full, because what Python says differs from one of
its releases to the next.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

__all__ = ["Address", "Network", "address_of", "why_not_public"]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_V4 = tuple(
    (IPv4Network(network), words)
    for network, words in (
        ("127.0.0.0/8", "this machine"),
        ("0.0.0.0/8", "unspecified, and leads to this machine"),
        ("10.0.0.0/8", "private"),
        ("172.16.0.0/12", "private"),
        ("192.168.0.0/16", "private"),
        ("169.254.0.0/16", "link-local, where clouds keep metadata"),
        ("100.64.0.0/10", "shared by carriers (CGNAT)"),
        # Public by its number, and in that cloud the host's own service for its guests.
        ("168.63.129.16/32", "a cloud's service for its machines"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("192.88.99.0/24", "a relay to other addresses (6to4)"),
        ("198.18.0.0/15", "for benchmarks"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_V6 = tuple(
    (IPv6Network(network), words)
    for network, words in (
        ("::1/128", "this machine"),
        ("::/128", "unspecified, and leads to this machine"),
        ("::ffff:0:0/96", "an IPv4 address in another form (mapped)"),
        ("::ffff:0:0:0/96", "an IPv4 address in another form (translated)"),
        ("::/96", "an IPv4 address in another form (compatible)"),
        ("64:ff9b:1::/48", "a translation to private IPv4 addresses (NAT64)"),
        ("100::/63", "discarded"),
        ("2001::/32", "a tunnel to an IPv4 address (Teredo)"),
        ("2001:2::/48", "for benchmarks"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("3fff::/20", "for documentation"),
        ("2002::/16", "a tunnel to an IPv4 address (6to4)"),
        ("fc00::/7", "private (unique local)"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_UNICAST = IPv6Network("2000::/3")
# Networks without IPv4 reach all of it through this prefix, so it is as public as what is in it.
_NAT64 = IPv6Network("64:ff9b::/96")
# The lower half of an address by ISATAP: this, and the IPv4 address of the tunnel's end.
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def address_of(text: str) -> Address | None:
    """The address that stands in the text in its one plain form, without zone; None if there is none."""
    try:
        return IPv6Address(text) if ":" in text and "%" not in text else IPv4Address(text)
    except ValueError:
        return None


def why_not_public(address: Address) -> str | None:
    """What the address is, in a few words, or None if it is one of the public internet.

    An IPv4 address inside an IPv6 address counts where packets would go to it.
    """
    if isinstance(address, IPv4Address):
        return next((words for network, words in _V4 if address in network), None)
    if address in _NAT64:
        return _inside("a translation (NAT64) to an address that is", address)
    special = next((words for network, words in _V6 if address in network), None)
    if special is None and address not in _UNICAST:
        return "reserved"
    if special is None and int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return _inside("a tunnel (ISATAP) to an address that is", address)
    return special


def _inside(words: str, address: IPv6Address) -> str | None:
    reason = why_not_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return None if reason is None else f"{words} {reason}"
