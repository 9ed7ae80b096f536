"""What becomes of tasks in trouble, as users say it."""

import math
from typing import TypedDict, get_args

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.ports.agent import OnCrash, Policy

__all__ = ["PolicyOptions", "policy_of"]


class PolicyOptions(TypedDict, total=False):
    """Of an agent, or of one skill; what is not given is as the agent has it, or as `Policy` does."""

    on_crash: OnCrash
    max_attempts: int
    deadline: float | None
    idle_timeout: float | None


def policy_of(base: Policy, options: PolicyOptions) -> Policy:
    """The base with these options.

    Raises:
        ConfigurationError: one has no such value.
        TypeError: there is no such option.
    """
    policy = msgspec.structs.replace(base, **options)
    if policy.on_crash not in get_args(OnCrash):
        raise ConfigurationError(f"on_crash is one of {', '.join(get_args(OnCrash))}, not {policy.on_crash!r}")
    if policy.max_attempts < 1:
        raise ConfigurationError("max_attempts must be 1 or more")
    for name in ("deadline", "idle_timeout"):
        seconds = getattr(policy, name)
        if seconds is not None and not (0 < seconds < math.inf):
            raise ConfigurationError(f"{name} must be more than 0 seconds, or None for none")
    return policy
