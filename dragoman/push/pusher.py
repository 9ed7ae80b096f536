"""Deliveries to all configurations of this worker."""

import random
import time
from collections.abc import Callable

from dragoman.ports.bus import EventBus
from dragoman.ports.webhook import WebhookClient
from dragoman.ports.world import Clock
from dragoman.push.delivery import PreparePush, Tasks
from dragoman.push.options import PushOptions

__all__ = ["Pusher"]


class Pusher:
    """Implements `Deliveries`. Closes the client with itself; it opens again with `open`.

    `dead_after` and `look` are seconds as in `Limits.dead_after` and `Limits.beat`; `chance` gives numbers from 0 to
    less than 1, `cpu` the seconds of processor time that this thread has used.
    """

    def __init__(
        self,
        store: Tasks,
        bus: EventBus,
        webhooks: WebhookClient,
        prepare: PreparePush,
        options: PushOptions,
        *,
        clock: Clock,
        dead_after: float = 20.0,
        look: float = 5.0,
        chance: Callable[[], float] = random.random,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self._store = store
        self._bus = bus
        self._webhooks = webhooks
        self._prepare = prepare
        self._options = options
        self._clock = clock
        self._dead_after = dead_after
        self._look = look
        self._chance = chance
        self._cpu = cpu
