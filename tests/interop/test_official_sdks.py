"""Official SDKs as peers, in processes of their own: every scenario over every binding in every version, both ways."""

import pytest

from tests.interop.columns import COLUMNS, Column
from tests.interop.expected import absent
from tests.interop.scenarios import SCENARIOS
from tests.interop.stage import Stage
from tests.interop.verdicts import fault

CELLS = [(column, name) for column in COLUMNS for name in SCENARIOS if not absent(column, name)]


@pytest.mark.parametrize(("column", "scenario"), CELLS, ids=[f"{column}, {name}" for column, name in CELLS])
def test_what_is_seen_means_the_same_everywhere(stage: Stage, column: Column, scenario: str) -> None:
    if wrong := fault(column, scenario, stage.seen(column)[scenario]):
        pytest.fail(wrong, pytrace=False)
