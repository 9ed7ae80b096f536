"""What owners say of who shares with whom, and of who may name which tenant."""

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from dragoman.ports.call import Principal

__all__ = ["AccessPolicy", "TenantPolicy"]

AccessPolicy = Literal["principal", "tenant"] | Callable[[Principal], str]
"""`principal`: everybody has their own data. `tenant`: everybody in a tenant shares. Else a function that gives the
name of those who share with this principal; empty for nobody.
"""
TenantPolicy = Callable[[Principal], Collection[str] | str] | Mapping[str, Collection[str] | str]
"""The tenants that a principal may name: a function, or a mapping by the principal's id. The empty one is that of
callers who name none.
"""
