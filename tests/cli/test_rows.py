"""Every requirement of the first tier, and those of the others that exist, have a test that names them."""

import ast
from collections.abc import Iterator
from pathlib import Path

NAMES = """
CARD_GET_001 SEND_001 SEND_002 SEND_003 SEND_004 SEND_005 SEND_006 TASK_GET_001 TASK_CANCEL_001 INTERACT_001
INTERACT_002 INTERACT_003 INTERACT_004 INTERACT_005 TASK_POLL_001 TASK_POLL_002 TASK_POLL_003 TASK_POLL_004 OUT_001
OUT_002 OUT_003 OUT_004 OUT_005 OUT_006 EXIT_001 EXIT_002 AUTH_001 AUTH_002 AUTH_003 AUTH_004 TX_001 TX_002 TX_003
VER_001 DEFAULT_001 CONFIG_001 CLI_001
"""
TIER_1 = NAMES.split()
TIER_2 = [
    "CARD_GET_002",
    "TASK_LIST_001",
    "TASK_SUBSCRIBE_001",
    "TASK_SUBSCRIBE_002",
    "AUTH_005",
    "AUTH_006",
    "AUTH_007",
    "PUSH_001",
]
TIER_3 = ["CARD_GET_004", "PUSH_002", "AUTH_010"]


def _named() -> Iterator[str]:
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.row":
                        yield from (ast.literal_eval(argument) for argument in mark.args)


def test_every_requirement_has_a_test() -> None:
    assert len(TIER_1) == 37
    assert set(_named()) == {f"A2ACLI_{name}" for name in (*TIER_1, *TIER_2, *TIER_3)}
