"""What becomes of tasks whose worker is lost."""

from dragoman.engine.endings import worker_lost
from dragoman.engine.unattended import fail
from dragoman.engine.world import World

__all__ = ["recover"]


async def recover(world: World) -> None:
    """Ends what an earlier process left running as FAILED with reason `worker-lost`."""
    for stored in await world.store.unfinished():
        await fail(world, stored, worker_lost())
