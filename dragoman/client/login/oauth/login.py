"""The way to log in by OAuth 2 and OpenID Connect, as the card of an agent asks for it."""

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal

import msgspec

from dragoman.client.login.need import Need, Secret
from dragoman.client.login.oauth.cache import MemoryTokens, TokenCache, Tokens
from dragoman.client.login.oauth.exchange import Exchange
from dragoman.client.login.oauth.failures import LoginFailed, LoginRequired
from dragoman.client.login.oauth.interactive import OFFLINE, OPENID, Asked, Pause, by_browser, by_device
from dragoman.client.login.oauth.provider import GRANTS, OAuthScheme, Provider, provider_of
from dragoman.client.login.oauth.registration import ClientAuth, ClientSecret, Registration
from dragoman.client.login.oauth.tokens import Kept, Key, Token
from dragoman.client.login.oauth.turn import by_thread_lock, in_turn
from dragoman.client.login.oauth.visit import Show, in_browser
from dragoman.client.login.oauth.web import Network, Web, is_loopback
from dragoman.errors import ConfigurationError
from dragoman.outbound.url import read_url
from dragoman.ports.webhook import AddressRefused
from dragoman.types.card import OAuth2SecurityScheme, OpenIdConnectSecurityScheme

__all__ = ["Grant", "OAuth"]

Grant = Literal["auto", "client_credentials", "authorization_code", "device_code"]
_CHOICES = ("auto", "client_credentials", "authorization_code", "device_code")

LEAVING = 5.0
"""Seconds."""

log = logging.getLogger("dragoman.client")


class OAuth:
    """Gets access tokens from whom the card names, keeps them, and renews them; a `Login` for `connect(auth=...)`.

    A token is asked for the agent (`resource`, RFC 8707) and the scopes of the card's requirement. It is renewed before
    it ends and after a refusal, by one of all tasks, threads and processes that share `cache`.

    Whoever a card names gets the client's secret: where the card itself may not be trusted so far, say `issuer`.
    """

    def __init__(
        self,
        client_id: str,
        *,
        client_secret: ClientSecret = None,
        grant: Grant = "auto",
        scopes: Sequence[str] = (),
        resource: str | None = None,
        parameters: Mapping[str, str] | None = None,
        issuer: str = "",
        client_auth: ClientAuth = "auto",
        interactive: bool = False,
        show: Show = in_browser,
        patience: float = 300.0,
        redirect_port: int = 0,
        cache: Tokens | None = None,
        network: Network = "any",
        tls: ssl.SSLContext | None = None,
        secret_variable: str = "",
        now: Callable[[], float] = time.time,
        pause: Pause = asyncio.sleep,
    ) -> None:
        """
        Args:
            client_id: as which the provider knows this program.
            client_secret: what it shows to be that, or a function that gives it; None for programs that have none.
            grant: how to get a token. `auto` is what the card's flow says; for OpenID Connect it is client credentials
                if there is a secret and nobody may be asked, else the authorization code.
            scopes: to be asked for beside those of the card's requirement.
            resource: what the token is for; by default the agent's URL, with `""` nothing is said of it.
            parameters: what else the provider wants to be told, as `{"audience": ...}`.
            issuer: the only one whose word counts: endpoints are taken from its own metadata, and not from the card.
            client_auth: how the secret is sent; by default as the provider takes it, Basic before the form.
            interactive: whether the user may be asked to open a page. Otherwise `LoginRequired` says how to log in.
            show: has the user open a page; by default in the browser.
            patience: seconds that the user has.
            redirect_port: of 127.0.0.1, where the browser comes back to (`/callback`); by default any that is free.
            cache: where tokens are kept. By default in the user's files (`TokenCache`), those of client credentials in
                memory.
            network: `public` calls no provider at another address; a client with `network="public"` none that a card
                names.
            tls: whom to trust.
            secret_variable: the environment variable that has the secret, for those who use the kept login later.
            now: seconds since 1970.
            pause: waits between two questions for a device's code.

        Raises:
            ConfigurationError: there is no id, or no such grant.
        """
        if not client_id:
            raise ConfigurationError("OAuth needs the id under which the provider knows this client")
        if grant not in _CHOICES:
            raise ConfigurationError(f"grant is one of {', '.join(_CHOICES)}, not {grant!r}")
        self._client_id = client_id
        self._secret = client_secret
        self._grant = grant
        self._scopes = tuple(scopes)
        self._resource = resource
        self._parameters = dict(parameters or {})
        self._issuer = issuer
        self._client_auth = client_auth
        self._interactive = interactive
        self._show = show
        self._patience = patience
        self._redirect_port = redirect_port
        self._cache = cache
        self._network: Network = network
        self._tls = tls
        self._secret_variable = secret_variable
        self._now = now
        self._pause = pause
        self._memory = MemoryTokens()
        self._asking = threading.Lock()

    def __repr__(self) -> str:
        return f"OAuth({self._client_id!r})"

    def takes(self, need: Need) -> bool:
        """As `Login.takes`: OAuth 2 and OpenID Connect."""
        return isinstance(need.scheme, OAuth2SecurityScheme | OpenIdConnectSecurityScheme)

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:
        """As `Login.credentials`.

        Raises:
            LoginFailed: the provider refuses, or cannot be trusted.
            LoginRequired: somebody has to log in.
            TokensUnsafe: kept tokens can be read by others.
            ProviderUnreachable, TimedOut: there is no token now.
        """
        scheme = need.scheme
        if not isinstance(scheme, OAuth2SecurityScheme | OpenIdConnectSecurityScheme):
            return None
        grant = self._grant_for(scheme)
        tokens = self._tokens(grant)
        key = self._key(need)
        async with tokens.turn(key):
            kept = tokens.read(key)
            if kept is not None and self._is_of_issuer(kept):
                token = await self._current(kept, tokens, refused)
                if token is not None:
                    return token.secret()
            if grant == "client_credentials":
                kept = await self._obtained(need, scheme, grant)
                tokens.write(kept)
                return kept.token.secret()
        if not self._interactive:
            raise LoginRequired(need.agent, self._client_id)
        return await self._asked(need, tokens, refused)

    async def _asked(self, need: Need, tokens: Tokens, refused: Secret | None) -> Secret:
        """By the user, who is asked once by all that share this."""
        async with in_turn(lambda: by_thread_lock(self._asking), self._patience):
            kept = tokens.read(self._key(need))
            if kept is None or not self._is_of_issuer(kept) or not self._serves(kept, refused):
                kept = await self.login(need)
            return kept.token.secret()

    def _serves(self, kept: Kept, refused: Secret | None) -> bool:
        return kept.token.fresh(self._now()) and (refused is None or refused.value != kept.token.access)

    async def login(self, need: Need) -> Kept:
        """Logs in anew, whatever is kept, and keeps what that brings. The user may be asked.

        Raises:
            LoginFailed: as `credentials`; also if the scheme is of another kind.
            ProviderUnreachable: there is no token now.
        """
        scheme = need.scheme
        if not isinstance(scheme, OAuth2SecurityScheme | OpenIdConnectSecurityScheme):
            raise LoginFailed(f"The scheme {need.name!r} is neither OAuth 2 nor OpenID Connect")
        grant = self._grant_for(scheme)
        kept = await self._obtained(need, scheme, grant)
        tokens = self._tokens(grant)
        async with tokens.turn(kept.key):
            tokens.write(kept)
        return kept

    def _grant_for(self, scheme: OAuthScheme) -> str:
        if self._grant != "auto":
            return self._grant
        if isinstance(scheme, OAuth2SecurityScheme):
            grant = GRANTS.get(type(scheme.flow))
            if grant is None:
                raise LoginFailed("The card names a flow that is deprecated, and not used here: name a grant")
            return grant
        return "client_credentials" if self._secret is not None and not self._interactive else "authorization_code"

    def _tokens(self, grant: str) -> Tokens:
        if self._cache is None:
            self._cache = self._memory if grant == "client_credentials" else TokenCache()
        return self._cache

    def _key(self, need: Need) -> Key:
        scopes = tuple(sorted({*need.scopes, *self._scopes}))
        return Key(
            origin=need.origin,
            scheme=need.name,
            scopes=scopes,
            client_id=self._client_id,
            resource=self._resource_of(need),
        )

    def _is_of_issuer(self, kept: Kept) -> bool:
        """Whether the login is of the issuer that the user names, if any is named."""
        told = self._issuer.rstrip("/")
        return not told or kept.issuer.rstrip("/") == told

    def _resource_of(self, need: Need) -> str:
        return need.agent if self._resource is None else self._resource

    async def _current(self, kept: Kept, tokens: Tokens, refused: Secret | None) -> Token | None:
        """The token, renewed if it is time; None if that is not possible any more."""
        if self._serves(kept, refused):
            return kept.token
        if not kept.token.refresh and kept.grant != "client_credentials":
            return None
        client = Registration.chosen(self._client_id, self._secret, kept.client_auth, ())
        try:
            renewed = await _to_its_end(self._renewing(kept, client, tokens))
        except LoginFailed as error:
            # A place that gives no tokens to clients any more may have moved.
            if error.code != "invalid_grant" and (error.code or kept.token.refresh):
                raise
            log.info("the login to %s has ended: %s", kept.key.origin, error)
            tokens.remove(kept.key)
            return None
        return renewed.token

    async def _renewing(self, kept: Kept, client: Registration, tokens: Tokens) -> Kept:
        renewed = await self._renewed(kept, client)
        tokens.write(renewed)
        return renewed

    async def _renewed(self, kept: Kept, client: Registration) -> Kept:
        """By the refresh token, or the client's credentials again, at the place that it came from."""
        place = (kept.refresh_url if kept.token.refresh else "") or kept.token_url
        exchange = Exchange(self._web(kept.key.origin, place), place, client, self._now)
        token = await exchange.token(_renewal(kept), scopes=kept.token.scopes, issuer=kept.issuer)
        # A provider that gives no other refresh token means that this one goes on; and says of nobody that he is new.
        lasting = msgspec.structs.replace(
            token, refresh=token.refresh or kept.token.refresh, subject=token.subject or kept.token.subject
        )
        return msgspec.structs.replace(kept, token=lasting)

    async def _obtained(self, need: Need, scheme: OAuthScheme, grant: str) -> Kept:
        web = self._web(need.origin, self._issuer, public=need.public and not self._issuer)
        provider = await provider_of(scheme, web, self._issuer)
        client = Registration.chosen(
            self._client_id, self._secret, self._client_auth, provider.token_endpoint_auth_methods_supported
        )
        key = self._key(need)
        asked = Asked(
            provider=provider,
            client=client,
            web=web,
            exchange=Exchange(web, provider.needed("token_endpoint"), client, self._now),
            scopes=_wanted(key.scopes, scheme, grant, provider),
            resource=self._resource_of(need),
            parameters=self._parameters,
            show=self._show,
            patience=self._patience,
        )
        return Kept(
            key=key,
            token=await self._granted(asked, grant),
            agent=need.agent,
            grant=grant,
            token_url=provider.token_endpoint,
            refresh_url=provider.refresh_endpoint,
            revocation_url=provider.revocation_endpoint,
            issuer=provider.issuer,
            parameters=self._parameters,
            client_auth=client.method,
            secret_variable=self._secret_variable,
        )

    async def _granted(self, asked: Asked, grant: str) -> Token:
        if grant == "client_credentials":
            return await asked.exchange.token({**asked.wish, "grant_type": grant}, scopes=asked.scopes)
        if grant == "device_code":
            return await by_device(asked, self._pause, self._now)
        return await by_browser(asked, self._redirect_port)

    def _web(self, origin: str, trusted: str, *, public: bool = False) -> Web:
        """For the agent at this origin, and a place that the user named or used before."""
        return Web("public" if public else self._network, near=_is_here(origin) or _is_here(trusted), tls=self._tls)


async def _to_its_end(work: Coroutine[Any, Any, Kept]) -> Kept:
    """What the work gives. Who is cancelled meanwhile stays until it has come to its end, for a few seconds: a provider
    that has replaced what renews a login does so once.
    """
    working = asyncio.get_running_loop().create_task(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working], timeout=LEAVING)
        if not working.cancel() and not working.cancelled():
            working.exception()  # nobody is left to hear of it
        raise


def _renewal(kept: Kept) -> dict[str, str]:
    resource = {"resource": kept.key.resource} if kept.key.resource else {}
    if kept.token.refresh:
        return {"grant_type": "refresh_token", "refresh_token": kept.token.refresh, **resource}
    scope = {"scope": " ".join(kept.key.scopes)} if kept.key.scopes else {}
    return {**kept.parameters, "grant_type": kept.grant, **scope, **resource}


def _wanted(scopes: tuple[str, ...], scheme: OAuthScheme, grant: str, provider: Provider) -> tuple[str, ...]:
    """The scopes, and those that make it a login by OpenID Connect, and one that lasts, where a user logs in."""
    if grant == "client_credentials":
        return scopes
    extra = [OPENID] if isinstance(scheme, OpenIdConnectSecurityScheme) else []
    extra += [OFFLINE] if OFFLINE in provider.scopes_supported else []
    return tuple(dict.fromkeys((*scopes, *extra)))


def _is_here(url: str) -> bool:
    try:
        return is_loopback(read_url(url))
    except AddressRefused:
        return False
