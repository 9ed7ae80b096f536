"""Hints within one process: prompt, in order, bounded."""

import asyncio

import pytest

from dragoman.buses.memory import MAILBOX_BYTES, MAILBOX_ENTRIES, Mailbox, MemoryBus
from dragoman.ports.bus import Hint
from dragoman.ports.tasks import Entry
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.task import TaskState, TaskStatus


def entry(seq: int, part: Part | None = None) -> Entry:
    artifact = Artifact(artifact_id="a", parts=(part or Part(text=str(seq)),))
    return Entry(seq=seq, event=TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact))


def said(seq: int, text: str) -> Entry:
    message = Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),))
    status = TaskStatus(state=TaskState.WORKING, message=message)
    return Entry(seq=seq, event=TaskStatusUpdateEvent(task_id="t", context_id="c", status=status))


def received(seq: int, text: str) -> Entry:
    message = Message(message_id="m", role=Role.USER, parts=(Part(text=text),))
    return Entry(seq=seq, event=entry(seq).event, received=message)


def numbers(mailbox: Mailbox) -> tuple[list[int], bool]:
    entries, dropped = mailbox.take()
    return [entry.seq for entry in entries], dropped


def test_a_reader_gets_what_is_published_from_now_on_in_order() -> None:
    bus = MemoryBus()
    bus.publish(Hint("t", (entry(2),)))
    mailbox = bus.subscribe("t")
    bus.publish(Hint("t", (entry(3), entry(4))))
    bus.publish(Hint("other", (entry(9),)))
    bus.publish(Hint("t", (entry(5),)))
    assert numbers(mailbox) == ([3, 4, 5], False)
    assert numbers(mailbox) == ([], False)


def test_every_reader_has_a_mailbox_of_its_own() -> None:
    bus = MemoryBus()
    first, second = bus.subscribe("t"), bus.subscribe("t")
    bus.publish(Hint("t", (entry(2),)))
    assert numbers(first) == ([2], False)
    bus.publish(Hint("t", (entry(3),)))
    assert (numbers(first), numbers(second)) == (([3], False), ([2, 3], False))


def test_a_full_mailbox_drops_everything_and_says_so() -> None:
    bus = MemoryBus()
    slow, quick = bus.subscribe("t"), bus.subscribe("t")
    for seq in range(MAILBOX_ENTRIES):
        bus.publish(Hint("t", (entry(seq),)))
    assert numbers(quick) == (list(range(MAILBOX_ENTRIES)), False)
    bus.publish(Hint("t", (entry(300),)))
    bus.publish(Hint("t", (entry(301),)))
    assert numbers(quick) == ([300, 301], False)
    assert numbers(slow) == ([301], True)
    bus.publish(Hint("t", (entry(302),)))
    assert numbers(slow) == ([302], False)


@pytest.mark.parametrize(
    "large",
    [
        entry(2, Part(text="x" * (MAILBOX_BYTES // 2))),
        entry(2, Part(base64="A" * (MAILBOX_BYTES // 2))),
        entry(2, Part(data={"k": ["x" * (MAILBOX_BYTES // 2)]})),
        said(2, "x" * (MAILBOX_BYTES // 2)),
        received(2, "x" * (MAILBOX_BYTES // 2)),
    ],
    ids=["text", "file", "data", "status", "received"],
)
def test_a_mailbox_is_bounded_in_size_too(large: Entry) -> None:
    bus = MemoryBus()
    mailbox = bus.subscribe("t")
    bus.publish(Hint("t", (large,)))
    assert numbers(mailbox) == ([2], False)
    bus.publish(Hint("t", (large,)))
    bus.publish(Hint("t", (large,)))
    assert numbers(mailbox) == ([], True)


async def test_waiting_ends_when_something_comes() -> None:
    bus = MemoryBus()
    mailbox = bus.subscribe("t")
    waiting = asyncio.ensure_future(mailbox.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    bus.publish(Hint("t", (entry(2),)))
    async with asyncio.timeout(5):
        await waiting
        await mailbox.wait()
    assert numbers(mailbox) == ([2], False)


async def test_waiting_ends_when_something_was_dropped() -> None:
    bus = MemoryBus()
    mailbox = bus.subscribe("t")
    bus.publish(Hint("t", tuple(entry(seq) for seq in range(MAILBOX_ENTRIES + 1))))
    async with asyncio.timeout(5):
        await mailbox.wait()
    assert numbers(mailbox) == ([], True)


async def test_waiting_again_after_giving_up_is_fine() -> None:
    bus = MemoryBus()
    mailbox = bus.subscribe("t")
    first = asyncio.ensure_future(mailbox.wait())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first], timeout=5)
    second = asyncio.ensure_future(mailbox.wait())
    await asyncio.sleep(0)
    bus.publish(Hint("t", (entry(2),)))
    async with asyncio.timeout(5):
        await second
    assert numbers(mailbox) == ([2], False)


async def test_a_nudge_ends_the_wait_that_is_under_way_and_no_other() -> None:
    mailbox = MemoryBus().subscribe("t")
    mailbox.nudge()
    waiting = asyncio.ensure_future(mailbox.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    mailbox.nudge()
    async with asyncio.timeout(5):
        await waiting
    assert numbers(mailbox) == ([], False)


async def test_closing_ends_the_subscription_and_the_waiting() -> None:
    bus = MemoryBus()
    mailbox, other = bus.subscribe("t"), bus.subscribe("t")
    waiting = asyncio.ensure_future(mailbox.wait())
    await asyncio.sleep(0)
    mailbox.close()
    mailbox.close()
    async with asyncio.timeout(5):
        await waiting
    bus.publish(Hint("t", (entry(2),)))
    assert numbers(mailbox) == ([], False)
    assert numbers(other) == ([2], False)
    other.close()
    bus.publish(Hint("t", (entry(3),)))
    assert numbers(other) == ([], False)


def test_a_listener_hears_of_every_task_until_it_has_heard_enough() -> None:
    bus = MemoryBus()
    heard: list[str] = []
    end = bus.listen(lambda hint: heard.append(hint.task_id))
    bus.publish(Hint("a", ()))
    bus.publish(Hint("b", ()))
    end()
    bus.publish(Hint("c", ()))
    assert heard == ["a", "b"]
