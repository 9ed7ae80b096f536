"""Who talks to whom: each official SDK in both roles, in every version and binding that it has."""

from dataclasses import dataclass

__all__ = ["BINDINGS", "COLUMNS", "PEERS", "Column", "Peer"]

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")


@dataclass(frozen=True)
class Peer:
    """One release of an official SDK; `key` names its environment under `.peers`."""

    key: str
    name: str
    program: str
    """The programs under `peers` are `<program>_client` and `<program>_server`."""
    versions: tuple[str, ...]


PEERS = {
    peer.key: peer
    for peer in (
        Peer("py-1.3.0", "Python 1.3.0", "py_1", ("1.0", "0.3")),
        Peer("py-0.3.26", "Python 0.3.26", "py_0_3", ("0.3",)),
        Peer("js-1.3.0", "JavaScript 1.3.0", "js_1", ("1.0", "0.3")),
        Peer("js-0.3.14", "JavaScript 0.3.14", "js_0_3", ("0.3",)),
    )
}


@dataclass(frozen=True, order=True)
class Column:
    """A peer in a role (`client` of our server, or `server` of our client), over one binding in one version.

    Without version and binding the client chooses.
    """

    role: str
    version: str
    peer: str
    binding: str

    def __str__(self) -> str:
        return f"{self.peer} {self.role} {self.version} {self.binding}"


COLUMNS = tuple(
    Column(role, version, peer.key, binding)
    for role in ("client", "server")
    for peer in PEERS.values()
    for version in peer.versions
    for binding in BINDINGS
)
