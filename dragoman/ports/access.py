"""What owners say of who shares with whom, who may name which tenant, and who sees which card."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Literal

from dragoman.ports.call import Principal
from dragoman.types.card import AgentCard

__all__ = ["AccessPolicy", "ExtendedCard", "TenantPolicy"]

ExtendedCard = AgentCard | Callable[[Principal], AgentCard | Awaitable[AgentCard]]
"""The card for callers who ask for more, or a function that gives each their own; it must be quick, or await."""

AccessPolicy = Literal["principal", "tenant"] | Callable[[Principal], str]
"""`principal`: everybody has their own data. `tenant`: everybody in a tenant shares. Else a function that gives the
name of those who share with this principal; empty for nobody.
"""
TenantPolicy = Callable[[Principal], Collection[str] | str] | Mapping[str, Collection[str] | str]
"""The tenants that a principal may name: a function, or a mapping by the principal's id. The empty one is that of
callers who name none.
"""
