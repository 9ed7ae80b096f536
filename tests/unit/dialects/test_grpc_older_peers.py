"""0.3 over gRPC as official SDKs of both generations read and write it."""

import pytest

from dragoman import operations
from dragoman.dialects.base import Call, HttpReply
from dragoman.dialects.v0_3.grpc import Grpc
from dragoman.errors import TaskNotFoundError
from dragoman.types import AgentCapabilities, AgentCard
from dragoman.types.requests import GetExtendedAgentCardRequest, ServiceParameters


def test_an_error_has_its_name_in_the_text_and_in_the_details() -> None:
    headers = Grpc().encode_error(TaskNotFoundError(), None).headers
    assert headers["grpc-message"] == "TaskNotFoundError: Task not found"
    assert "grpc-status-details-bin" in headers


@pytest.mark.parametrize("left_out", ["grpc-message", "grpc-status-details-bin"])
def test_an_error_is_read_from_either(left_out: str) -> None:
    headers = dict(Grpc().encode_error(TaskNotFoundError(), None).headers)
    del headers[left_out]
    headers["grpc-status"] = "2"
    with pytest.raises(TaskNotFoundError) as caught:
        Grpc().decode_result(operations.GET_TASK, HttpReply(200, headers))
    assert caught.value.message == "Task not found"


def test_an_extended_card_without_interfaces_is_answered() -> None:
    card = AgentCard(
        name="Bare",
        description="",
        supported_interfaces=(),
        version="1",
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )
    call = Call(operations.GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), ServiceParameters())
    assert b"Bare" in Grpc().encode_result(call, card).body
