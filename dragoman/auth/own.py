"""A scheme that is somebody's own function."""

from collections.abc import Awaitable, Callable, Sequence

from dragoman.auth.scheme import Scheme, challenge, denied, unauthenticated
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.types.card import SecurityScheme

__all__ = ["OwnScheme"]


class OwnScheme(Scheme):
    """Callers as a function knows them. It is given what the request brings, and gives the principal, its id, or None
    for nobody. What else it raises than an `A2AError` is an internal error, and lets nobody in.

    Args:
        name: The scheme's name in the card.
        described: What the card says of it.
        knows: The function, awaited; it must be quick, or await.
        told: What `WWW-Authenticate` says: a scheme, and its parameters.
        scopes: What each principal must have.
    """

    def __init__(
        self,
        name: str,
        described: SecurityScheme,
        knows: Callable[[Credentials], Awaitable[Principal | str | None]],
        *,
        told: str,
        scopes: Sequence[str] = (),
    ) -> None:
        super().__init__(name, described, scopes)
        self._knows = knows
        self._challenge = challenge(told)

    async def known(self, credentials: Credentials) -> Principal:
        found = await self._knows(credentials)
        principal = Principal(found, self.name) if isinstance(found, str) else found
        if principal is None or not principal.id:
            raise unauthenticated(self._challenge)
        if not principal.scopes.issuperset(self.needs):
            raise denied(self.needs, self._challenge)
        return principal
