"""Handlers that are plain functions: they run in a thread, and reach their task through the event loop."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from dragoman.agent.content import as_json, as_message
from dragoman.agent.context import Answer, Content, Knowledge
from dragoman.agent.conversation import BlockingConversation
from dragoman.agent.inbox import BlockingInbox
from dragoman.extensions.extension import Extension
from dragoman.ports.agent import Turn
from dragoman.types.content import Part
from dragoman.types.fetching import Fetched, fetcher_now
from dragoman.types.json import Json
from dragoman.types.task import TaskState

__all__ = ["BlockingTaskContext"]

T = TypeVar("T")


class BlockingTaskContext(Knowledge):
    """A task, for handlers that run in a thread: what `TaskContext` awaits, this waits for.

    Once the task is cancelled, `cancelled` is true and every call raises `asyncio.CancelledError`.
    """

    def __init__(self, turn: Turn, extensions: Mapping[str, Extension] | None = None) -> None:
        super().__init__(turn, extensions)
        self._loop = asyncio.get_running_loop()
        self._stopped = threading.Event()
        self._files = fetcher_now()
        self._thread: int | None = None
        self._listening: set[concurrent.futures.Future[Any]] = set()

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop. Long work without calls to the task should look at it now and then."""
        return self._stopped.is_set()

    @property
    def inbox(self) -> BlockingInbox:
        """As `TaskContext.inbox`: `for message in task.inbox`."""
        return BlockingInbox(self._turn, self._listen)

    @property
    def context(self) -> BlockingConversation:
        """As `TaskContext.context`."""
        return BlockingConversation(self._turn, self._wait)

    def status(self, *content: Content) -> None:
        """As `TaskContext.status`."""
        self.emit(lambda: self._turn.status(as_message(*content)))

    def fetch(self, part: Part) -> Fetched:
        """The file that the part carries or names, as `Part.fetch` has it. Waits; a stop ends the waiting at once."""
        return self._listen(self._fetched(part))

    def ask(self, *question: Content, key: str | None = None) -> Answer:
        """As `TaskContext.ask`; only from the handler's own thread."""
        return self._ask(key, TaskState.INPUT_REQUIRED, *question)

    def require_auth(self, *explanation: Content, key: str | None = None) -> Answer:
        """As `TaskContext.require_auth`."""
        return self._ask(key, TaskState.AUTH_REQUIRED, *explanation)

    def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Json:
        """As `TaskContext.step`; `fn` is called in this thread."""
        known, result = self._wait(_later(lambda: self._turn.step(name)))
        if known:
            return result
        result = as_json(fn(*args))
        self._wait(self._turn.remember(name, result))
        return result

    # What drives it.

    def enter(self) -> None:
        """Names the current thread as the handler's own."""
        self._thread = threading.get_ident()

    def stop(self) -> None:
        """Tells the handler to stop, also if it waits for a message."""
        self._stopped.set()
        for listening in list(self._listening):
            listening.cancel()

    def emit(self, say: Callable[[], None]) -> None:
        """Does this on the event loop, and waits until there is room for more."""
        self._wait(self._said(say))

    async def _fetched(self, part: Part) -> Fetched:
        return await self._files.fetch(part)

    async def _said(self, say: Callable[[], None]) -> None:
        say()
        await self._turn.room()

    def _ask(self, key: str | None, state: TaskState, *question: Content) -> Answer:
        if threading.get_ident() != self._thread:
            raise RuntimeError("a question ends the run, so it can only be asked by the handler's own thread")
        message = as_message(*question)
        if not message.parts:
            raise ValueError("a question needs words")
        return Answer(*self._wait(self._turn.ask(key, message, state)))

    def _listen(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for something that may never come: a stop ends the waiting at once."""
        listening = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._listening.add(listening)
        try:
            if self._stopped.is_set():
                listening.cancel()
            return listening.result()
        except concurrent.futures.CancelledError as error:
            raise asyncio.CancelledError from error
        finally:
            self._listening.discard(listening)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._stopped.is_set():
            work.close()
            raise asyncio.CancelledError
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except concurrent.futures.CancelledError as error:
            # The same for handlers wherever they run, and not an Exception that they might catch by accident.
            raise asyncio.CancelledError from error


async def _later(call: Callable[[], T]) -> T:
    return call()
