"""Who calls, and how."""

import msgspec

from dragoman.types.json import JsonObject
from dragoman.types.requests import ServiceParameters

__all__ = ["CallContext", "Principal", "Scope"]


class Principal(msgspec.Struct, frozen=True, gc=False):
    """The authenticated caller; the empty id is the anonymous one, shared by all who do not authenticate.

    `repr` tells no more than the id and the scheme.
    """

    id: str = ""
    """Whose data it is: what one id makes is invisible to every other."""
    scheme: str = ""
    """By which of the card's security schemes the caller is known."""
    scopes: frozenset[str] = frozenset()
    """What the caller was allowed by whoever vouches for it."""
    claims: JsonObject = {}
    """What else is known of the caller."""

    def __repr__(self) -> str:
        return f"Principal(id={self.id!r}, scheme={self.scheme!r})"


class Scope(msgspec.Struct, frozen=True, gc=False):
    """What a call may see: the data of one principal in one tenant. Everything else does not exist for it."""

    tenant: str = ""
    principal: str = ""


class CallContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What comes with a call besides its request."""

    principal: Principal = Principal()
    parameters: ServiceParameters = ServiceParameters()
    dialect: str = ""
    """The key of the dialect that the caller speaks: in it webhooks are called."""

    def scope(self, tenant: str) -> Scope:
        """The scope of this caller in `tenant`; the only place where a scope is derived."""
        return Scope(tenant, self.principal.id)
