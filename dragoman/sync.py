"""The client for programs without an event loop: the same calls, which wait.

    with sync.connect("http://127.0.0.1:9999") as echo:
        print(echo.ask("hello"))

Each client has an event loop in a thread of its own, from entering to leaving, and may be used by many threads.
An interrupt (Control-C) while a call waits cancels that call.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, cast, overload

from dragoman import client as asynchronous
from dragoman.client import Content, ReceiverOptions, ReplyOptions, SendOptions, WaitOptions
from dragoman.errors import ConfigurationError
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.json import JsonObject
from dragoman.types.requests import SendMessageRequest, SubscribeToTaskRequest
from dragoman.types.task import Task, TaskState

if TYPE_CHECKING:
    import ssl

    from dragoman.cards.verdict import CardVerdict
    from dragoman.client.receiver import OnEvent
    from dragoman.client.receiver import Receiver as AsynchronousReceiver

__all__ = [
    "AuthRequired",
    "Client",
    "InputRequired",
    "Receiver",
    "ResultOptions",
    "StartOptions",
    "TaskHandle",
    "connect",
]

P = ParamSpec("P")
R = TypeVar("R")


class _Blocking(Generic[P, R]):
    """A method of the asynchronous client as one that waits, under the same signature."""

    def __init__(self, method: Callable[Concatenate[asynchronous.Client, P], Coroutine[Any, Any, R]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, instance: None, owner: type["Client"]) -> Self: ...

    @overload
    def __get__(self, instance: "Client", owner: type["Client"]) -> Callable[P, R]: ...

    def __get__(self, instance: "Client | None", owner: type["Client"]) -> Self | Callable[P, R]:
        if instance is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return instance.wait(self._method(instance.inner, *args, **kwargs))

        return call


class StartOptions(SendOptions, total=False):
    """What may go with a message whose outcome is heard of later."""

    webhook: "Receiver"
    """Has the agent push what happens to this receiver."""


class ResultOptions(WaitOptions, total=False):
    """How to hear of the outcome."""

    via: "Receiver"
    """Waits for what this receiver is pushed instead of keeping a stream open."""


class Client:
    """One agent, as its caller uses it; made by `connect`. What each method promises is said at `dragoman.Client`."""

    def __init__(self, inner: asynchronous.Client) -> None:
        self.inner = inner
        """The asynchronous client behind this one; to be used on its own event loop only."""
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave: asyncio.Event | None = None

    def __enter__(self) -> Self:
        entered: Future[None] = Future()
        # A daemon: a program that forgets to close its client can end nevertheless.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(entered)), name="dragoman-client", daemon=True
        )
        self._thread.start()
        try:
            entered.result()
        except Exception:
            self._thread.join()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._leave is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join()

    ask = _Blocking(asynchronous.Client.ask)
    card = _Blocking(asynchronous.Client.card)
    fetch = _Blocking(asynchronous.Client.fetch)
    send_message = _Blocking(asynchronous.Client.send_message)
    get_task = _Blocking(asynchronous.Client.get_task)
    list_tasks = _Blocking(asynchronous.Client.list_tasks)
    cancel_task = _Blocking(asynchronous.Client.cancel_task)
    create_task_push_notification_config = _Blocking(asynchronous.Client.create_task_push_notification_config)
    get_task_push_notification_config = _Blocking(asynchronous.Client.get_task_push_notification_config)
    list_task_push_notification_configs = _Blocking(asynchronous.Client.list_task_push_notification_configs)
    delete_task_push_notification_config = _Blocking(asynchronous.Client.delete_task_push_notification_config)
    get_extended_agent_card = _Blocking(asynchronous.Client.get_extended_agent_card)

    @property
    def card_verdict(self) -> "CardVerdict | None":
        return self.inner.card_verdict

    def stream(self, content: Content, **options: Unpack[SendOptions]) -> Generator[StreamEvent, None, None]:
        return self.each(self.inner.stream(content, **options))

    def start(self, content: Content, **options: Unpack[StartOptions]) -> "TaskHandle | Message":
        answer = self.wait(self.inner.start(content, **_inner(options)))
        return answer if isinstance(answer, Message) else TaskHandle(self, answer)

    def task(self, task_id: str, *, history_length: int | None = None) -> "TaskHandle":
        return TaskHandle(self, self.wait(self.inner.task(task_id, history_length=history_length)))

    def receiver(
        self,
        url: str | None = None,
        on_event: Callable[[StreamEvent], None] | None = None,
        **options: Unpack[ReceiverOptions],
    ) -> "Receiver":
        """As `dragoman.Client.receiver`; `on_event` is called in a thread, and may take its time."""
        told = None if on_event is None else _in_thread(on_event)
        return Receiver(self, self.inner.receiver(url, told, **options))

    def send_streaming_message(self, request: SendMessageRequest) -> Generator[StreamEvent, None, None]:
        return self.each(self.inner.send_streaming_message(request))

    def subscribe_to_task(self, request: SubscribeToTaskRequest) -> Generator[StreamEvent, None, None]:
        return self.each(self.inner.subscribe_to_task(request))

    def wait(self, work: Coroutine[Any, Any, R]) -> R:
        """Runs one piece of asynchronous work on the client's event loop and gives what it gives."""
        if self._loop is None:
            work.close()
            raise ConfigurationError("The client is not open: with sync.connect(agent) as client")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except asynchronous.AuthRequired as error:
            raise AuthRequired(error.task, TaskHandle(self, error.handle)) from error
        except asynchronous.InputRequired as error:
            raise InputRequired(error.task, TaskHandle(self, error.handle)) from error
        except KeyboardInterrupt:
            future.cancel()
            raise

    def each(self, events: AsyncGenerator[StreamEvent, None]) -> Generator[StreamEvent, None, None]:
        """The events as they come; closing the generator ends the stream."""
        try:
            while (event := self.wait(_next(events))) is not None:
                yield event
        finally:
            # With the loop gone, its generators have been closed.
            if self._loop is not None:
                self.wait(events.aclose())

    async def _live(self, entered: "Future[None]") -> None:
        try:
            async with self.inner:
                self._leave = asyncio.Event()
                self._loop = asyncio.get_running_loop()
                entered.set_result(None)
                await self._leave.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)
        finally:
            self._loop = None


class TaskHandle:
    """One task of one agent, as `dragoman.client.TaskHandle`, with methods that wait."""

    def __init__(self, client: Client, inner: asynchronous.TaskHandle) -> None:
        self._client = client
        self._inner = inner

    def __repr__(self) -> str:
        return repr(self._inner)

    @property
    def task(self) -> Task:
        return self._inner.task

    @property
    def id(self) -> str:
        return self._inner.id

    @property
    def context_id(self) -> str:
        return self._inner.context_id

    @property
    def state(self) -> TaskState:
        return self._inner.state

    def result(self, **options: Unpack[ResultOptions]) -> Task:
        return self._client.wait(self._inner.result(**_inner(options)))

    def refresh(self, *, history_length: int | None = None) -> Task:
        return self._client.wait(self._inner.refresh(history_length=history_length))

    def cancel(self, *, metadata: JsonObject | None = None) -> Task:
        return self._client.wait(self._inner.cancel(metadata=metadata))

    def reply(self, content: Content, **options: Unpack[ReplyOptions]) -> "TaskHandle":
        return TaskHandle(self._client, self._client.wait(self._inner.reply(content, **options)))

    def events(self, **options: Unpack[WaitOptions]) -> Generator[StreamEvent, None, None]:
        return self._client.each(self._inner.events(**options))


class Receiver:
    """As `dragoman.client.receiver.Receiver`, served on a port of its own: its route belongs to the client's thread."""

    def __init__(self, client: Client, inner: "AsynchronousReceiver") -> None:
        self._client = client
        self.inner = inner

    def __repr__(self) -> str:
        return repr(self.inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        return self.inner.url

    @contextmanager
    def serve(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: "ssl.SSLContext | None" = None
    ) -> Generator[str, None, None]:
        served = self.inner.serve(host, port, tls=tls)
        origin = self._client.wait(_entered(served))
        try:
            yield origin
        finally:
            self._client.wait(_left(served))

    def watch(self, task: TaskHandle | str) -> None:
        self._client.wait(self.inner.watch(_id_of(task)))

    def unwatch(self, task: TaskHandle | str) -> None:
        self._client.wait(self.inner.unwatch(_id_of(task)))

    def events(self, task: TaskHandle | str) -> Generator[StreamEvent, None, None]:
        return self._client.each(self.inner.events(_id_of(task)))

    def close(self) -> None:
        self._client.wait(self.inner.aclose())


class InputRequired(asynchronous.InputRequired):
    """As `dragoman.InputRequired`, which catches it too; `handle.reply(...)` waits."""

    handle: TaskHandle  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleVariableOverride]  # takes the other's place


class AuthRequired(InputRequired, asynchronous.AuthRequired):  # pyright: ignore[reportIncompatibleVariableOverride]  # as above
    """As `dragoman.AuthRequired`, which catches it too."""


def _synchronous(make: Callable[P, asynchronous.Client]) -> Callable[P, Client]:
    @functools.wraps(make)
    def connect(*args: P.args, **kwargs: P.kwargs) -> Client:
        return Client(make(*args, **kwargs))

    return connect


connect = _synchronous(asynchronous.connect)
"""As `dragoman.connect`, for a client that is used without an event loop."""


async def _next(events: AsyncGenerator[StreamEvent, None]) -> StreamEvent | None:
    return await anext(events, None)


def _id_of(task: TaskHandle | str) -> str:
    return task if isinstance(task, str) else task.id


def _inner(options: StartOptions | ResultOptions) -> Any:
    """The options as the asynchronous client takes them."""
    given = cast("dict[str, Any]", options)
    return {name: value.inner if isinstance(value, Receiver) else value for name, value in given.items()}


def _in_thread(on_event: Callable[[StreamEvent], None]) -> "OnEvent":
    async def called(event: StreamEvent) -> None:
        await asyncio.to_thread(on_event, event)

    return called


async def _entered(context: AbstractAsyncContextManager[R]) -> R:
    return await context.__aenter__()


async def _left(context: AbstractAsyncContextManager[Any]) -> None:
    await context.__aexit__(None, None, None)
