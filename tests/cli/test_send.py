import pytest

from tests.cli.program import Program
from tests.cli.scripted import ScriptedAgent


@pytest.mark.row("A2ACLI_SEND_001")
async def test_send_starts_an_interaction(bound: ScriptedAgent, program: Program) -> None:
    ran = await program.run("send", "hello")
    assert ran.code == 0, ran.err
    (sent,) = bound.sends
    message = sent.params["message"]
    assert message["role"] == "ROLE_USER"
    assert message["messageId"]
    assert message["parts"] == [{"text": "hello"}]
    assert "taskId" not in message
    assert "contextId" not in message
    assert ran.fields["State"] == ["TASK_STATE_COMPLETED"]
    assert ran.fields["Text"] == ["hello"]
