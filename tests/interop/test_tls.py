"""Official clients over TLS, on the one port: the card is fetched over it, and each binding found in the card."""

import pytest

from tests.interop.columns import COLUMNS, Column
from tests.interop.stage import Stage
from tests.interop.verdicts import fault


@pytest.mark.parametrize("column", [column for column in COLUMNS if column.role == "client"], ids=str)
def test_official_clients_are_answered_over_tls(stage: Stage, column: Column) -> None:
    for scenario, facts in stage.seen_over_tls(column).items():
        if wrong := fault(column, scenario, facts):
            pytest.fail(f"{scenario}: {wrong}", pytrace=False)
