"""What A2A talks about: frozen values that know no wire format.

Sequences are tuples, times are aware datetimes in UTC, and what is absent is None (or the empty value
where the specification makes no difference). The meaning is that of A2A 1.0.

Values are made once and never changed, so they cannot form cycles; the garbage collector is told to leave them alone
(`gc=False`), without which it spends a third of a busy server's time walking over stored tasks.
"""

from dragoman.types import card, content, events, push, requests, task
from dragoman.types.card import *  # noqa: F403 -- the public names of each module are its __all__
from dragoman.types.content import *  # noqa: F403
from dragoman.types.events import *  # noqa: F403
from dragoman.types.json import Json, JsonObject
from dragoman.types.push import *  # noqa: F403
from dragoman.types.requests import *  # noqa: F403
from dragoman.types.task import *  # noqa: F403

__all__ = ["Json", "JsonObject"]
__all__ += card.__all__
__all__ += content.__all__
__all__ += events.__all__
__all__ += push.__all__
__all__ += requests.__all__
__all__ += task.__all__
