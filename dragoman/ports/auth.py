"""How callers are known: what a request brings with it, and what makes a principal of that."""

from collections.abc import Mapping
from typing import Protocol

from dragoman.ports.call import Principal
from dragoman.ports.credentials import NOBODY, Credentials, Peer
from dragoman.types.card import SecurityRequirement, SecurityScheme

__all__ = ["NOBODY", "Authenticator", "Credentials", "Peer"]


class Authenticator(Protocol):
    """Knows callers, and says in the card by what. Both come from one declaration, so that they cannot differ."""

    @property
    def schemes(self) -> Mapping[str, SecurityScheme]:
        """What the card's `securitySchemes` say."""
        ...

    @property
    def requirements(self) -> tuple[SecurityRequirement, ...]:
        """What the card's `securityRequirements` say: alternatives, each of schemes that apply together."""
        ...

    async def authenticate(self, credentials: Credentials) -> Principal:
        """Who calls. Asked at each call, before the request is looked at.

        Raises:
            UnauthenticatedError: nobody that is known; its challenges say by what one can be.
            PermissionDeniedError: the caller is known, and lacks a scope that each call needs.
            UnavailableError: it cannot be found out now.
        """
        ...
