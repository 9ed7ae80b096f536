"""Calls to addresses that others have named: what may be called, and a client that calls nothing else."""

from dragoman.outbound.client import GuardedClient
from dragoman.outbound.policy import Policy

__all__ = ["GuardedClient", "Policy"]
