"""Those who try credentials: how often they may be wrong."""

import hmac
import secrets
from collections.abc import Callable, Mapping
from time import monotonic

import pybase64

from dragoman.buckets import MOST_KEYS, Buckets
from dragoman.hosts.connections import network_of
from dragoman.ports.auth import Credentials
from dragoman.ports.limits import Rate
from dragoman.types.card import APIKeySecurityScheme, SecurityScheme

__all__ = ["Failures"]

LONGEST_NAME = 256


class Failures:
    """Counts wrong credentials: by the address they come from, by the name they are for, and each by itself.

    What is wrong again, from the same address, is no further guess: it counts by itself alone, so that one client with
    an old key does not shut out the others of its network. Nothing counts against addresses that were not wrong lately
    themselves, so that nobody is shut out by guesses from elsewhere; and what was right there is always looked at. Who
    brings nothing by which one could be known has not failed. This machine is no address: there names alone count.

    `schemes` say where keys stand. Credentials are kept as an HMAC.
    """

    def __init__(
        self, rate: Rate, schemes: Mapping[str, SecurityScheme], clock: Callable[[], float] = monotonic
    ) -> None:
        keys = [scheme for scheme in schemes.values() if isinstance(scheme, APIKeySecurityScheme)]
        self._headers = ("authorization", "cookie", *[key.name.lower() for key in keys if key.location == "header"])
        self._parameters = tuple(key.name for key in keys if key.location == "query")
        self._pepper = secrets.token_bytes(32)
        self._any = False
        """Whether there ever were any."""
        self._networks: Buckets[str] = Buckets(rate, clock)
        self._names: Buckets[str] = Buckets(rate, clock)
        self._claims: Buckets[tuple[str, bytes]] = Buckets(rate, clock)
        self._repeating: Buckets[str] = Buckets(rate, clock)
        """Networks that bring again what was wrong: whose `_claims` may be used up."""
        self._right: dict[bytes, None] = {}

    def wait(self, credentials: Credentials) -> float:
        """The seconds until these credentials are looked at; 0 for now."""
        if not self._any or not self._doubtful(network := network_of(credentials.peer.address)):
            return 0.0
        mark = self._mark(credentials)
        if not mark or mark in self._right:
            return 0.0
        by_itself, by_name = self._claims.wait((network, mark)), self._names.wait(_name(credentials))
        return max(by_itself, by_name, self._networks.wait(network))

    def count(self, credentials: Credentials) -> None:
        """These were wrong."""
        mark = self._mark(credentials)
        if not mark:
            return
        self._any = True
        self._right.pop(mark, None)
        network = network_of(credentials.peer.address)
        again = (network, mark) in self._claims
        self._claims.take((network, mark))
        if again or not network:
            self._repeating.take(network)
        if not again and network:
            self._networks.take(network)
        if not again and (name := _name(credentials)):
            self._names.take(name)

    def clear(self, credentials: Credentials) -> None:
        """These were right; if they come from where others are wrong, that is remembered."""
        if self._any and self._doubtful(network_of(credentials.peer.address)):
            if len(self._right) >= MOST_KEYS:
                del self._right[next(iter(self._right))]
            self._right[self._mark(credentials)] = None

    def _doubtful(self, network: str) -> bool:
        return network in self._networks or network in self._repeating

    def _mark(self, credentials: Credentials) -> bytes:
        """What tells credentials apart; empty if there are none."""
        given = [credentials.headers.get(name, "") for name in self._headers]
        given += [credentials.parameter(name) or "" for name in self._parameters]
        if not any(given):
            return b""
        return hmac.digest(self._pepper, "\0".join(given).encode(errors="replace"), "sha256")


def _name(credentials: Credentials) -> str:
    """Whom the password is for; empty where there is none."""
    coded = credentials.authorization("Basic")
    if not coded:
        return ""
    try:
        name, _, _ = pybase64.b64decode(coded[: 2 * LONGEST_NAME]).decode(errors="replace").partition(":")
    except ValueError:
        return ""
    return name[:LONGEST_NAME]
