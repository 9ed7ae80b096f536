"""docs/interop.md says what the run found."""

import pytest

from tests.interop.columns import COLUMNS
from tests.interop.limit import Evidence
from tests.interop.limits import LIMITS, limit_of
from tests.interop.page import PAGE, page
from tests.interop.scenarios import SCENARIOS
from tests.interop.stage import ROOT, Stage
from tests.interop.verdicts import verdicts


def test_the_page_shows_what_the_run_found(stage: Stage) -> None:
    found = {column: verdicts(column, stage.seen(column)) for column in COLUMNS}
    assert PAGE.read_text(encoding="utf-8") == page(found), "run `make interop`, and look at what has changed"


def test_every_limit_covers_a_cell_and_no_cell_has_two() -> None:
    cells = [(column, name) for column in COLUMNS for name in SCENARIOS]
    assert {limit_of(column, name) for column, name in cells} >= set(range(1, len(LIMITS) + 1))
    for column, name in cells:
        assert sum(limit.covers(column, name) for limit in LIMITS) <= 1, (str(column), name)


@pytest.mark.parametrize("evidence", [one for limit in LIMITS for one in limit.evidence], ids=str)
def test_the_evidence_of_a_limit_stands_where_the_page_says(evidence: Evidence) -> None:
    packages = ("lib/python3.*/site-packages", "node_modules/@a2a-js/sdk")
    (found,) = [path for each in packages for path in ROOT.glob(f".peers/{evidence.peer}/{each}/{evidence.path}")]
    assert evidence.says in found.read_text(encoding="utf-8").splitlines()[evidence.line - 1]
