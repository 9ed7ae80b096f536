"""A pusher on a stage: virtual time, a store in memory, and receivers that do as they are told."""

import asyncio
import functools
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec

from dragoman.buses.memory import MemoryBus
from dragoman.core.lifecycle import fold
from dragoman.ports.bus import Hint
from dragoman.ports.call import Scope
from dragoman.ports.push import NewPush, Push, PushState
from dragoman.ports.tasks import Commit, Entry, NewTask, TurnStart
from dragoman.ports.webhook import Answer
from dragoman.push.delivery import Delivery
from dragoman.push.options import PushOptions
from dragoman.push.pusher import Pusher
from dragoman.stores.memory import MemoryStore
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.task import Task, TaskState, TaskStatus
from tests.simulation.loop import SeededLoop

__all__ = [
    "ANYONE",
    "START",
    "WORKER",
    "LoopClock",
    "Post",
    "Preparing",
    "Receivers",
    "Stage",
    "chunk",
    "played",
    "staged",
    "state",
]

ANYONE = Scope()
START = datetime(2030, 1, 1, 12, tzinfo=UTC)
WORKER = "w-1"


def played(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Plays a test in virtual time, to its end or to a deadlock; nothing may break beside it."""

    @functools.wraps(test)
    def play(*args: Any, **kwargs: Any) -> None:
        loop = SeededLoop.of(Random(1))
        loop.run_until_complete(test(*args, **kwargs))
        assert loop.broken == []

    return play


class LoopClock:
    """The time of day goes with the event loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())


class Post(msgspec.Struct, frozen=True):
    """What a receiver got, when, by the event loop."""

    url: str
    what: str
    at: float


class Receivers:
    """Answers with 200 to all, unless told otherwise for an URL: what comes first is used first."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.under_way: list[str] = []
        self.most = 0
        """How many deliveries were under way at once."""
        self.script: dict[str, deque[int | Answer | Exception]] = {}
        self.always: dict[str, int | Exception] = {}
        self.takes: dict[str, float] = {}
        """Seconds until an answer comes."""
        self.lingers = 0.0
        """Seconds that a delivery takes to break off."""
        self.closed = 0

    def say(self, url: str, *answers: int | Answer | Exception) -> None:
        self.script.setdefault(url, deque()).extend(answers)

    def got(self, url: str) -> list[str]:
        return [post.what for post in self.posts if post.url == url]

    async def check(self, url: str) -> None:
        """All may be called."""

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        assert headers["webhook-id"]
        self.posts.append(Post(url, body.decode(), asyncio.get_running_loop().time()))
        self.under_way.append(url)
        self.most = max(self.most, len(self.under_way))
        try:
            await asyncio.sleep(self.takes.get(url, 0.0))
        except asyncio.CancelledError:
            if self.lingers:
                await asyncio.sleep(self.lingers)
            raise
        finally:
            self.under_way.remove(url)
        script = self.script.get(url)
        answer = script.popleft() if script else self.always.get(url, 200)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Answer) else Answer(answer)

    async def close(self) -> None:
        self.closed += 1


class Preparing:
    """Bodies are a word; `sealed` is the URL. The dialect `bare` posts tasks as they are."""

    def __init__(self) -> None:
        self.raises: Exception | None = None

    def whole(self, dialect: str) -> bool:
        return dialect == "bare"

    def request(self, push: Push, event: StreamEvent, seq: int, at: datetime) -> Delivery:  # noqa: ARG002 -- as asked
        if self.raises is not None:
            raise self.raises
        url = push.sealed.decode()
        return Delivery(url, {"webhook-id": f"{push.task_id}:{seq}:{push.id}"}, f"{seq} {_word(event)}".encode())


def _word(event: StreamEvent) -> str:
    match event:
        case TaskStatusUpdateEvent():
            return str(event.status.state.value)
        case TaskArtifactUpdateEvent():
            return event.artifact.text
        case Task():
            return f"task {event.status.state.value} {event.text}".strip()
        case Message():
            return f"message {event.text}"
        case _:
            raise AssertionError(event)


def state(state: TaskState) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=state, timestamp=START))


def chunk(text: str) -> TaskArtifactUpdateEvent:
    artifact = Artifact(artifact_id="a", parts=(Part(text=text),))
    return TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=True)


class Idle:
    """A processor that nobody has used."""

    def used(self) -> float:
        return 0.0

    def waited(self) -> float:
        return 0.0

    def close(self) -> None:
        """Nothing is open."""


class WatchedBus(MemoryBus):
    """Counts how often a hint was heard by a listener."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = 0

    def listen(self, heard: Callable[[Hint], None]) -> Callable[[], None]:
        def counted(hint: Hint) -> None:
            self.heard += 1
            heard(hint)

        return super().listen(counted)


class Stage:
    """An open pusher, the tasks that it delivers for, and all that was told of attempts."""

    def __init__(self, options: PushOptions, store: MemoryStore, receivers: Receivers) -> None:
        self.told: list[Any] = []
        self.options = options if options.on_attempt else msgspec.structs.replace(options, on_attempt=self.told.append)
        self.store = store
        self.bus = WatchedBus()
        self.receivers = receivers
        self.preparing = Preparing()
        self.seqs: dict[str, int] = {}
        self.pusher = Pusher(
            store,
            self.bus,
            receivers,
            self.preparing,
            self.options,
            clock=LoopClock(),
            chance=lambda: 1.0,
            processor=Idle,
        )

    async def begin(self, task_id: str, *urls: str, dialect: str = "new") -> None:
        """A task that works, with a configuration for each URL: the first comes with it."""
        status = TaskStatus(state=TaskState.WORKING, timestamp=START)
        message = Message(message_id=f"m-{task_id}", role=Role.USER, parts=(Part(text="go"),))
        task = Task(id=task_id, context_id="c", status=status, history=(message,))
        first = None if not urls else self.new(task_id, urls[0], cursor=0, dialect=dialect, opened=status)
        await self.store.create(
            NewTask(task=task, scope=ANYONE, skill="s", start=TurnStart(), worker=WORKER, push=first)
        )
        self.seqs[task_id] = 1
        if first is not None:
            self.pusher.stored(task_id, ANYONE, first.id)
        for url in urls[1:]:
            await self.put(task_id, url, dialect=dialect)

    async def put(self, task_id: str, url: str, **members: Any) -> Push:
        """Stores a configuration, as a call does; its id is its URL's path."""
        new = self.new(task_id, url, **members)
        push = await self.store.put_push(new)
        self.pusher.stored(task_id, ANYONE, new.id)
        return push

    def new(self, task_id: str, url: str, dialect: str = "new", **members: Any) -> NewPush:
        scheme, _, rest = url.partition("//")
        host, _, path = rest.partition("/")
        return NewPush(
            task_id=task_id,
            id=path or host,
            scope=ANYONE,
            dialect=dialect,
            origin=f"{scheme}//{host}",
            sealed=url.encode(),
            worker=WORKER,
            **members,
        )

    async def happen(self, task_id: str, *events: TaskUpdate, hint: bool = True) -> None:
        """Stores events, and publishes them."""
        after = self.seqs[task_id]
        entries = tuple(Entry(seq=after + i, event=event) for i, event in enumerate(events, 1))
        stored = await self.store.get(task_id, ANYONE)
        assert stored is not None
        snapshot = fold(stored.task, [(entry.event, None) for entry in entries])
        settled = snapshot if snapshot.status.state.settled else None
        await self.store.commit(
            Commit(task_id=task_id, epoch=stored.epoch, after=after, entries=entries, snapshot=settled)
        )
        self.seqs[task_id] += len(entries)
        if hint:
            self.bus.publish(Hint(task_id, entries))

    async def push(self, task_id: str, config_id: str) -> Push:
        push = await self.store.get_push(task_id, ANYONE, config_id)
        assert push is not None
        return push

    async def live(self) -> Sequence[Push]:
        return await self.store.read_pushes(PushState.LIVE, after=0, limit=100_000)


@asynccontextmanager
async def staged(
    options: PushOptions = PushOptions(),  # noqa: B008 -- immutable
    *,
    store: MemoryStore | None = None,
    receivers: Receivers | None = None,
    worker: str = WORKER,
) -> AsyncGenerator[Stage]:
    """An open pusher, closed in the end."""
    stage = Stage(options, store or MemoryStore(LoopClock()), receivers or Receivers())
    await stage.store.beat(worker)
    await stage.pusher.open(lambda: worker)
    try:
        yield stage
    finally:
        await stage.pusher.close(0.0)
