"""How an agent is served, as its owner said it, checked."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from dragoman.dialects.card import CARD_SHAPES, CardShape
from dragoman.errors import ConfigurationError
from dragoman.hosts.binding import Binding
from dragoman.ports.access import AccessPolicy, ExtendedCard, TenantPolicy
from dragoman.ports.audit import Audit
from dragoman.ports.auth import Authenticator
from dragoman.ports.call import Principal
from dragoman.ports.extensions import Extensions
from dragoman.ports.limits import CallLimits
from dragoman.publishing import SignCards
from dragoman.push.options import PushOptions

__all__ = ["Settings"]

LONGEST_KEPT = 100 * 366 * 86_400
"""Seconds."""
KEEPABLE = "be more than 0 seconds, and a hundred years at most"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is served; what each means is told at `Agent`."""

    owner: str
    auth: Authenticator | None
    access: AccessPolicy
    tenants: TenantPolicy | None
    audit: Audit | None
    url: str | None
    push: PushOptions
    extended_card: ExtendedCard | None
    sign_cards: SignCards | None
    trusted_proxies: tuple[str, ...]
    client_cert_header: bool
    missing_version: Literal["strict", "by-grammar"]
    media_type: Literal["accept", "json"]
    card_shape: CardShape
    bindings: tuple[Binding, ...]
    extensions: Extensions | None
    limits: CallLimits
    cancel_grace: float
    drain_grace: float
    keep_alive: float
    max_running: int | None
    idempotency: Literal["lenient", "strict"]
    idempotency_ttl: float
    log_retention: float | None
    retention: float | None

    def __post_init__(self) -> None:
        choices = {
            "missing_version": ("strict", "by-grammar"),
            "media_type": ("accept", "json"),
            "card_shape": CARD_SHAPES,
            "idempotency": ("lenient", "strict"),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ConfigurationError(f"{name} is one of {', '.join(known)}, not {getattr(self, name)!r}")
        self._check(("keep_alive",), lambda value: value > 0, "be more than 0")
        self._check(("cancel_grace", "drain_grace"), lambda value: value >= 0, "not be negative")
        self._check(("idempotency_ttl",), _keepable, KEEPABLE)
        if self.max_running is not None:
            self._check(("max_running",), lambda value: value >= 1, "be 1 or more, or None for no limit")
        self.placing()
        kept = [name for name in ("log_retention", "retention") if getattr(self, name) is not None]
        self._check(kept, _keepable, f"{KEEPABLE}, or None for good")

    def placing(self) -> Callable[[Principal], Principal] | None:
        """What gives each principal its group and its tenants, if anything does.

        Raises:
            ConfigurationError: `access` and `tenants` do not fit each other, or `auth`.
        """
        if self.access == "principal" and self.tenants is None:
            return None
        from dragoman.auth.access import access

        return access(self.access, self.tenants, self.auth)

    def _check(self, names: Sequence[str], fits: Callable[[Any], bool], rule: str) -> None:
        for name in names:
            if not fits(getattr(self, name)):
                raise ConfigurationError(f"{name} must {rule}")


def _keepable(seconds: float) -> bool:
    return 0 < seconds <= LONGEST_KEPT
