"""The client of one agent."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

import msgspec

from dragoman.client.authorizing import OnAuthRequired, authorized, remaining
from dragoman.client.content import (
    Content,
    ReceiverOptions,
    ResultOptions,
    SendOptions,
    StartOptions,
    WaitOptions,
    request_of,
)
from dragoman.client.extending import ClientExtensions
from dragoman.client.follow import Events, Way, followed, settled, timely
from dragoman.client.leaving import Attendance, Farewells
from dragoman.client.link import Link
from dragoman.client.operations import Operations
from dragoman.client.pacing import Pauses
from dragoman.client.task import TaskHandle
from dragoman.client.view import TaskView
from dragoman.errors import TaskNotCancelableError, TransportError, UnavailableError
from dragoman.operations import (
    CANCEL_TASK,
    CREATE_PUSH_CONFIG,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
)
from dragoman.outbound.files import FileFetcher
from dragoman.types.card import AgentCard
from dragoman.types.content import Message, Part
from dragoman.types.events import StreamEvent
from dragoman.types.fetching import Fetched
from dragoman.types.requests import CancelTaskRequest, GetTaskRequest, SendMessageRequest
from dragoman.types.task import Task, TaskState

if TYPE_CHECKING:
    from dragoman.cards.verdict import CardVerdict
    from dragoman.client.receiver import OnEvent, Receiver

__all__ = ["Client"]

CANCELLATIONS = 3
"""How often a task whose caller has left is tried to be canceled."""


class Client(Operations):
    """One agent, as its caller uses it. Made by `connect`; an async context manager, which asks nobody when it opens.

    Every method raises `A2AError` (the agent's word, of the class that the agent raised) or `TransportError`.
    Safe to use from many tasks of one event loop.
    """

    def __init__(
        self,
        link: Link,
        *,
        poll_interval: float = 0.5,
        patience: float = 300.0,
        on_auth_required: OnAuthRequired | None = None,
        extensions: ClientExtensions | None = None,
        files: FileFetcher | None = None,
    ) -> None:
        super().__init__(link, extensions)
        self.on_auth_required = on_auth_required
        """Gives what a task waits for that waits for an authorization; see `connect`."""
        self._files = files or FileFetcher()
        self._poll_interval = poll_interval
        self._patience = patience
        self._farewells = Farewells()
        self._receivers: list[Receiver] = []

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for receiver in self._receivers:
                await receiver.aclose()
            await self._farewells.aclose()
        finally:
            self._files.close()
            await self._link.__aexit__(kind, error, trace)

    async def card(self) -> AgentCard:
        """The agent's card: the extended one, once that was fetched; asked for again when its time has passed."""
        return self._extended if self._extended is not None else await self._link.card()

    @property
    def card_verdict(self) -> "CardVerdict | None":
        """What the signatures of the agent's card show; None before the card was needed, and if they are ignored."""
        return self._link.verdict

    async def ask(self, content: Content, **options: Unpack[SendOptions]) -> str:
        """Sends, waits as long as it takes, over however many connections, and gives the text of the answer.

        That is the text of the task's artifacts in order, else that of its status message, else the direct answer's.

        Raises:
            TaskFailed: the task ended as failed, rejected or canceled.
            InputRequired: the task waits for an answer; `AuthRequired` if for an authorization that `on_auth_required`
                of `connect` did not give.
            TaskUnfinished: the deadline came first.
            TransportError: nobody knows whether the agent has the message, and it must not be sent twice.
        """
        since = asyncio.get_running_loop().time()
        view = TaskView()
        request = await self._sent(SEND_MESSAGE, request_of(content, options))
        await settled(view, self._follow(view, options, request))
        if view.message is not None:
            return view.message.text
        assert view.task is not None
        task = view.task
        if view.partial and request.message.task_id is not None:
            # Some agents stream of a follow-up only what is new; what the task held before counts too.
            task = await self.get_task(GetTaskRequest(id=task.id))
        handle = self._handle(task)
        if task.state is TaskState.AUTH_REQUIRED and self.on_auth_required is not None:
            waiting: ResultOptions = {"deadline": options.get("deadline")}
            handle = await authorized(handle, self.on_auth_required, remaining(waiting, since))
        return handle.completed().text

    async def stream(self, content: Content, **options: Unpack[SendOptions]) -> AsyncGenerator[StreamEvent, None]:
        """Sends and yields what happens, until the task has ended or waits, and the agent ends its stream.

        A direct answer is the only event. After a cut the events go on where the agent numbers them; else the next one
        is the Task, which replaces what came before, and so may be the last. From an agent that does not stream: its
        answer, and the Task each time it has changed, until it is settled. Nothing is read ahead, and nothing kept of
        artifacts. Raises as `ask` does when the outcome cannot be waited for.
        """
        view = TaskView(whole=False)
        request = await self._sent(SEND_STREAMING_MESSAGE, request_of(content, options))
        async with aclosing(self._follow(view, options, request)) as events:
            async for event in events:
                yield event

    async def start(self, content: Content, **options: Unpack[StartOptions]) -> TaskHandle | Message:
        """Sends and returns at once: the task in hand, or the message if the agent answers directly.

        With a `webhook` the agent pushes what happens to that receiver, from the creation of a new task on.

        Raises:
            PushNotificationNotSupportedError: a webhook is asked for, and the agent does not push; nothing was sent.
        """
        webhook = options.get("webhook")
        request = await self._sent(SEND_MESSAGE, request_of(content, options, return_immediately=True))
        if webhook is None:
            return await self._started(request, options)
        await self._check(CREATE_PUSH_CONFIG)
        with webhook.expecting(request) as (told, became):
            answer = await self._started(told, options)
            became(None if isinstance(answer, Message) else answer.id)
        return answer

    async def _started(self, request: SendMessageRequest, options: WaitOptions) -> TaskHandle | Message:
        view = TaskView()
        with self._attended(view, options, request) as attendance:
            events = _limited(self._events(view, request, options), view, options)
            async with aclosing(events):
                await anext(events)
        if view.message is not None:
            return view.message
        assert view.task is not None
        return self._handle(view.task, attendance.release)

    async def fetch(self, part: Part) -> Fetched:
        """The bytes of a file that a part carries, or that its URL names; the latter without any credentials, and as
        `network` and `fetch` of `connect` allow.

        Raises:
            FetchRefused: the URL may not be called.
            FetchFailed: there is no such file, or none that is short enough.
            ValueError: the part is no file.
        """
        return await self._files.fetch(part)

    async def task(self, task_id: str, *, history_length: int | None = None) -> TaskHandle:
        """A task that was begun earlier."""
        return self._handle(await self.get_task(GetTaskRequest(id=task_id, history_length=history_length)))

    def adopt(self, task_id: str) -> Callable[[], None]:
        """Has a task that was begun earlier canceled together with the run of an agent that this is called in, as one
        is that the run has begun itself; calling what this returns takes that back.
        """
        view = TaskView(task_id=task_id)
        cancel = partial(self._cancel, view, None)
        return Attendance(view, self._farewells, cancel, cancel_remote=False, adopt=True).release

    def receiver(
        self, url: str | None = None, on_event: "OnEvent | None" = None, **options: Unpack[ReceiverOptions]
    ) -> "Receiver":
        """A receiver of what this agent pushes; it closes with the client, if not before.

        Args:
            url: where the agent reaches it; may be left out if the receiver is served on a port that it reaches.
            on_event: awaited with each event; when it raises, the agent comes again with the same.
            **options: what it takes from whom; see `ReceiverOptions`.
        """
        from dragoman.client.receiver import Receiver

        made = Receiver(self, url, on_event, **options)
        self._receivers.append(made)
        return made

    def _handle(self, task: Task, ended: Callable[[], None] | None = None) -> TaskHandle:
        return TaskHandle(self, task, self._outcome, ended=ended)

    def _outcome(self, view: TaskView, options: ResultOptions) -> AsyncGenerator[StreamEvent, None]:
        via = options.get("via")
        return self._follow(view, options, told=None if via is None else via.news(view))

    async def _follow(
        self,
        view: TaskView,
        options: WaitOptions,
        request: SendMessageRequest | None = None,
        told: Events | None = None,
    ) -> AsyncGenerator[StreamEvent, None]:
        """What becomes of the request, or else of the task that the view is about; added to the view."""
        source = told or self._events(view, request, options)
        with self._attended(view, options, request):
            async with aclosing(_limited(source, view, options)) as events:
                async for event in events:
                    yield event

    async def _events(
        self, view: TaskView, request: SendMessageRequest | None, options: WaitOptions
    ) -> AsyncGenerator[StreamEvent, None]:
        way = await self._way()
        first = None if request is None else partial(_first, way, request)
        async with aclosing(followed(way, view, first, patient=options.get("deadline") is not None)) as events:
            async for event in events:
                yield event

    async def _way(self) -> Way:
        return Way(
            channel=await self._channel(),
            streaming=await self._offers("streaming"),
            repeatable=await self._link.repeatable(),
            interval=self._poll_interval,
            patience=self._patience,
        )

    def _attended(self, view: TaskView, options: WaitOptions, request: SendMessageRequest | None) -> Attendance:
        return Attendance(
            view,
            self._farewells,
            partial(self._cancel, view, request),
            cancel_remote=options.get("cancel_remote", False),
            adopt=request is not None,
        )

    async def _cancel(self, view: TaskView, request: SendMessageRequest | None) -> None:
        """Cancels the task of a view, also if its caller left before the agent had named it."""
        way, pauses = await self._way(), Pauses(self._poll_interval)
        for attempt in range(CANCELLATIONS):
            with suppress(TaskNotCancelableError):
                try:
                    if view.task_id is None and request is not None and way.repeatable:
                        async with aclosing(_first(way, request)) as events:
                            view.add(await anext(events))
                    if view.task_id is not None:
                        await way.channel.call(CANCEL_TASK, CancelTaskRequest(id=view.task_id))
                except (TransportError, UnavailableError) as error:
                    if attempt == CANCELLATIONS - 1:
                        raise
                    await pauses.after_cut(getattr(error, "retry_after", None))
                    continue
            return


def _limited(events: Events, view: TaskView, options: WaitOptions) -> Events:
    deadline = options.get("deadline")
    return events if deadline is None else timely(events, view, deadline)


async def _first(way: Way, request: SendMessageRequest) -> AsyncGenerator[StreamEvent, None]:
    """Sends the message. From an agent that does not stream comes one event: its answer."""
    if way.streaming and not request.configuration.return_immediately:
        async with aclosing(way.channel.stream(SEND_STREAMING_MESSAGE, request)) as events:
            async for event in events:
                yield event
        return
    # An answer that is long in coming could be lost, and with it the task.
    yield await way.channel.call(SEND_MESSAGE, request if way.repeatable else _immediate(request))


def _immediate(request: SendMessageRequest) -> SendMessageRequest:
    configuration = msgspec.structs.replace(request.configuration, return_immediately=True)
    return msgspec.structs.replace(request, configuration=configuration)
