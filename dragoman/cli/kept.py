"""The logins of `dragoman auth login`, as the other commands use them."""

from dragoman.cli.invocation import Invocation
from dragoman.client.discovery import secure
from dragoman.client.login import Login, Need, Secret
from dragoman.client.login.origins import origin_of
from dragoman.types.card import AgentCard, AgentInterface, OAuth2SecurityScheme, OpenIdConnectSecurityScheme

__all__ = ["kept_logins"]


class _Hidden:
    """Kept logins whose tokens are hidden from every output before they are used."""

    def __init__(self, logins: Login, invocation: Invocation) -> None:
        self._logins = logins
        self._invocation = invocation

    def takes(self, need: Need) -> bool:
        return self._logins.takes(need)

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        secret = await self._logins.credentials(need, refused=refused)
        if secret is not None:
            self._invocation.redact.hide(secret.value)
            self._invocation.out.debug(f"credential of the login to {need.origin} by {need.name}")
        return secret


def kept_logins(card: AgentCard, interface: AgentInterface, invocation: Invocation) -> _Hidden | None:
    """The logins, if there is one to this interface, and no bearer token was given, which goes before.

    Raises:
        TokensUnsafe: the folder of tokens is not for its owner alone.
    """
    kinds = (OAuth2SecurityScheme, OpenIdConnectSecurityScheme)
    names = {name for name, scheme in card.security_schemes.items() if isinstance(scheme, kinds)}
    invocation.can_log_in = bool(names)
    if not names or invocation.settings.bearer is not None:
        return None
    from dragoman.client.login.oauth import KeptLogins

    origin = origin_of(interface.url, secure=secure(card, interface))
    logins = KeptLogins(network=invocation.settings.network)
    if not any(kept.key.origin == origin and kept.key.scheme in names for kept in logins.kept):
        return None
    invocation.had_credentials = True
    return _Hidden(logins, invocation)
