"""Broken twins: each lacks one thing that a promise rests on. A simulation that does not notice proves nothing."""

import asyncio

import msgspec

from dragoman.ports.bus import Subscription
from dragoman.ports.call import Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import Commit, Entry, Key, NewTask, TurnStart
from dragoman.ports.webhook import Answer, WebhookClient
from dragoman.types.content import Message
from tests.simulation.hosts import Surroundings
from tests.simulation.schedule import Twin
from tests.simulation.store import SharedStore, StoreView
from tests.simulation.world import WiredBus

__all__ = ["TWINS"]


class _Unfenced(SharedStore):
    """Compares no epochs: what a former owner writes is put behind what is there."""

    async def write(self, commit: Commit) -> tuple[Entry, ...]:
        stored = await self.inner.locate(commit.task_id)
        if stored is not None and commit.epoch < stored.epoch:
            entries = tuple(
                [
                    Entry(seq=number, event=entry.event, received=entry.received)
                    for number, entry in enumerate(commit.entries, stored.seq + 1)
                ]
            )
            commit = msgspec.structs.replace(commit, epoch=stored.epoch, after=stored.seq, entries=entries)
        return await super().write(commit)


class _LateMailbox:
    """Is there only from the moment on at which its reader looks into it."""

    def __init__(self, mailbox: Subscription) -> None:
        self._mailbox = mailbox
        self._open = False

    def take(self) -> tuple[tuple[Entry, ...], bool]:
        taken, dropped = self._mailbox.take()
        was_open, self._open = self._open, True
        return (taken, dropped) if was_open else ((), False)

    async def wait(self) -> None:
        await self._mailbox.wait()

    def nudge(self) -> None:
        self._mailbox.nudge()

    def close(self) -> None:
        self._mailbox.close()


class _LateBus(WiredBus):
    """Subscribes readers only after they have read the snapshot."""

    def subscribe(self, task_id: str) -> Subscription:
        return _LateMailbox(super().subscribe(task_id))


class _Forgetful(StoreView):
    """Stores no keys: a message that comes again is a new one."""

    async def create(self, new: NewTask) -> None:
        await super().create(msgspec.structs.replace(new, key=None))

    async def commit(self, commit: Commit) -> None:
        await super().commit(msgspec.structs.replace(commit, key=None))

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart, key: Key | None = None) -> int:  # noqa: ARG002 -- that is the point
        return await super().post(task_id, scope, message, start)


class _Answering(StoreView):
    """Keeps no answers: who asks again is answered again."""

    async def answered(self, scope: Scope, key: Key, answer: Message, push: NewPush | None = None) -> None:
        pass


class _Rash(StoreView):
    """Says that a change is stored while it is on its way."""

    async def commit(self, commit: Commit) -> None:
        if commit.claim:
            await super().commit(commit)
        else:
            self._writing = asyncio.ensure_future(super().commit(commit))


class _Hasty:
    """Says that something is delivered while it is on its way: the cursor moves before the answer."""

    def __init__(self, client: WebhookClient) -> None:
        self._client = client
        self._posting: set[asyncio.Task[Answer]] = set()

    async def check(self, url: str) -> None:
        await self._client.check(url)

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        posting = asyncio.ensure_future(self._client.post(url, headers, body))
        self._posting.add(posting)
        posting.add_done_callback(self._posted)
        return Answer(200)

    async def close(self) -> None:
        await self._client.close()

    def _posted(self, posting: "asyncio.Task[Answer]") -> None:
        self._posting.discard(posting)
        posting.exception()


def _unfenced(around: Surroundings) -> None:
    around.store = _Unfenced(around.loop)


def _late(around: Surroundings) -> None:
    around.bus = _LateBus


def _forgetful(around: Surroundings) -> None:
    around.view = _Forgetful


def _answering(around: Surroundings) -> None:
    around.view = _Answering


def _rash(around: Surroundings) -> None:
    around.view = _Rash


def _hasty(around: Surroundings) -> None:
    around.client = _Hasty


TWINS: dict[str, tuple[Twin, set[str]]] = {
    "no fence": (_unfenced, {"epochs"}),
    "snapshot before registering": (_late, {"promptly"}),
    "no keys": (_forgetful, {"known again"}),
    "no answers kept": (_answering, {"same answer"}),
    "acknowledged before it is stored": (_rash, {"seen is stored"}),
    "the cursor before the answer": (_hasty, {"arrived"}),
}
"""Each with the invariants of which at least one must be found violated."""
