"""Logins that were made before, as by `dragoman auth login`: used again, and ended."""

import os
import ssl
from collections.abc import Mapping

from dragoman.client.login.need import Need, Secret
from dragoman.client.login.oauth.cache import TokenCache
from dragoman.client.login.oauth.exchange import refusal
from dragoman.client.login.oauth.failures import LoginFailed
from dragoman.client.login.oauth.login import OAuth
from dragoman.client.login.oauth.registration import Registration
from dragoman.client.login.oauth.tokens import Kept, is_below
from dragoman.client.login.oauth.web import OK, Network, Web

__all__ = ["KeptLogins"]


class KeptLogins:
    """The logins in the user's files; a `Login` that asks nobody for a new one.

    Each is for the origin and the scheme that it was made for, if its scopes are enough; of several the one that was
    made for this agent, else the latest. It is renewed as by `OAuth`,
    at the place where it was made. Files are looked at when this is made; secrets of clients come from `variables`, by
    default those of the environment.
    """

    def __init__(
        self,
        cache: TokenCache | None = None,
        *,
        variables: Mapping[str, str] | None = None,
        network: Network = "any",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """
        Raises:
            TokensUnsafe: the folder is not for its owner alone.
        """
        self._cache = cache or TokenCache()
        self._variables = os.environ if variables is None else variables
        self._network: Network = network
        self._tls = tls
        self.kept = self._cache.every()
        """The latest first."""

    def takes(self, need: Need) -> bool:
        """As `Login.takes`."""
        return self._for(need) is not None

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        """As `OAuth.credentials`; `LoginRequired` says how to log in again."""
        kept = self._for(need)
        if kept is None:
            return None
        login = OAuth(
            kept.key.client_id,
            client_secret=lambda: self._secret(kept),
            # Not that of the login: a new one would begin at the places that the card names today.
            grant="authorization_code",
            scopes=kept.key.scopes,
            resource=kept.key.resource,
            cache=self._cache,
            network=self._network,
            tls=self._tls,
        )
        return await login.credentials(need, refused=refused)

    async def end(self, kept: Kept) -> None:
        """Removes the login, after the provider was told to take its tokens back (RFC 7009), if it offers that.

        Raises:
            LoginFailed, ProviderUnreachable: it could not be told, or did not do it. The login is removed all the same.
        """
        async with self._cache.turn(kept.key):
            current = self._cache.read(kept.key) or kept
            try:
                await self._revoke(current)
            finally:
                self._cache.remove(kept.key)

    async def _revoke(self, kept: Kept) -> None:
        if not kept.revocation_url:
            return
        client = Registration.chosen(kept.key.client_id, lambda: self._secret(kept), kept.client_auth, ())
        # Whoever made the login knows the place already, wherever it is.
        web = Web(self._network, near=True, tls=self._tls)
        tokens = (("refresh_token", kept.token.refresh), ("access_token", kept.token.access))
        for hint, token in tokens:
            if not token:
                continue
            headers, form = client.signed({"token": token, "token_type_hint": hint})
            status, members = await web.post(kept.revocation_url, "revocation endpoint", form, headers)
            error = refusal(status, members, (client.secret, token))
            # Some take back what can renew, and with it all that came of it, and nothing else.
            if status != OK and error.code != "unsupported_token_type":
                raise error

    def _secret(self, kept: Kept) -> str | None:
        """Asked for where one is needed alone.

        Raises:
            LoginFailed: it is not where it was.
        """
        if not kept.secret_variable:
            return None
        secret = self._variables.get(kept.secret_variable)
        if not secret:
            raise LoginFailed(f"The secret of the client is needed, and {kept.secret_variable} does not have it")
        return secret

    def _for(self, need: Need) -> Kept | None:
        """The nearest: of several agents at one origin each has its own, if there is one."""
        fit = [
            kept
            for kept in self.kept
            if (kept.key.origin, kept.key.scheme) == (need.origin, need.name)
            and set(need.scopes) <= set(kept.key.scopes)
        ]
        return max(fit, key=lambda kept: len(kept.agent) if is_below(need.agent, kept.agent) else 0, default=None)
