"""Who calls, and how."""

import msgspec

from dragoman.types.requests import ServiceParameters

__all__ = ["CallContext", "Principal", "Scope"]


class Principal(msgspec.Struct, frozen=True, gc=False):
    """The authenticated caller; the empty id is the anonymous one, shared by all who do not authenticate."""

    id: str = ""


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
