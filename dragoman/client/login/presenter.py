"""Being known to one interface: which of the card's alternatives is met, with what, and what happens when it is not."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import TypeVar

from dragoman.client.login.asking import Alternatives
from dragoman.client.login.need import CredentialsMissing, CredentialsWithheld, Need, Secret
from dragoman.client.login.placing import NOTHING, Carried, has_place, place
from dragoman.client.login.wallet import Wallet
from dragoman.client.words import shown
from dragoman.errors import UnauthenticatedError
from dragoman.types.card import APIKeySecurityScheme, HTTPAuthSecurityScheme

__all__ = ["Presenter", "answered", "streamed"]

T = TypeVar("T")
E = TypeVar("E")


class Presenter:
    """What the requests to one interface carry.

    Args:
        wallet: where secrets come from.
        asked: what the card asks of every caller.
        offered: what it can be met with when the agent wants to know its caller all the same.
        headers: those that requests have anyway.
        query: whether the binding has one.
        refusal: why credentials may not go there; empty if they may.
    """

    def __init__(
        self,
        wallet: Wallet,
        *,
        asked: Alternatives,
        offered: Alternatives,
        headers: Mapping[str, str],
        query: bool,
        refusal: str,
    ) -> None:
        self._wallet = wallet
        self._asked = asked
        self._offered = offered
        self._headers = headers
        self._query = query
        self._refusal = refusal
        self._last = NOTHING

    async def carried(self) -> Carried:
        """What a request carries; nothing if the card asks for nothing.

        Raises:
            CredentialsMissing: there is not enough for any alternative.
            CredentialsWithheld: there would be, and it may not go there.
            LoginError, TransportError: as the login raises.
        """
        last = self._last.secrets
        if last and all(self._wallet.at_hand(need) is secret for need, secret in last):
            return self._last
        return await self._met(self._asked)

    async def again(self, before: Carried, error: UnauthenticatedError) -> Carried | None:
        """What to try once more with after a refusal; None if there is nothing else.

        What was refused is renewed, or another alternative taken. An agent whose card asks for nothing gets now what
        the card offers, from now on at once.
        """
        for need, secret in _refused(before.secrets, error.challenges):
            self._wallet.refuse(need, secret)
        wanted = self._asked if before.secrets else self._offered
        try:
            found = await self._met(wanted)
        except CredentialsMissing:
            found = NOTHING
        if not found.secrets:
            self._wallet.forgive(need for alternative in wanted.needs for need in alternative)
            return None
        self._asked = wanted
        return found

    async def _met(self, wanted: Alternatives) -> Carried:
        for alternative in wanted.needs:
            if not alternative:
                return NOTHING
            if all(has_place(need.scheme, query=self._query) and self._wallet.takes(need) for need in alternative):
                if self._refusal:
                    raise CredentialsWithheld(self._refusal, alternative[0].origin)
                secrets = await self._secrets(alternative)
                if secrets is not None:
                    self._last = place(secrets, self._headers)
                    return self._last
        if not wanted.asks:
            return NOTHING
        raise CredentialsMissing(self._lacking(wanted), wanted.names)

    async def _secrets(self, alternative: Iterable[Need]) -> list[tuple[Need, Secret]] | None:
        secrets: list[tuple[Need, Secret]] = []
        for need in alternative:
            secret = await self._wallet.secret(need)
            if secret is None:
                return None
            secrets.append((need, secret))
        return secrets

    def _lacking(self, wanted: Alternatives) -> str:
        homeless = [
            need.name
            for alternative in wanted.needs
            for need in alternative
            if not has_place(need.scheme, query=self._query)
        ]
        why = f" (the key of {shown(homeless[0])!r} belongs in the query, which gRPC does not have)" if homeless else ""
        return f"The agent asks for credentials: {wanted.told}; auth= has none that are enough{why}"


def _refused(secrets: tuple[tuple[Need, Secret], ...], challenges: tuple[str, ...]) -> list[tuple[Need, Secret]]:
    """Those of the secrets that the challenges are about; all, where that cannot be told."""
    # An agent that asks for two secrets tells nobody which was right, but of a token it says so (RFC 6750 section 3.1).
    spoilt = [challenge for challenge in challenges if 'error="invalid_token"' in challenge]
    named = {challenge.partition(" ")[0].lower() for challenge in spoilt or challenges}
    return [(need, secret) for need, secret in secrets if _challenge(need) in named] or list(secrets)


def _challenge(need: Need) -> str:
    match need.scheme:
        case APIKeySecurityScheme():
            return "apikey"
        case HTTPAuthSecurityScheme(scheme=scheme):
            return scheme.lower()
        case _:
            return "bearer"


async def answered(presenter: Presenter | None, once: Callable[[Carried], Awaitable[T]]) -> T:
    """What the call gives; made a second time, if the agent does not know its caller and that can be helped."""
    if presenter is None:
        return await once(NOTHING)
    carried = await presenter.carried()
    try:
        return await once(carried)
    except UnauthenticatedError as error:
        other = await presenter.again(carried, error)
        if other is None:
            raise
    return await once(other)


async def streamed(
    presenter: Presenter | None, once: Callable[[Carried], AsyncGenerator[E, None]]
) -> AsyncGenerator[E, None]:
    """As `answered`, for a stream that has not begun."""
    carried = NOTHING if presenter is None else await presenter.carried()
    other: Carried | None = None
    begun = False
    try:
        async with aclosing(once(carried)) as events:
            async for event in events:
                begun = True
                yield event
    except UnauthenticatedError as error:
        if not begun and presenter is not None:
            other = await presenter.again(carried, error)
        if other is None:
            raise
    if other is not None:
        async with aclosing(once(other)) as events:
            async for event in events:
                yield event
