"""Deliveries over a store in memory and in virtual time: in order, one at a time, again and again."""

import asyncio
from itertools import pairwise

import pytest

from dragoman.ports.push import PushState
from dragoman.ports.webhook import AddressRefused, Answer, Undelivered
from dragoman.push.delivery import Undeliverable
from dragoman.push.options import PushOptions, Retry
from dragoman.types.task import TaskState
from tests.behaviour.manifest import requirement
from tests.unit.push.stage import chunk, played, staged, state

HOOK = "https://one.example/a"
OTHER = "https://other.example/b"
DONE = state(TaskState.COMPLETED)
TASK = "1 task working"


@played
async def test_every_event_is_delivered_in_order_the_creation_first() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"))
        await stage.happen("t", chunk("two"), DONE)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == [TASK, "2 one", "3 two", "4 completed"]
        push = await stage.push("t", "a")
        assert (push.state, push.cursor) == (PushState.ENDED, 4)
        assert stage.pusher.state.known == 0


@played
async def test_one_delivery_of_a_configuration_is_under_way_at_a_time() -> None:
    async with staged() as stage:
        stage.receivers.takes[HOOK] = 0.5
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), chunk("two"))
        await asyncio.sleep(3)
        assert stage.receivers.most == 1
        assert [post.at for post in stage.receivers.posts] == [0, 0.5, 1]


@played
async def test_a_slow_receiver_does_not_hold_up_another() -> None:
    async with staged() as stage:
        stage.receivers.takes[HOOK] = 10
        await stage.begin("t", HOOK, OTHER)
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == [TASK]
        assert stage.receivers.got(OTHER) == ["2 one", "3 completed"]
        await asyncio.sleep(30)
        assert stage.receivers.got(HOOK) == [TASK, "2 one", "3 completed"]


@played
async def test_receivers_that_never_answer_leave_room_for_others() -> None:
    async with staged(PushOptions(in_flight=2)) as stage:
        hung = [f"https://hung-{number}.example/h" for number in range(6)]
        for number, url in enumerate(hung):
            stage.receivers.takes[url] = 1_000
            await stage.begin(f"t-{number}", url)
        await asyncio.sleep(3.5)
        await stage.begin("t", HOOK)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == [TASK]


@played
async def test_there_is_an_end_to_how_many_hang_at_once() -> None:
    async with staged(PushOptions(in_flight=2, timeout=1_000)) as stage:
        for number in range(50):
            url = f"https://hung-{number}.example/h"
            stage.receivers.takes[url] = 10_000
            await stage.begin(f"t-{number}", url)
        await asyncio.sleep(100)
        assert stage.pusher.state.under_way == stage.receivers.most == 2 * 8


@requirement("R-13.2-03")
@played
async def test_what_fails_comes_again_and_the_cursor_does_not_move_before_the_answer() -> None:
    async with staged() as stage:
        stage.receivers.say(HOOK, 200, 500, Undelivered("reset"), 302, AddressRefused("private"), 200)
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"))
        await asyncio.sleep(0.5)
        push = await stage.push("t", "a")
        assert (push.cursor, push.attempts, push.trouble) == (1, 1, "HTTP 500")
        await asyncio.sleep(20)
        assert stage.receivers.got(HOOK) == [TASK, *["2 one"] * 5]
        # The waits double.
        times = [post.at for post in stage.receivers.posts[1:]]
        assert [late - early for early, late in pairwise(times)] == [1, 2, 4, 8]
        assert [attempt.trouble for attempt in stage.told] == [
            "",
            "HTTP 500",
            "reset",
            "HTTP 302: redirects are not followed",
            "private",
            "",
        ]
        assert stage.told[4].age == 7


@requirement("R-4.3.3-07", "R-13.2-02")
@pytest.mark.parametrize(("options", "seconds"), [(PushOptions(timeout=3.0), 3.0), (PushOptions(), 15.0)])
@played
async def test_an_attempt_has_its_time(options: PushOptions, seconds: float) -> None:
    async with staged(options) as stage:
        stage.receivers.takes[HOOK] = 1_000
        await stage.begin("t", HOOK)
        await asyncio.sleep(seconds + 0.5)
        assert [(attempt.outcome, attempt.seconds) for attempt in stage.told] == [("failed", seconds)]
        assert stage.receivers.under_way == []


@played
async def test_a_receiver_is_given_the_time_that_it_asks_for() -> None:
    async with staged() as stage:
        stage.receivers.say(HOOK, Answer(429, 30.0))
        await stage.begin("t", HOOK)
        await asyncio.sleep(60)
        assert [post.at for post in stage.receivers.posts] == [0, pytest.approx(30, abs=5.5)]


@played
async def test_who_is_in_trouble_for_too_long_is_given_up() -> None:
    async with staged(PushOptions(retry=Retry(first=1, most=50, budget=100))) as stage:
        stage.receivers.always[HOOK] = 500
        await stage.begin("t", HOOK)
        await asyncio.sleep(1_000)
        push = await stage.push("t", "a")
        assert (push.state, push.cursor) == (PushState.DEAD, 0)
        count = len(stage.receivers.posts)
        assert stage.told[-1].outcome == "dead"
        await stage.happen("t", DONE)
        await asyncio.sleep(1_000)
        assert len(stage.receivers.posts) == count
        # Revived it gets the task as it is, and no backlog.
        stage.receivers.always.clear()
        assert await stage.pusher.retry(origin="https://another.example") == 0
        assert await stage.pusher.retry(task_id="t", config_id="a") == 1
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK)[count:] == ["2 task completed"]
        assert (await stage.push("t", "a")).state is PushState.ENDED


@played
async def test_what_is_refused_for_good_is_left_out() -> None:
    async with staged() as stage:
        stage.receivers.say(HOOK, 200, 404)
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == [TASK, "2 one", "3 completed"]
        push = await stage.push("t", "a")
        (letter,) = await stage.store.letters(push.n, 10)
        assert (letter.seq, letter.trouble) == (2, "HTTP 404")


@played
async def test_a_configuration_that_cannot_be_read_is_given_up_with_its_reason() -> None:
    async with staged() as stage:
        stage.preparing.raises = Undeliverable("the key is another one")
        await stage.begin("t", HOOK)
        await asyncio.sleep(1)
        push = await stage.push("t", "a")
        assert (push.state, push.trouble) == (PushState.DEAD, "the key is another one")
        assert stage.receivers.posts == []


@played
async def test_a_defect_in_the_making_is_a_failure_like_any_other() -> None:
    async with staged() as stage:
        stage.preparing.raises = TypeError("of the body")
        await stage.begin("t", HOOK)
        await asyncio.sleep(0.5)
        stage.preparing.raises = None
        await asyncio.sleep(10)
        assert stage.receivers.got(HOOK) == [TASK]


@played
async def test_a_hook_for_attempts_that_raises_changes_nothing() -> None:
    def broken(_: object) -> None:
        raise ValueError("of the hook")

    async with staged(PushOptions(on_attempt=broken)) as stage:
        await stage.begin("t", HOOK)
        await stage.happen("t", DONE)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == [TASK, "2 completed"]
