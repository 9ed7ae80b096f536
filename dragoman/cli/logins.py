"""The work of `dragoman auth`, and the logins that the other commands use."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import click
import msgspec

from dragoman.cli.failures import CredentialsMissing
from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import chosen, document_of
from dragoman.cli.render import Label, field
from dragoman.client.discovery import locate, secure
from dragoman.client.login import CredentialsWithheld, Need
from dragoman.client.login.asking import Place, asked_of_all
from dragoman.client.login.oauth import Grant, KeptLogins, LoginFailed, OAuth, ProviderUnreachable, TokenCache, Visit
from dragoman.client.login.oauth.registration import ClientAuth
from dragoman.client.login.oauth.tokens import Kept, is_below
from dragoman.client.login.oauth.visit import opened
from dragoman.client.login.origins import Origins, origin_of
from dragoman.types.card import AgentCard, OAuth2SecurityScheme, OpenIdConnectSecurityScheme

__all__ = ["Wishes", "login", "logout", "status"]


class Wishes(NamedTuple):
    """What the options of `auth login` say."""

    scheme: str | None
    client_id: str | None
    client_secret_env: str
    client_auth: str | None
    flow: str | None
    no_browser: bool
    scope: tuple[str, ...]
    resource: str | None
    parameter: tuple[str, ...]
    issuer: str
    redirect_port: int | None


async def login(invocation: Invocation, wishes: Wishes) -> None:
    """Logs in, and shows what for.

    Raises:
        click.UsageError: no client is named, or no such scheme is there.
        CredentialsMissing: the card asks for nothing that one can log in to.
        CredentialsWithheld: what this brings may not go to the agent.
        LoginFailed, ProviderUnreachable: as `OAuth.login`.
    """
    card = (await document_of(invocation)).card
    need = _need(card, invocation, wishes.scheme)
    if not wishes.client_id:
        raise click.UsageError("name the client as which the provider knows you: --client-id ID (or A2ACLI_CLIENT_ID)")
    cache = TokenCache()
    kept = await _oauth(invocation, wishes, wishes.client_id, cache).login(need)
    _show(invocation, [kept], cache)


def _oauth(invocation: Invocation, wishes: Wishes, client_id: str, cache: TokenCache) -> OAuth:
    secret = os.environ.get(wishes.client_secret_env)
    if secret:
        invocation.redact.hide(secret)

    async def show(visit: Visit) -> None:
        invocation.out.note(visit.words())
        if not wishes.no_browser:
            await opened(visit)

    return OAuth(
        client_id,
        client_secret=secret,
        secret_variable=wishes.client_secret_env if secret else "",
        client_auth=cast("ClientAuth", wishes.client_auth or "auto"),
        grant=cast("Grant", (wishes.flow or "auto").replace("-", "_")),
        scopes=wishes.scope,
        resource=wishes.resource,
        parameters=_pairs(wishes.parameter),
        issuer=wishes.issuer,
        interactive=True,
        show=show,
        # `--timeout` is over before.
        patience=2 * invocation.settings.timeout,
        redirect_port=wishes.redirect_port or 0,
        cache=cache,
        network=invocation.settings.network,
    )


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if not all(name and mark for name, mark, _ in pairs):
        raise click.UsageError("--parameter is written NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _need(card: AgentCard, invocation: Invocation, scheme: str | None) -> Need:
    """What to log in to: what the card asks for first, of what can be had by this."""
    interface = chosen(card, invocation)
    origins = [origin_of(one.url, secure=secure(card, one)) for one in card.supported_interfaces]
    origin = origin_of(interface.url, secure=secure(card, interface))
    place = _place(invocation)
    home = None if place is None else origin_of(place) or ""
    refusal = Origins(invocation.settings.credential_origin, home).refusal(origin, interface.url, origins)
    if refusal or origin is None:
        raise CredentialsWithheld(f"{refusal.partition(';')[0]}; --credential-origin allows it", origin or "")
    # What no requirement names may be asked for all the same.
    named = [requirement for skill in card.skills for requirement in skill.security_requirements]
    wanted = (*card.security_requirements, *named, *({name: ()} for name in card.security_schemes))
    whole = msgspec.structs.replace(card, security_requirements=wanted)
    fit: dict[str, Need] = {}
    for alternative in asked_of_all(whole, Place(origin, place, certificate=True)).needs:
        for need in alternative:
            if isinstance(need.scheme, OAuth2SecurityScheme | OpenIdConnectSecurityScheme):
                fit.setdefault(need.name, need)
    if not fit:
        raise CredentialsMissing("the card has no scheme of OAuth 2 or OpenID Connect: there is nothing to log in to")
    if scheme is not None and scheme not in fit:
        raise click.UsageError(f"--scheme {scheme} is none of the card's that one can log in to: {', '.join(fit)}")
    return fit[scheme] if scheme is not None else next(iter(fit.values()))


def _place(invocation: Invocation) -> str | None:
    """The URL that the card is from; None for a file."""
    place = locate(invocation.settings.agent_card or "")
    return next((url for url in place if "/.well-known/" in url), place[0]) if isinstance(place, tuple) else None


async def status(invocation: Invocation) -> None:
    """Shows the logins to the agent, or all if none is named."""
    cache = TokenCache()
    found = await _of_agent(invocation, cache.every())
    if not found:
        invocation.out.note("nobody is logged in")
    _show(invocation, found, cache)


async def logout(invocation: Invocation) -> None:
    """Ends the logins to the agent.

    Raises:
        click.UsageError: none is named.
    """
    if not invocation.settings.agent_card:
        raise click.UsageError("name the agent to log out of: dragoman auth logout AGENT")
    logins = KeptLogins(network=invocation.settings.network)
    found = await _of_agent(invocation, logins.kept)
    if not found:
        invocation.out.note("nobody was logged in")
    for kept in found:
        try:
            await logins.end(kept)
        except (LoginFailed, ProviderUnreachable) as error:
            invocation.out.warn(f"the tokens are removed here, but the provider could not take them back: {error}")
        if not kept.revocation_url:
            invocation.out.note("the provider offers no way to take tokens back: they are good until they expire")
    _tell(invocation, [_ended(kept) for kept in found])


async def _of_agent(invocation: Invocation, logins: list[Kept]) -> list[Kept]:
    """Those to the agent that is named, all if none is; to all at its origin, if it has none of its own there."""
    reference = invocation.settings.agent_card
    if not reference:
        return logins
    place = locate(reference)
    if isinstance(place, tuple):
        origins = {origin_of(place[0])}
    else:
        card = (await document_of(invocation)).card
        origins = {origin_of(one.url, secure=secure(card, one)) for one in card.supported_interfaces}
    found = [kept for kept in logins if kept.key.origin in origins or origin_of(kept.agent) in origins]
    named = place[0].partition("/.well-known/")[0] if isinstance(place, tuple) else ""
    return [kept for kept in found if named and is_below(kept.agent, named)] or found


def _show(invocation: Invocation, logins: list[Kept], cache: TokenCache) -> None:
    _tell(invocation, [_told(kept, cache) for kept in logins])


def _tell(invocation: Invocation, told: list[dict[str, Any]]) -> None:
    if invocation.settings.json:
        invocation.out.document(msgspec.json.encode({"logins": told}))
        return
    for each in told:
        invocation.out.lines(_lines(each))


_LABELS = {
    "agent": Label.AGENT,
    "scheme": Label.SCHEME,
    "subject": Label.SUBJECT,
    "clientId": Label.CLIENT_ID,
    "scopes": Label.SCOPES,
    "issuer": Label.ISSUER,
    "grant": Label.GRANT,
    "expiresAt": Label.EXPIRES,
    "renewable": Label.RENEWABLE,
    "file": Label.FILE,
    "deleted": Label.DELETED,
}


def _told(kept: Kept, cache: TokenCache) -> dict[str, Any]:
    """What may be seen of a login; None where nothing is known."""
    end = kept.token.expires_at
    return {
        "agent": kept.agent,
        "scheme": kept.key.scheme,
        "subject": kept.token.subject or None,
        "clientId": kept.key.client_id,
        "scopes": list(kept.token.scopes),
        "issuer": kept.issuer or None,
        "grant": kept.grant,
        "expiresAt": None if end is None else datetime.fromtimestamp(end, UTC).isoformat(timespec="seconds"),
        "renewable": bool(kept.token.refresh) or kept.grant == "client_credentials",
        "file": str(cache.path(kept.key)),
    }


def _ended(kept: Kept) -> dict[str, Any]:
    return {"agent": kept.agent, "scheme": kept.key.scheme, "deleted": True}


def _lines(told: dict[str, Any]) -> Iterator[str]:
    for name, value in told.items():
        if isinstance(value, bool):
            yield field(_LABELS[name], "yes" if value else "no")
        elif isinstance(value, list):
            yield field(_LABELS[name], " ".join(cast("list[str]", value)))
        elif value is not None:
            yield field(_LABELS[name], value)
