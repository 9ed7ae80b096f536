"""What a request brings with it by which its caller can be known."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

import msgspec

__all__ = ["NOBODY", "Credentials", "Peer"]

MOST_PARAMETERS = 100


class Peer(msgspec.Struct, frozen=True):
    """The other end of a request's connection; behind trusted proxies, the caller that they name."""

    address: str = ""
    """Its IP address; empty where there is none, as on a socket in the file system."""
    certificate: bytes = b""
    """The client certificate (DER) by which TLS knows it, verified against the authorities that the owner trusts; empty
    without one.
    """

    def __repr__(self) -> str:
        return f"Peer(address={self.address!r})"


NOBODY = Peer()


class Credentials(msgspec.Struct, frozen=True):
    """What a request brings by which its caller can be known, whatever the binding. Its `repr` shows nothing of it.

    Names of headers are lower case, several of one name are joined by `, `, cookies by `; `; over gRPC they are the
    metadata, and there is no query.
    """

    headers: Mapping[str, str] = {}
    query: str = ""
    peer: Peer = NOBODY

    def __repr__(self) -> str:
        return "Credentials()"

    def authorization(self, scheme: str) -> str | None:
        """What follows the name of this scheme, in whatever case, in `Authorization`; None if there is another."""
        name, _, told = self.headers.get("authorization", "").strip().partition(" ")
        return told.strip() if name.lower() == scheme.lower() else None

    def header(self, name: str) -> str | None:
        return self.headers.get(name.lower())

    def parameter(self, name: str) -> str | None:
        """The parameter of the query; None if it is not there exactly once."""
        try:
            pairs = parse_qsl(self.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
        except ValueError:
            return None
        return _only([value for key, value in pairs if key == name])

    def cookie(self, name: str) -> str | None:
        """The cookie; None if it is not there exactly once."""
        pairs = [pair.strip().partition("=") for pair in self.headers.get("cookie", "").split(";")]
        return _only([value.removeprefix('"').removesuffix('"') for key, _, value in pairs if key == name])


def _only(found: list[str]) -> str | None:
    return found[0] if len(found) == 1 else None
