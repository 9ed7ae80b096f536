"""How providers of tokens are called: over https, at places that their user's agent may name, within limits."""

import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import msgspec

from dragoman.client.login.oauth.failures import LoginFailed, ProviderUnreachable, shown
from dragoman.outbound import GuardedClient, Policy
from dragoman.outbound.url import Target, read_url
from dragoman.ports.webhook import AddressRefused, Undelivered

if TYPE_CHECKING:
    from dragoman.outbound.answers import Page

__all__ = ["OK", "Network", "Web", "is_loopback", "members", "origin"]

Network = Literal["any", "public"]

LARGEST = 256 * 1024
"""Bytes of an answer."""
TIMEOUT = 15.0
OK, TOO_MANY, TROUBLE = 200, 429, 500


class Web:
    """Calls a provider. No redirect is followed, nothing goes over plain http but to this machine.

    `near` says that this machine may be called at all, since the agent is here as well, or the user named the provider:
    the card of an agent elsewhere cannot have anything sent to it. With `network="public"` only public addresses are
    called. `tls` says whom to trust.
    """

    def __init__(self, network: Network = "any", *, near: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self._network = network
        self._near = near
        self._tls = tls

    def checked(self, url: str, what: str) -> str:
        """The URL, which `what` names, if it may be called or shown to the user.

        Raises:
            LoginFailed: it may not.
        """
        try:
            target = read_url(url)
        except AddressRefused as error:
            raise LoginFailed(f"The {what} cannot be used: {error}") from None
        here = is_loopback(target)
        if target.scheme != "https" and not here:
            raise LoginFailed(f"The {what} is not https: {shown(origin(target))}")
        if here and not self._near:
            raise LoginFailed(f"The {what} is on this machine, and the agent is not: {shown(origin(target))}")
        return url

    async def document(self, url: str, what: str) -> dict[str, Any]:
        """The JSON object at a URL.

        Raises:
            LoginFailed: there is none.
            ProviderUnreachable: nothing can be said of it now.
        """
        page = await self._asked("GET", self.checked(url, what), {"accept": "application/json"}, b"")
        found = members(page.body)
        if page.status != OK or found is None:
            raise LoginFailed(f"There is no {what} at {shown(url)}: status {page.status}, or no JSON object")
        return found

    async def post(
        self, url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """Status and members of the answer to a form; no members if it is no JSON object. Raises as `document`."""
        sent = {
            **headers,
            "accept": "application/json",
            "content-type": "application/x-www-form-urlencoded",
        }
        page = await self._asked("POST", self.checked(url, what), sent, urlencode(form).encode())
        return page.status, members(page.body) or {}

    async def _asked(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> "Page":
        target = read_url(url)
        client = GuardedClient(self._policy(target), timeout=TIMEOUT, tls=self._tls)
        try:
            page = await client.request(method, url, LARGEST, headers=headers, body=body)
        except AddressRefused as error:
            raise LoginFailed(f"{origin(target)} may not be called: {error}") from None
        except Undelivered as error:
            raise ProviderUnreachable(f"{origin(target)} cannot be asked for a token: {error}") from None
        finally:
            await client.close()
        if page.status == TOO_MANY or page.status >= TROUBLE:
            raise ProviderUnreachable(f"{origin(target)} cannot give a token now: status {page.status}")
        return page

    def _policy(self, target: Target) -> Policy:
        if self._network == "public":
            return Policy(ports=(target.port,))
        return Policy(allow=(origin(target),))


def origin(target: Target) -> str:
    """With its port always."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}"


def is_loopback(target: Target) -> bool:
    """Whether it is this machine, by its address or by the name that browsers take for it as well."""
    return target.host == "localhost" or (target.address is not None and ip_address(str(target.address)).is_loopback)


def members(body: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
