"""Who shares with whom, and who may name which tenant, as the owner of an agent says it."""

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.ports.access import AccessPolicy, TenantPolicy
from dragoman.ports.auth import Authenticator
from dragoman.ports.call import EVERYBODY, Principal

__all__ = ["ByClaim", "access", "by_claim"]


class ByClaim:
    """What a claim of the caller says, as policy. See `by_claim`."""

    def __init__(self, name: str) -> None:
        if not name:
            raise ConfigurationError("by_claim takes the name of a claim")
        self._name = name

    def __repr__(self) -> str:
        return f"by_claim({self._name!r})"

    def __call__(self, principal: Principal) -> str:
        """The name of those who share, which is an issuer's own, as names of callers are."""
        value = principal.claims.get(self._name)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            return ""
        issuer = principal.claims.get("iss")
        return f"{issuer if isinstance(issuer, str) and issuer else principal.scheme} {value}"

    def tenants(self, principal: Principal) -> frozenset[str]:
        """The tenants that the claim lists, or the one that it says."""
        value: Any = principal.claims.get(self._name)
        listed: Any = value if type(value) in (list, tuple) else [value]
        return frozenset([one for one in listed if isinstance(one, str) and one])


def by_claim(name: str) -> ByClaim:
    """A policy by a claim of the caller's token. For `access=`: all share in whom one issuer states the same text or
    number; who has no such claim is alone. For `tenants=`: the tenants are those that the claim lists, or the one that
    it says; who has no such claim has none. Callers by keys and passwords have no claims.
    """
    return ByClaim(name)


def access(
    policy: AccessPolicy, tenants: TenantPolicy | None, auth: Authenticator | None
) -> Callable[[Principal], Principal] | None:
    """Gives each principal its group and its tenants; None if there is nothing to give.

    Raises:
        ConfigurationError: there is no such policy, nobody is known whom it could be about, or a tenant is shared that
            anybody may name.
    """
    if not callable(policy) and policy not in ("principal", "tenant"):
        raise ConfigurationError(f"access is principal, tenant, by_claim(...) or a function, not {policy!r}")
    if policy == "principal" and tenants is None:
        return None
    if auth is None:
        raise ConfigurationError("access= and tenants= are about callers that are known: they need auth=")
    if policy == "tenant" and tenants is None:
        raise ConfigurationError('access="tenant" needs tenants=: else a caller may name any tenant, and see all of it')
    group, allowed = _group(policy), _tenants(tenants)

    def placed(principal: Principal) -> Principal:
        return msgspec.structs.replace(
            principal,
            group=principal.group if group is None else group(principal),
            tenants=principal.tenants if allowed is None else allowed(principal),
        )

    return placed


def _group(policy: AccessPolicy) -> Callable[[Principal], str] | None:
    if not callable(policy):
        return None if policy == "principal" else lambda _: EVERYBODY

    def named(principal: Principal) -> str:
        name = _text(policy(principal))
        if name == EVERYBODY:
            raise ValueError(f"{EVERYBODY!r} is the name of all of a tenant, and no other group's")
        return name

    return named


def _tenants(policy: TenantPolicy | None) -> Callable[[Principal], frozenset[str]] | None:
    if policy is None:
        return None
    if isinstance(policy, ByClaim):
        return policy.tenants
    if callable(policy):
        return lambda principal: _names(policy(principal))
    try:
        table = {name: _names(told) for name, told in policy.items()}
    except AttributeError:
        raise ConfigurationError(f"tenants is a mapping, by_claim(...) or a function, not {policy!r}") from None
    return lambda principal: table.get(principal.id, frozenset())


def _names(told: Collection[str] | str) -> frozenset[str]:
    return frozenset([told] if isinstance(told, str) else map(_text, told))


def _text(name: str) -> str:
    """The name; what is none lets nobody in."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- the functions are others' code
        raise TypeError(f"access is decided by names, not by {type(name).__name__}")
    return name
