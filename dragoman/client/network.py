"""Where a client may go: everywhere, or under the guard that webhooks are called under."""

import ssl
from collections.abc import Sequence
from functools import partial
from typing import Literal

from dragoman.errors import ConfigurationError, ConnectFailed
from dragoman.outbound.files import FetchOptions, FileFetcher
from dragoman.outbound.policy import Policy
from dragoman.outbound.resolving import Resolve, Resolver
from dragoman.outbound.url import Target
from dragoman.ports.webhook import AddressRefused, Undelivered

__all__ = ["Guard", "Network", "files_of", "guard_of"]

Network = Literal["any", "public"] | Policy
"""`any`: every address; `public`: those of the public internet, over https at ports 443 and 8443; or what a policy of
one's own admits.
"""
LOOKUPS = 8
"""Names that are resolved at a time."""


class Guard:
    """What one client may call, and the addresses of it. `resolve` stands in for the system's names."""

    def __init__(self, policy: Policy, resolve: Resolve | None = None) -> None:
        self.policy = policy
        self.resolver = Resolver(policy, resolve, LOOKUPS)

    def target(self, url: str) -> Target:
        """Where the URL leads.

        Raises:
            ConnectFailed: it may not be called.
        """
        try:
            return self.policy.target(url)
        except AddressRefused as error:
            raise ConnectFailed(f"The network that this client may call does not have it: {error}") from error

    async def addresses(self, target: Target) -> Sequence[str]:
        """Addresses of the target, to connect to exactly these; never none.

        Raises:
            ConnectFailed: there is none, or one that may not be called.
        """
        if target.address is not None:
            return (target.host,)
        try:
            return await self.resolver.addresses(target)
        except AddressRefused as error:
            raise ConnectFailed(f"The network that this client may call does not have it: {error}") from error
        except Undelivered as error:
            raise ConnectFailed(str(error)) from error

    def close(self) -> None:
        """Lets go of the threads that look up names."""
        self.resolver.close()


def guard_of(network: Network) -> Guard | None:
    """The guard that this asks for, if it does.

    Raises:
        ConfigurationError: it is no network.
    """
    if isinstance(network, Policy):
        return Guard(network)
    if network not in ("any", "public"):
        raise ConfigurationError(f"network is any, public or a Policy, not {network!r}")
    return Guard(Policy()) if network == "public" else None


def files_of(network: Network, options: FetchOptions | None, verify: bool | ssl.SSLContext) -> FileFetcher:
    """What fetches files for a client: never with a certificate of its own."""
    policy = network if isinstance(network, Policy) else Policy(insecure=network == "any")
    return FileFetcher(options, policy=policy if options is None else None, tls=partial(_authorities, verify))


def _authorities(verify: bool | ssl.SSLContext) -> ssl.SSLContext | None:
    """Whom the client trusts, without what makes the client itself known."""
    if verify is True:
        return None
    context = ssl.create_default_context()
    if verify is False or verify.verify_mode is ssl.CERT_NONE:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif own := verify.get_ca_certs(binary_form=True):
        context.load_verify_locations(cadata=b"".join(own))
    return context
