"""The promises of `TaskStore` and of `PushStore` as tests, for every store there is or will be.

Subclass `TaskStoreContract`, and `PushStoreContract` too, in a test module of your own, and give it a pytest fixture
`store` that yields an open, empty store. The tests are coroutines: run them with pytest-asyncio in its `auto` mode, or
with another runner.
"""

from dragoman.testing.store_ages import AgeContract
from dragoman.testing.store_deliveries import DeliveryContract
from dragoman.testing.store_pages import PageContract
from dragoman.testing.store_pushes import ConfigurationContract
from dragoman.testing.store_reads import ReadContract
from dragoman.testing.store_scopes import ScopeContract
from dragoman.testing.store_turns import TurnContract
from dragoman.testing.store_workers import WorkerContract
from dragoman.testing.store_writes import WriteContract

__all__ = ["PushStoreContract", "TaskStoreContract"]


class TaskStoreContract(WriteContract, ReadContract, TurnContract, PageContract, WorkerContract, AgeContract):
    """All promises: writing, reading, turns with their inbox and memos, pages, workers, and what passes with time."""


class PushStoreContract(ConfigurationContract, DeliveryContract, ScopeContract):
    """All promises of a store that keeps configurations of push notifications beside its tasks; that nothing of either
    is seen from another scope is among them.
    """
