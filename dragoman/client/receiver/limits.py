"""What a receiver of notifications bears."""

import msgspec

__all__ = ["ReceiverLimits"]


class ReceiverLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Times are in seconds, sizes in bytes. What is beyond them is refused in a way that has the agent come again, if
    that can help; nothing grows with what strangers send.
    """

    max_body: int = 16 * 1024 * 1024
    """Of one notification; longer ones are refused for good (413)."""
    body_timeout: float = 30.0
    window: float = 300.0
    """How far the time that a notification says it was sent at may be from ours."""
    rate: float = 200.0
    """Notifications per second and configuration, on average; then the agent is told when to come again (429)."""
    burst: int = 400
    """How many may come at once."""
    in_flight: int = 256
    """Notifications that may be with the handler, or wait for their turn; then the agent is told to come again."""
    remembered: int = 10_000
    """Deliveries of which it is remembered that they were taken."""
    tasks: int = 10_000
    """Tasks that have ended, or that nobody here has asked for, of which it is remembered how far they got."""
    patience: float = 2.0
    """How long an event waits for those before it, until the task is asked for instead."""
    quiet: float = 60.0
    """How long `result(via=...)` hears nothing before it looks at the task."""
    kept_events: int = 256
    """Events of one task that wait for a slow reader of `events`; beyond, they give way to the task as it is."""
    kept_bytes: int = 16 * 1024 * 1024
    """The same in bytes, as they came."""
    unread_tasks: int = 100
    """Tasks that have ended of which events are kept that nobody has read yet."""
