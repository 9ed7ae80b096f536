"""When two requests are one that was sent twice."""

from typing import Any

import msgspec
import pytest

from dragoman.core.sameness import digest_of
from dragoman.types.content import Message, Part, Role
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import SendMessageConfiguration, SendMessageRequest

MESSAGE = Message(
    message_id="m",
    role=Role.USER,
    parts=(Part(text="hello"), Part(data={"a": 1, "b": {"c": [1, 2], "d": None}})),
    metadata={"x": 1, "y": 2},
)
REQUEST = SendMessageRequest(message=MESSAGE, metadata={"trace": "1"})


def changed(value: Any, **members: Any) -> Any:
    return msgspec.structs.replace(value, **members)


def configured(**members: Any) -> SendMessageRequest:
    return SendMessageRequest(
        message=MESSAGE, metadata={"trace": "1"}, configuration=SendMessageConfiguration(**members)
    )


def test_the_order_of_members_makes_no_difference() -> None:
    parts = (MESSAGE.parts[0], Part(data={"b": {"d": None, "c": [1, 2]}, "a": 1}))
    shuffled = changed(MESSAGE, metadata={"y": 2, "x": 1}, parts=parts)
    assert digest_of(changed(REQUEST, message=shuffled)) == digest_of(REQUEST)


@pytest.mark.parametrize("members", [{"return_immediately": True}, {"history_length": 0}, {"history_length": 5}])
def test_how_the_caller_wants_to_be_answered_makes_no_difference(members: dict[str, Any]) -> None:
    assert digest_of(configured(**members)) == digest_of(REQUEST)


def test_what_the_agent_may_get_to_see_makes_a_difference() -> None:
    others = [
        REQUEST,
        *(
            changed(REQUEST, message=changed(MESSAGE, **members))
            for members in (
                {"message_id": "n"},
                {"parts": MESSAGE.parts[:1]},
                {"parts": tuple(reversed(MESSAGE.parts))},
                {"context_id": "c"},
                {"task_id": "t"},
                {"metadata": None},
                {"extensions": ("urn:e",)},
                {"reference_task_ids": ("t",)},
            )
        ),
        changed(REQUEST, metadata=None),
        changed(REQUEST, metadata={"trace": "2"}),
        configured(accepted_output_modes=("text/plain",)),
        configured(accepted_output_modes=("text/plain", "text/html")),
        configured(task_push_notification_config=TaskPushNotificationConfig(url="https://hook.example")),
    ]
    digests = {digest_of(other) for other in others}
    assert len(digests) == len(others)
    assert {len(digest) for digest in digests} == {32}
