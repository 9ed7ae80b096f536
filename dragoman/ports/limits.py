"""What callers may ask of an agent, and what one task may hold: values, with their defaults and why these."""

import math

import msgspec

from dragoman.errors import ConfigurationError

__all__ = ["CallLimits", "Rate"]

MEBIBYTE = 1024 * 1024


class Rate(msgspec.Struct, frozen=True):
    """How often: `burst` at once after a rest, and on average `per_second`."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not 0 < self.per_second < math.inf or self.burst < 1:
            raise ConfigurationError("limits: a rate is more than 0 per second, with a burst of 1 or more")


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What callers may ask of an agent, over whatever binding, and what one task may hold. What is beyond is refused
    with an error that names the limit; `docs/limits.md` says with which. None, where it may stand, sets no limit.

    An address is one of IPv4, or a network of 64 bits of IPv6, which is what one household gets. Callers on this
    machine have none: through a proxy here that `trusted_proxies` does not name all callers would be one.
    """

    # One request.

    max_body_bytes: int = 16 * MEBIBYTE
    """Of a request's body. It is held in memory a few times over while it is read."""
    max_parts: int | None = 1_000
    """Parts of a message. Each costs some hundred bytes, however short it is."""
    max_id_length: int = 512
    """Characters of the ids that callers make up (of messages, contexts, tasks, tenants): keys in the store."""
    max_names: int = 100
    """Entries in each list of names that comes with a message: tasks that it refers to, each of which is read from the
    store, extensions, and accepted media types.
    """
    max_name_length: int = 2_048
    """Characters of an extension's URI or of an accepted media type."""

    # One task.

    max_history: int | None = 1_000
    """Messages of callers in a task, those counted that wait for their turn. Each read of a task reads them all."""
    max_artifact_bytes: int | None = 64 * MEBIBYTE
    """Of one artifact, as its text, base64 or JSON; the task that makes more is FAILED with reason
    `artifact-too-large`.
    """
    max_task_bytes: int | None = 128 * MEBIBYTE
    """Of what an agent puts into a task, counted likewise, all that a run emits, replaced or not: it is all in the log.
    The task is FAILED with reason `task-too-large`. The messages of callers in a task may have as much together.
    """

    # How often.

    requests_per_principal: Rate | None = Rate(500, 1_000)
    """Calls of one who is known. More than any one client needs, and a fraction of what a worker can answer."""
    requests_per_address: Rate | None = Rate(500, 1_000)
    """Calls from one address, counted before it is asked who calls. A gateway that calls for many needs more."""
    messages_per_task: Rate | None = Rate(10, 100)
    """Messages to a task that is there: each is one more turn of its agent."""
    failed_authentications: Rate | None = Rate(0.5, 10)
    """Credentials that are wrong, by address and by the name that is given; what is beyond is not looked at. What was
    right lately still is, and the first attempt of an address is never refused for a name: nobody is locked out by
    what others do elsewhere.
    """

    # How much at once.

    max_streams_per_caller: int | None = 100
    """Open streams of one principal; of those who are anonymous, of one address."""
    max_streams: int | None = 2_000
    """Open streams in all, of one worker: at some 25 KB each, 50 MB."""
    max_tasks_per_principal: int | None = 1_000
    """Tasks of one principal that run or are queued; those that wait for their caller do not count."""
    max_tasks: int | None = 10_000
    """The same in all, of one worker; of anonymous callers only this counts."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int) and value < 1:
                raise ConfigurationError(f"limits: {name} must be more than 0")
        for name in _NEEDED:
            if getattr(self, name) is None:
                raise ConfigurationError(f"limits: {name} cannot be switched off")

    def with_body(self, most: int | None) -> "CallLimits":
        """These limits with this one for bodies, if it is one."""
        return self if most is None else msgspec.structs.replace(self, max_body_bytes=most)


_NEEDED = ("max_body_bytes", "max_id_length", "max_names", "max_name_length")
