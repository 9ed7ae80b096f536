"""What single skills ask for, with an eye on those who try."""

from collections.abc import Mapping

from dragoman.errors import UnauthenticatedError
from dragoman.hosts.admission import Admission
from dragoman.ports.auth import Authenticator, Credentials
from dragoman.ports.call import Principal
from dragoman.ports.limits import CallLimits
from dragoman.types.card import SecurityRequirement, SecurityScheme

__all__ = ["Watched", "watched"]


class Watched:
    """An `Authenticator` beside that of the gate: credentials for it may be wrong as often as those for that one."""

    def __init__(self, auth: Authenticator, limits: CallLimits) -> None:
        self._auth = auth
        self._admission = Admission(limits, auth.schemes)

    @property
    def schemes(self) -> Mapping[str, SecurityScheme]:
        return self._auth.schemes

    @property
    def requirements(self) -> tuple[SecurityRequirement, ...]:
        return self._auth.requirements

    async def authenticate(self, credentials: Credentials) -> Principal:
        """As `Authenticator.authenticate`; raises `LimitExceededError` for credentials that are not looked at now."""
        place = self._admission.try_credentials(credentials)
        try:
            principal = await self._auth.authenticate(credentials)
        except UnauthenticatedError:
            self._admission.were_wrong(credentials)
            raise
        finally:
            if place:
                self._admission.tried(place)
        self._admission.were_right(credentials)
        return principal


def watched(auth: Authenticator | None, limits: CallLimits) -> Authenticator | None:
    """What a skill asks for, watched, if it asks for anything."""
    return None if auth is None else Watched(auth, limits)
