"""The caller's side of push notifications: what an agent posts comes in here (specification sections 4.3.3, 13.2)."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from dragoman.client.pacing import Pauses
from dragoman.client.receiver.feed import Feed
from dragoman.client.receiver.gate import Gate, exposed
from dragoman.client.receiver.intake import Intake, OnEvent
from dragoman.client.receiver.limits import ReceiverLimits
from dragoman.client.receiver.looking import looked
from dragoman.client.receiver.readers import state_in
from dragoman.client.receiver.route import Route
from dragoman.client.receiver.signature import Signature
from dragoman.client.receiver.watch import Watch, Watches
from dragoman.client.view import TaskView
from dragoman.dialects.push import read_push
from dragoman.errors import ConfigurationError, DragomanError, TransportError, UnavailableError
from dragoman.types.events import StreamEvent
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.types.requests import DeleteTaskPushNotificationConfigRequest, GetTaskRequest, SendMessageRequest
from dragoman.types.task import Task

if TYPE_CHECKING:
    from dragoman.client.client import Client
    from dragoman.client.task import TaskHandle

__all__ = ["Receiver"]

log = logging.getLogger("dragoman.client")

RETRY_SECONDS = 1.0
"""The shortest pause between attempts to look at a task."""
FAREWELL_SECONDS = 5.0
"""How long a receiver that closes waits for its configurations to be deleted."""


class Receiver:
    """Takes what agents push, so that nobody has to keep a stream open. Made by `Client.receiver`.

    `app` is an ASGI application: mount it in Starlette or FastAPI, or give it a port of its own with `serve`. Then
    `client.start(..., webhook=receiver)` has a task pushed from its creation on, `watch` one that is there already.

    Every configuration has a random token of its own, and the tasks that it is for. A request without it, or the
    credentials, is refused before its body is read; so are times beyond the window, wrong signatures, and tasks that
    nobody has asked for. Each delivery is handed on once, known by its `webhook-id`; events with numbers come in their
    order, and what is missing is made up for by the task as it is. Senders that give neither ids nor numbers, as the
    official SDKs, have their events handed on as they come.

    The agent is told that a notification has arrived after `on_event` has returned, for as long as that takes; when it
    raises, the agent is to come again. Events of one task come one at a time. Configurations are deleted when their
    task has ended, or when the receiver closes, at the latest with its client. Belongs to one event loop.
    """

    def __init__(
        self,
        client: "Client | None" = None,
        url: str | None = None,
        on_event: OnEvent | None = None,
        *,
        token: str | None = None,
        authentication: AuthenticationInfo | None = None,
        signature: Signature | None = None,
        any_task: bool = False,
        limits: ReceiverLimits = ReceiverLimits(),  # noqa: B008 -- frozen
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._url = url
        self._authentication = authentication
        self._limits = limits
        self._watches = Watches(limits.tasks)
        gate = Gate(self._watches, token=token, authentication=authentication, window=limits.window, clock=clock)
        self._intake = Intake(
            gate,
            self._watches,
            read=read_push,
            verify=None if signature is None else partial(self._verify, signature),
            on_event=on_event,
            look=None if client is None else partial(looked, client),
            over=self._delete_soon,
            any_task=any_task,
            limits=limits,
        )
        self._deletions: set[asyncio.Task[None]] = set()
        self._warned = False
        self.app = Route(self._intake, limits)
        """The route, as an ASGI application."""

    def __repr__(self) -> str:
        return f"Receiver(url={self._url!r}, watching={len(self._watches.live)})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def url(self) -> str:
        """Where agents post to: as it was given, else where `serve` listens.

        Raises:
            ConfigurationError: neither.
        """
        if self._url is None:
            raise ConfigurationError("The receiver has no URL: give it one, or serve it first")
        return self._url

    @asynccontextmanager
    async def serve(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None
    ) -> AsyncGenerator[str, None]:
        """Listens while the context is open, and gives the origin that it listens on; port 0 takes a free one.

        Raises:
            OSError: the address cannot be had.
        """
        # The host is half a server, which those who mount the route need not load.
        from dragoman.client.receiver.hosting import hosted

        async with hosted(self.app, host, port, tls) as origin:
            if self._url is None:
                self._url = f"{origin}/"
            yield origin

    async def watch(self, task: "TaskHandle | str") -> None:
        """Has a task pushed from now on; does nothing if it is already.

        Raises:
            PushNotificationNotSupportedError: the agent does not push.
            A2AError, TransportError: as the agent answers.
        """
        task_id = _id_of(task)
        known = self._watches.by_task(task_id)
        if known is None or known.given_up:
            await self._watch(task_id)

    async def unwatch(self, task: "TaskHandle | str") -> None:
        """Deletes the configuration of a task, whose notifications are refused from now on (410)."""
        watch = self._watches.by_task(_id_of(task))
        if watch is not None and not watch.given_up:
            self._give_up(watch)
            await self._delete(watch)

    async def events(self, task: "TaskHandle | str") -> AsyncGenerator[StreamEvent, None]:
        """What is pushed of a task, until it ends; a task that is not watched yet is from now on.

        Without an `on_event` the events wait for the first reader; else they are those from now on. A reader that is
        far behind, or late, has the Task as it is, which replaces what came before.
        """
        task_id = _id_of(task)
        behind = await self._watched_newly(task_id)
        readers = self._intake.desk(task_id).readers
        behind = behind or readers.nothing_left
        feed = readers.begin()
        try:
            while True:
                event = None if behind else await feed.get()
                behind = False
                if event is None:
                    event, number = await looked(self._asked(), task_id)
                    feed.skip(number)
                yield event
                if state_in(event).terminal:
                    return
        finally:
            readers.end(feed)

    async def aclose(self) -> None:
        """Takes nothing any more, and deletes the configurations that are left; waits for that, but not for long."""
        await self._intake.aclose()
        for watch in self._watches.live:
            self._give_up(watch)
            self._delete_soon(watch)
        if not self._deletions:
            return
        _, late = await asyncio.wait(self._deletions, timeout=FAREWELL_SECONDS)
        for deletion in late:
            deletion.cancel()
        if late:
            await asyncio.wait(late)

    # What the client asks for.

    @contextmanager
    def expecting(
        self, request: SendMessageRequest
    ) -> Generator[tuple[SendMessageRequest, Callable[[str | None], None]], None, None]:
        """The request with a configuration of its own, and what is to be told of the task that it became, or None.

        The agent may push before it has answered, which it is believed for the token's sake. Where the request fails,
        what comes for it is refused.
        """
        watch, config = self._configuration(None, fresh=request.message.task_id is None)
        configuration = msgspec.structs.replace(request.configuration, task_push_notification_config=config)
        try:
            yield msgspec.structs.replace(request, configuration=configuration), partial(self._became, watch)
        except BaseException:
            self._give_up(watch)
            raise

    async def news(self, view: TaskView) -> AsyncGenerator[StreamEvent, None]:
        """What becomes of a task until there is nothing to wait for, added to the view; the Task at the end, and where
        nothing came for a while.
        """
        assert view.task_id is not None
        behind = await self._watched_newly(view.task_id)
        readers = self._intake.desk(view.task_id).readers
        behind = behind or readers.state.settled
        feed = readers.open()
        try:
            while not view.settled:
                event = None if behind else await self._heard(feed)
                quiet = event is None and not behind
                if event is None or state_in(event).settled:
                    event = await self._looked_at(view, view.task_id)
                behind = False
                view.add(event)
                yield event
                if quiet and view.overtaken:
                    return
        finally:
            readers.end(feed)

    # Within.

    def _became(self, watch: Watch, task_id: str | None) -> None:
        if task_id is None:
            # The answer may be pushed as well.
            self._intake.pass_on(watch)
        else:
            self._intake.bind(watch, task_id)

    def _give_up(self, watch: Watch) -> None:
        """What comes for this configuration is refused from now on."""
        watch.given_up = True
        self._intake.pass_on(watch)

    async def _heard(self, feed: Feed) -> StreamEvent | None:
        """The next event; None if nothing comes for a while, or too much came."""
        try:
            async with asyncio.timeout(self._limits.quiet):
                return await feed.get()
        except TimeoutError:
            return None

    async def _looked_at(self, view: TaskView, task_id: str) -> Task:
        pauses = Pauses(RETRY_SECONDS)
        while True:
            try:
                return await self._asked().get_task(GetTaskRequest(id=task_id))
            except (TransportError, UnavailableError) as error:
                view.trouble = error
                await pauses.after_cut(getattr(error, "retry_after", None))

    async def _watched_newly(self, task_id: str) -> bool:
        """Whether the task was not watched until now."""
        known = self._watches.by_task(task_id)
        if self._client is None or (known is not None and not known.given_up):
            return False
        await self._watch(task_id)
        return True

    async def _watch(self, task_id: str) -> None:
        client = self._asked()
        watch, config = self._configuration(task_id, fresh=False)
        self._intake.bind(watch, task_id)
        try:
            created = await client.create_task_push_notification_config(config)
        except BaseException:
            self._give_up(watch)
            raise
        # Some agents choose another.
        watch.config_id = created.id or watch.config_id

    def _configuration(self, task_id: str | None, *, fresh: bool) -> tuple[Watch, TaskPushNotificationConfig]:
        """What the agent is to be told, with a token that is made for it, and our side of it."""
        url = self.url
        if not self._warned and exposed(url):
            self._warned = True
            log.warning("notifications, and the tokens in them, come over the network without encryption")
        watch, token = self._watches.add(task_id, self._intake.rate(), fresh=fresh)
        return watch, watch.config(url, token, self._authentication)

    async def _verify(self, signature: Signature, headers: Mapping[str, str], body: bytes) -> None:
        await signature.verify(self.url, headers, body)

    def _asked(self) -> "Client":
        if self._client is None:
            raise ConfigurationError("This receiver has no client: it is told of tasks, and cannot ask for them")
        return self._client

    def _delete_soon(self, watch: Watch) -> None:
        if self._client is None or watch.task_id is None:
            return
        deletion = asyncio.get_running_loop().create_task(self._delete(watch))
        self._deletions.add(deletion)
        deletion.add_done_callback(self._deletions.discard)

    async def _delete(self, watch: Watch) -> None:
        request = DeleteTaskPushNotificationConfigRequest(task_id=watch.task_id or "", id=watch.config_id)
        try:
            await self._asked().delete_task_push_notification_config(request)
        except DragomanError as error:
            # The agent finds out by our answers.
            log.debug("a configuration of the task %s is left behind: %s", watch.task_id, error)


def _id_of(task: "TaskHandle | str") -> str:
    return task if isinstance(task, str) else task.id
