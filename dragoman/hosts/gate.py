"""Who comes in: the one place where that is decided, for every request of every binding."""

from dragoman.errors import UnauthenticatedError
from dragoman.ports.auth import Authenticator, Credentials
from dragoman.ports.call import Principal

__all__ = ["Gate"]

ANYBODY = Principal()


class Gate:
    """Asks who calls, before anything of a request is looked at. Without an `authenticator` all callers are the
    anonymous one.
    """

    def __init__(self, authenticator: Authenticator | None = None) -> None:
        self._authenticator = authenticator

    async def enter(self, credentials: Credentials) -> Principal:
        """Who calls.

        Raises:
            A2AError: whoever it is may not call, or it cannot be found out.
        """
        if self._authenticator is None:
            return ANYBODY
        principal = await self._authenticator.authenticate(credentials)
        if not principal.id:
            # Whoever is known has a name: nobody comes by mistake to what anonymous callers have left.
            raise UnauthenticatedError
        return principal
