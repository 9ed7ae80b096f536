"""Those who try credentials: how often they may be wrong."""

import secrets
from collections.abc import Callable, Mapping
from time import monotonic

import pybase64

from dragoman.buckets import MOST_KEYS, Buckets
from dragoman.hosts.connections import network_of
from dragoman.ports.auth import Credentials
from dragoman.ports.limits import Rate
from dragoman.types.card import APIKeySecurityScheme, MutualTlsSecurityScheme, SecurityScheme

__all__ = ["Failures"]

LONGEST_NAME = 256


class Failures:
    """Counts wrong credentials: by the address they come from, by the name they are for, and each by itself.

    What is wrong again, from the same address, is no further guess: it counts by itself alone, so that one client with
    an old key does not shut out the others of its network. Nothing counts against addresses that were not wrong lately
    themselves, so that nobody is shut out by guesses from elsewhere; and what was right before is always looked at. Who
    brings nothing by which one could be known has not failed. This machine is no address: there names alone count.

    To look at passwords takes long, and at tokens about which an issuer is asked. As long as it is not known whether
    they are wrong, those of one address count as if they were: who sends all guesses at once has no more of them. Of
    what are no passwords that is so only where others were wrong lately.

    `schemes` say where credentials stand; what else a request brings makes no difference. They are kept as a hash,
    under a key of the process.
    """

    def __init__(
        self, rate: Rate, schemes: Mapping[str, SecurityScheme], clock: Callable[[], float] = monotonic
    ) -> None:
        places = [_place(scheme) for scheme in schemes.values()]
        self._headers = tuple(dict.fromkeys(name for kind, name in places if kind == "header"))
        self._cookies = tuple(name for kind, name in places if kind == "cookie")
        self._parameters = tuple(name for kind, name in places if kind == "query")
        self._only = self._headers[0] if len(places) == len(self._headers) == 1 else ""
        """The one header in which they all stand, if there is one."""
        self._pepper = secrets.randbits(64)
        self._any = False
        """Whether there ever were any."""
        self._networks: Buckets[str] = Buckets(rate, clock)
        self._names: Buckets[str] = Buckets(rate, clock)
        self._claims: Buckets[tuple[str, int]] = Buckets(rate, clock)
        self._repeating: Buckets[str] = Buckets(rate, clock)
        """Networks that bring again what was wrong: whose `_claims` may be used up."""
        self._right: dict[int, None] = {}
        self._trying: dict[str, int] = {}
        """What is being looked at, by network."""

    def wait(self, credentials: Credentials) -> float:
        """The seconds until these credentials are looked at; 0 for now."""
        if not self._any and not self._trying:
            return 0.0
        network = network_of(credentials.peer.address)
        trying = self._trying.get(network, 0)
        if not trying and not self._doubtful(network):
            return 0.0
        mark = self._mark(credentials)
        if not mark or mark in self._right:
            return 0.0
        by_itself, by_name = self._claims.wait((network, mark)), self._names.wait(_name(credentials))
        return max(by_itself, by_name, self._networks.wait(network, trying))

    def begin(self, credentials: Credentials) -> str:
        """These are being looked at, which may take long. Of passwords, and where others were wrong lately, it gives
        what `end` is to be told; else nothing.
        """
        told = credentials.headers.get("authorization")
        is_password = told is not None and told.lstrip()[:5].lower() == "basic"
        if not is_password and not self._any:
            return ""
        network = network_of(credentials.peer.address)
        if not network or not (is_password or self._doubtful(network)):
            return ""
        mark = self._mark(credentials)
        if not mark or mark in self._right:
            return ""
        self._trying[network] = self._trying.get(network, 0) + 1
        return network

    def end(self, network: str) -> None:
        """One of those that had begun has been looked at."""
        left = self._trying.pop(network) - 1
        if left:
            self._trying[network] = left

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
        """These were right, which is remembered: others may begin to guess where they come from."""
        mark = self._mark(credentials)
        if mark not in self._right:
            if len(self._right) >= MOST_KEYS:
                del self._right[next(iter(self._right))]
            self._right[mark] = None

    def _doubtful(self, network: str) -> bool:
        return network in self._networks or network in self._repeating

    def _mark(self, credentials: Credentials) -> int:
        """What tells credentials apart; 0 if there are none."""
        if self._only:
            told = credentials.headers.get(self._only)
            return hash((self._pepper, told)) if told else 0
        given = [credentials.headers.get(name) for name in self._headers]
        if self._cookies:
            given += map(credentials.cookie, self._cookies)
        if self._parameters:
            given += map(credentials.parameter, self._parameters)
        # Of text Python's hash is SipHash, and a tenth as dear as an HMAC. This is on the path of every call.
        return hash((self._pepper, *given)) if any(given) else 0


def _place(scheme: SecurityScheme) -> tuple[str, str]:
    """Where credentials for it stand."""
    match scheme:
        case APIKeySecurityScheme(location="header"):
            return "header", scheme.name.lower()
        case APIKeySecurityScheme():
            return scheme.location, scheme.name
        case MutualTlsSecurityScheme():
            return "connection", ""
        case _:
            return "header", "authorization"


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
