"""How much is asked of this agent, by whom and from where, and who has to come back later."""

from collections.abc import Callable, Mapping
from time import monotonic

from dragoman.buckets import Buckets
from dragoman.errors import LimitExceededError
from dragoman.hosts.connections import network_of
from dragoman.hosts.failures import Failures
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.ports.limits import CallLimits
from dragoman.types.card import SecurityScheme

__all__ = ["Admission"]

SOON = 1.0
"""Seconds after which there may be room again, where nobody knows when."""


class Admission:
    """Counts requests, wrong credentials and open streams of callers, alike for all bindings.

    `schemes` are those by which callers are known, None if nobody is asked. Whatever is raised is a
    `LimitExceededError` that names the limit, and nothing of other callers.
    """

    def __init__(
        self,
        limits: CallLimits,
        schemes: Mapping[str, SecurityScheme] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._limits = limits
        per_address, per_principal = limits.requests_per_address, limits.requests_per_principal
        self._networks: Buckets[str] | None = None if per_address is None else Buckets(per_address, clock)
        self._principals: Buckets[str] | None = None if per_principal is None else Buckets(per_principal, clock)
        failed = limits.failed_authentications
        self._failures = None if failed is None or schemes is None else Failures(failed, schemes, clock)
        self._streams: dict[tuple[str, str], int] = {}
        self._open_streams = 0

    def arrive(self, address: str) -> None:
        """A call comes from this address; it is not known yet who calls."""
        if self._networks is not None and (network := network_of(address)) and (wait := self._networks.take(network)):
            raise _exceeded("requestsPerAddress", "Too many requests from this address", wait)

    def known(self, principal: str) -> None:
        """It is this principal, who is not anonymous."""
        if self._principals is not None and (wait := self._principals.take(principal)):
            raise _exceeded("requestsPerPrincipal", "Too many requests", wait)

    # Credentials.

    def try_credentials(self, credentials: Credentials) -> str:
        """These are about to be looked at. What it gives, if anything, `tried` is told afterwards."""
        if self._failures is None:
            return ""
        if wait := self._failures.wait(credentials):
            raise _exceeded("failedAuthentications", "Too many failed attempts to authenticate", wait)
        return self._failures.begin(credentials)

    def tried(self, place: str) -> None:
        """They have been looked at, or nobody waits for it any more; after `were_wrong`, if they were."""
        if place and self._failures is not None:
            self._failures.end(place)

    def were_wrong(self, credentials: Credentials) -> None:
        """They are nobody's."""
        if self._failures is not None:
            self._failures.count(credentials)

    def were_right(self, credentials: Credentials) -> None:
        """They are somebody's."""
        if self._failures is not None:
            self._failures.clear(credentials)

    # Streams.

    def open_stream(self, principal: Principal, address: str) -> Callable[[], None]:
        """Takes a place for a stream; what it returns gives the place back, however often it is called."""
        limits, caller = self._limits, (principal.id, "" if principal.id else network_of(address))
        own = self._streams.get(caller, 0)
        per_caller = None if caller == ("", "") else limits.max_streams_per_caller
        if per_caller is not None and own >= per_caller:
            raise _exceeded("streamsPerCaller", "Too many open streams", SOON)
        if limits.max_streams is not None and self._open_streams >= limits.max_streams:
            raise _exceeded("streams", "This agent has as many open streams as it can have", SOON)
        self._streams[caller] = own + 1
        self._open_streams += 1
        held = [caller]

        def leave() -> None:
            if held:
                self._leave(held.pop())

        return leave

    def _leave(self, caller: tuple[str, str]) -> None:
        self._open_streams -= 1
        left = self._streams.pop(caller) - 1
        if left:
            self._streams[caller] = left


def _exceeded(limit: str, message: str, wait: float) -> LimitExceededError:
    error = LimitExceededError(message, details={"limit": limit})
    error.retry_after = wait
    return error
