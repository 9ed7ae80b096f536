"""Messages that come twice, because their caller has not heard what became of the first: known again by their keys.

A key is stored in the same change as what its message does, so that there is no moment in between; of several that come
at once, one does it, whatever process they come to.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from weakref import WeakValueDictionary

import msgspec

from dragoman.core.sameness import digest_of
from dragoman.engine.world import World
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.ports.call import CallContext, Principal, Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import Key
from dragoman.types.content import Message
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import SendMessageRequest

__all__ = ["Recognition"]


class Recognition:
    """Gives messages their keys, and direct answers once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept = timedelta(seconds=world.keeping.keys)
        self._locks: WeakValueDictionary[tuple[Scope, str], asyncio.Lock] = WeakValueDictionary()

    def key(self, request: SendMessageRequest, context: CallContext) -> Key | None:
        """Under what the message is known again, for callers who are somebody, or who have named the extension.

        All others share one name, and strangers use the same ids for different things: None.
        """
        if not context.principal.id and RELIABLE not in context.parameters.extensions:
            return None
        expires = self._world.clock.now() + self._kept
        return Key(_name(request.message.message_id, context.principal), digest_of(request), expires)

    def another(self, key: Key, message_id: str) -> Key:
        """The key of a message that says something else than an earlier one with its id: it is a message of its own.

        Raises:
            InvalidParamsError: such messages are refused here.
        """
        if self._world.keeping.strict:
            wrong = FieldViolation("message.messageId", "was used before, for another message")
            raise InvalidParamsError(
                "The message has the id of another message", details={"messageId": message_id}, violations=(wrong,)
            )
        return msgspec.structs.replace(key, message_id=f"{key.message_id} {key.digest}")

    async def answered(
        self, scope: Scope, key: Key, answer: Callable[[], Awaitable[Message]], push: NewPush | None
    ) -> Message:
        """The direct answer to a message with this key, kept together with the configuration that is to deliver it.
        Who asks for the same meanwhile waits for it; if there is none in the end, the next in the row has the agent try
        again.

        Raises:
            Duplicate: the key is known.
        """
        lock = self._locks.setdefault((scope, key.message_id), asyncio.Lock())
        async with lock:
            known = await self._world.store.known(scope, key.message_id)
            if known is not None:
                raise known
            message = await answer()
            delivering = None if push is None else msgspec.structs.replace(push, answer=message)
            await self._world.store.answered(scope, key, message, delivering)
            return message


def _name(message_id: str, principal: Principal) -> str:
    """Under what a message is known: callers who share their tasks still choose ids each for themselves."""
    if not principal.group:
        return message_id
    return f"{message_id} {hashlib.sha256(principal.id.encode(errors='replace')).hexdigest()}"
