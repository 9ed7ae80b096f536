"""Official SDKs as peers, in processes of their own: every scenario over every binding in every version, both ways."""

import pytest

from tests.interop.columns import Column
from tests.interop.expected import absent
from tests.interop.scenarios import SCENARIOS
from tests.interop.stage import Stage
from tests.interop.verdicts import fault


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_seen_means_the_same_everywhere(stage: Stage, column: Column, scenario: str) -> None:
    facts = stage.seen(column).get(scenario)
    if facts is None:
        assert absent(column, scenario)
        return
    assert not (wrong := fault(column, scenario, facts)), wrong
