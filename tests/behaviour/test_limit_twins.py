"""Agents that lack one limit are caught by what shows it."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from dragoman.engine import service
from dragoman.engine.bounds import Bounds
from dragoman.engine.slots import Slots
from dragoman.engine.volume import Volume
from dragoman.hosts.admission import Admission
from tests.behaviour import test_limits, test_media_types, test_volume
from tests.behaviour.addresses import Called, calling
from tests.behaviour.cells import Cell, only
from tests.behaviour.wire import Fault

Shown = Callable[[Called], Awaitable[None]]


def nothing(*_: Any, **__: Any) -> None:
    """In place of a check."""


async def nothing_later(*_: Any) -> None:
    """In place of one that is awaited."""


def a_place(*_: Any) -> Callable[[], None]:
    return nothing


class Twin(msgspec.Struct, frozen=True):
    """What is broken, and what shows it."""

    owner: Any
    name: str
    broken: Any
    shown: Shown

    def __str__(self) -> str:
        return self.name


async def streams_of_an_address(called: Called) -> None:
    await test_limits.test_a_caller_may_have_so_many_streams_open(called, calling("192.0.2.1"))


async def tasks_of_a_principal(called: Called) -> None:
    await test_limits.test_a_principal_may_have_so_many_tasks_that_run_or_wait(called, None)


async def too_much_text(called: Called) -> None:
    await test_volume.test_what_an_agent_puts_into_a_task_is_bounded(
        called, {"max_task_bytes": 5_000}, "chunks 10 500", "chunks 10 501", "task-too-large"
    )


async def long_ids(called: Called) -> None:
    await test_volume.test_ids_have_so_many_characters(called, "messageId")


TWINS = (
    Twin(Admission, "arrive", nothing, test_limits.test_an_address_may_call_so_often),
    Twin(Admission, "known", nothing, test_limits.test_a_principal_may_call_so_often_wherever_from),
    Twin(
        Admission,
        "try_credentials",
        nothing,
        test_limits.test_a_key_that_was_right_stays_so_while_others_guess_from_the_same_address,
    ),
    Twin(
        Admission,
        "were_right",
        nothing,
        test_limits.test_a_key_that_was_right_stays_so_while_others_guess_from_the_same_address,
    ),
    Twin(Admission, "open_stream", a_place, streams_of_an_address),
    Twin(Slots, "check", nothing, tasks_of_a_principal),
    Twin(Slots, "withdraw", nothing, test_limits.test_a_canceled_task_makes_room_whether_it_ran_or_waited),
    Twin(Bounds, "check", nothing_later, test_limits.test_a_conversation_in_one_task_is_held_to_its_pace),
    Twin(Bounds, "check", nothing_later, test_volume.test_a_task_has_so_many_messages),
    Twin(Volume, "text", nothing, too_much_text),
    Twin(service, "check_request", nothing, long_ids),
    Twin(
        "dragoman.agent.executor",
        "check_modes",
        nothing,
        test_media_types.test_an_answer_to_a_question_is_held_to_the_same,
    ),
)


@only(Cell("1.0", "JSONRPC"))
@pytest.mark.parametrize("twin", TWINS, ids=str)
async def test_an_agent_that_lacks_a_limit_is_caught(
    called: Called, monkeypatch: pytest.MonkeyPatch, twin: Twin
) -> None:
    if isinstance(twin.owner, str):
        monkeypatch.setattr(f"{twin.owner}.{twin.name}", twin.broken)
    else:
        monkeypatch.setattr(twin.owner, twin.name, twin.broken)
    with pytest.raises((AssertionError, pytest.fail.Exception, Fault)):
        await twin.shown(called)
