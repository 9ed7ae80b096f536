"""For tests of agents, of stores and of clients: what the project's own tests use.

A store of one's own is tested by a class that inherits `TaskStoreContract` and `PushStoreContract`. Agents are called
without a socket through `AsgiBridge`, or by a client over `AsgiTransport`. `ScriptedAgent` is an agent that is stepped
by the test.
"""

from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.testing.bridge import AsgiBridge, AsgiTransport
from dragoman.testing.clock import FakeClock, FakeIds
from dragoman.testing.store_contract import PushStoreContract, TaskStoreContract

__all__ = [
    "AsgiBridge",
    "AsgiTransport",
    "FakeClock",
    "FakeIds",
    "PushStoreContract",
    "RunOver",
    "ScriptedAgent",
    "ScriptedRun",
    "TaskStoreContract",
]
