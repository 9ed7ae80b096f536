"""Who comes in: the one place where that is decided, for every request of every binding."""

import logging
from collections.abc import Callable, Mapping

from dragoman.errors import UnauthenticatedError
from dragoman.hosts.admission import Admission
from dragoman.ports.auth import Authenticator, Credentials
from dragoman.ports.call import SHARED, Principal
from dragoman.ports.limits import CallLimits
from dragoman.types.card import SecurityScheme

__all__ = ["Gate"]

ANYBODY = Principal()

log = logging.getLogger("dragoman.hosts")


class Gate:
    """Asks who calls, before anything of a request is looked at. Without an `authenticator` all callers are the
    anonymous one. `placed` says with whom a principal shares, and in which tenants it may be. `admission` counts who
    comes, and how often in vain, by default as `CallLimits` has it.
    """

    def __init__(
        self,
        authenticator: Authenticator | None = None,
        placed: Callable[[Principal], Principal] | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._authenticator = authenticator
        self._placed = placed
        self.schemes: Mapping[str, SecurityScheme] = {} if authenticator is None else authenticator.schemes
        """By what callers can be known."""
        self.admission = admission or Admission(CallLimits())

    async def enter(self, credentials: Credentials) -> Principal:
        """Who calls.

        Raises:
            A2AError: whoever it is may not call, or it cannot be found out.
        """
        self.admission.arrive(credentials.peer.address)
        if self._authenticator is None:
            return ANYBODY
        place = self.admission.try_credentials(credentials)
        try:
            principal = await self._authenticator.authenticate(credentials)
        except UnauthenticatedError:
            self.admission.were_wrong(credentials)
            raise
        finally:
            if place:
                self.admission.tried(place)
        self.admission.were_right(credentials)
        if not principal.id:
            # Whoever is known has a name: nobody comes by mistake to what anonymous callers have left.
            raise UnauthenticatedError
        if principal.id.startswith(SHARED):
            log.error("somebody who is known by %s has an id that begins with %r: nobody may", principal.scheme, SHARED)
            raise UnauthenticatedError
        self.admission.known(principal.id)
        return principal if self._placed is None else self._placed(principal)
