"""Clients as they come, without a wish for a version or a binding: what the card offers is enough for each of them."""

import pytest

from tests.interop.columns import PEERS, Column
from tests.interop.stage import Stage
from tests.interop.verdicts import fault


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("role", ["client", "server"])
def test_client_and_server_find_a_way_to_talk(stage: Stage, role: str, peer: str) -> None:
    for scenario, facts in stage.seen_without_wishes(role, peer).items():
        if wrong := fault(Column(role, "", peer, ""), scenario, facts):
            pytest.fail(f"{scenario}: {wrong}", pytrace=False)
