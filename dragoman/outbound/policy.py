"""What may be called: everything public over https at a few ports, and what the owner names besides."""

from collections.abc import Iterable, Sequence
from ipaddress import ip_network

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.outbound.addresses import Address, Network, address_of, why_not_public
from dragoman.outbound.url import DEFAULT_PORTS, Target, read_host, read_url, split_port
from dragoman.ports.webhook import AddressRefused

__all__ = ["Policy"]

# Names that never are of the public internet (RFC 6761, 6762, 7686, 8375, and `internal`, which is kept for this).
_LOCAL = (".localhost", ".localdomain", ".local", ".internal", ".intranet", ".home.arpa", ".onion", ".invalid")


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `allow`: a name or a network, and the scheme and port at which it is open."""

    name: str = ""
    network: Network | None = None
    scheme: str = "https"
    port: int | None = None
    """None stands for the ports that are open anyway."""

    def has(self, address: Address) -> bool:
        return self.network is not None and address in self.network


class Policy:
    """Says whether a call may go where it wants to go. Knows no time and no network: it is asked twice, about the URL
    and about each address that its name stands for.

    Without `allow`, a call may go to public addresses over https at one of `ports`. Each entry of `allow` opens what
    it names, and no more:

    - `host`: this very name, wherever it leads, over https at one of `ports`. No names below it.
    - `host:port`, or `https://host:port`: the same at this port, and at no other.
    - `http://host:port`: the name over plain http at this port (80 without one), and not over https.
    - An address (`10.0.0.5`, `[fd00::5]:9000`, `http://127.0.0.1:8080`) likewise, by whatever name it is reached.
    - A network (`10.0.0.0/8`, `fd00::/8`): its addresses over https at one of `ports`.

    `insecure` opens every name, address, port and scheme; a URL that can be read in two ways is still refused.
    """

    def __init__(
        self, *, allow: Sequence[str] = (), insecure: bool = False, ports: Sequence[int] = (443, 8443)
    ) -> None:
        """
        Raises:
            ConfigurationError: an entry of `allow` is none of these.
        """
        self.insecure = insecure
        self._ports = frozenset(ports)
        self._openings = tuple(map(_opening, allow))

    def target(self, url: str) -> Target:
        """What the URL says, if a call may go there as far as that can be known before its name is resolved.

        Raises:
            AddressRefused: it may not; the message says why, and repeats nothing but host and port.
        """
        target = read_url(url)
        if self.is_named(target):
            return target
        if target.address is None and "." not in target.host:
            raise AddressRefused(f"{target.host} is a name of this machine or its network")
        if not any(self._opens(opening, target) for opening in self._openings):
            self._look(target)
        return target

    def admit(self, target: Target, addresses: Iterable[str]) -> tuple[str, ...]:
        """These addresses in their plain form, if the call may go to every one of them.

        Raises:
            AddressRefused: to one of them it may not.
        """
        return tuple(self._admitted(target, text) for text in addresses)

    def is_named(self, target: Target) -> bool:
        """Whether the owner has opened this very name, which then may be one of a local network."""
        return self.insecure or any(
            opening.name == target.host and self._opens(opening, target) for opening in self._openings
        )

    def _look(self, target: Target) -> None:
        """At what no entry opens."""
        if target.scheme != "https":
            raise AddressRefused("Only https may be called")
        if target.port not in self._ports:
            raise AddressRefused(f"Port {target.port} may not be called")
        if target.address is not None:
            self.admit(target, [target.host])
        elif target.host.endswith(_LOCAL):
            raise AddressRefused(f"{target.host} is a name of a local network")

    def _admitted(self, target: Target, text: str) -> str:
        address = address_of(text)
        if address is None:
            raise AddressRefused("The name leads to an address that is none, or has a zone")
        named = self.is_named(target) or any(
            opening.has(address) and self._fits(opening, target) for opening in self._openings
        )
        reason = None if named else self._why_not(target, address)
        if reason is not None:
            leads = "" if target.host == str(address) else f"{target.host} leads to "
            raise AddressRefused(f"{leads}{address}, which is {reason}")
        return str(address)

    def _why_not(self, target: Target, address: Address) -> str | None:
        if target.scheme != "https" or target.port not in self._ports:
            return f"not open over {target.scheme} at port {target.port}"
        return why_not_public(address)

    def _opens(self, opening: _Opening, target: Target) -> bool:
        """Whether the entry may open the target; of a network that is known when the name is resolved."""
        if not self._fits(opening, target):
            return False
        if opening.network is None:
            return opening.name == target.host
        return target.address is None or opening.has(target.address)

    def _fits(self, opening: _Opening, target: Target) -> bool:
        at = target.port in self._ports if opening.port is None else target.port == opening.port
        return at and target.scheme == opening.scheme


def _opening(entry: str) -> _Opening:
    network = _network(entry)
    if network is not None:
        return _Opening(network=network)
    scheme, separator, authority = entry.rpartition("://")
    try:
        text, port = split_port(authority)
        host, address = read_host(text)
    except AddressRefused as error:
        raise ConfigurationError(f"{entry!r} in allow is no host, address, network or http://host:port") from error
    if separator and scheme not in DEFAULT_PORTS:
        raise ConfigurationError(f"{entry!r} in allow has a scheme that is neither http nor https")
    return _Opening(
        name="" if address is not None else host,
        network=None if address is None else ip_network(address),
        scheme=scheme or "https",
        port=port if port is not None or not separator else DEFAULT_PORTS[scheme],
    )


def _network(entry: str) -> Network | None:
    """The entry as a network or as an address alone; IPv6 addresses need no brackets then."""
    try:
        return None if "%" in entry else ip_network(entry)
    except ValueError:
        return None
