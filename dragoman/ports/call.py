"""Who calls, and how."""

from collections.abc import Set as AbstractSet

import msgspec

from dragoman.errors import PermissionDeniedError
from dragoman.ports.credentials import Credentials
from dragoman.types.json import JsonObject
from dragoman.types.requests import ServiceParameters

__all__ = ["EVERYBODY", "SHARED", "CallContext", "Principal", "Scope", "shared_name"]

SHARED = "="
"""How the names of those who share begin in a scope, and no id of a principal does."""
EVERYBODY = "*"
"""The name of those who share where it is for the tenant to keep apart."""


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
    group: str = ""
    """With whom the caller shares all data: with everybody of the same group. Empty: with nobody."""
    tenants: AbstractSet[str] | None = None
    """The tenants that the caller may name; None for any."""

    def __repr__(self) -> str:
        return f"Principal(id={self.id!r}, scheme={self.scheme!r})"


class Scope(msgspec.Struct, frozen=True, gc=False):
    """What a call may see: the data of one principal, or of those who share, in one tenant. Everything else does not
    exist for it.
    """

    tenant: str = ""
    principal: str = ""

    @property
    def counted(self) -> str:
        """Whose tasks count together: those of one name, wherever they are; where a whole tenant shares, its own."""
        return f"{self.principal} {self.tenant}" if self.principal == _ALL else self.principal


class CallContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What comes with a call besides its request."""

    principal: Principal = Principal()
    parameters: ServiceParameters = ServiceParameters()
    dialect: str = ""
    """The key of the dialect that the caller speaks: in it webhooks are called."""
    credentials: Credentials | None = None
    """What the call brought, for skills that ask for more than the agent does; never stored. Without it they refuse."""
    trusted: bool = False
    """Whether it is the owner's own, from inside the process: it may call every skill."""
    base: str = ""
    """The URL under which the caller reaches the agent, without a slash at the end, as far as it is known."""

    def scope(self, tenant: str) -> Scope:
        """The scope of this caller in `tenant`; the only place where a scope is derived. Who names no tenant and may
        name a single one is in that one.

        Raises:
            PermissionDeniedError: the caller may not name this tenant, whether it exists or not.
        """
        who = self.principal
        if who.tenants is not None:
            tenant = _allowed(tenant, who.tenants)
        return Scope(tenant, shared_name(who.group) if who.group else who.id)


def shared_name(group: str) -> str:
    """What stands in the scope in place of a principal, for those of this group."""
    return SHARED + group


_ALL = shared_name(EVERYBODY)


def _allowed(tenant: str, tenants: AbstractSet[str]) -> str:
    if tenant in tenants:
        return tenant
    if tenant or len(tenants) != 1:
        raise PermissionDeniedError("The caller has no access to this tenant")
    (only,) = tenants
    return only
