"""A bad connection to the official SDKs' servers: whatever is cut, the text is exactly what the agent has said."""

from itertools import groupby
from urllib.parse import urlsplit

import msgspec
import pytest

from dragoman import connect
from dragoman.client.discovery import minor
from dragoman.types import AgentCard, AgentInterface
from tests.interop.columns import COLUMNS, Column
from tests.interop.stage import Stage
from tests.proxy import proxied

SERVERS = [column for column in COLUMNS if column.role == "server"]
NUMBERS = 300
SAID = "".join(f"{number} " for number in range(1, NUMBERS + 1))

KEEPS_DOUBLES = {"py-0.3.26"}
"""Servers in which each subscription adds what it sees to the stored task: nobody can get the text from them as it was
said, once a stream was cut.
"""


def only(card: AgentCard, column: Column) -> AgentInterface:
    """The interface of the column."""
    return next(
        interface
        for interface in card.supported_interfaces
        if (minor(interface.protocol_version), interface.protocol_binding) == (column.version, column.binding)
    )


@pytest.mark.parametrize("column", SERVERS, ids=str)
async def test_a_stream_that_is_cut_gives_the_text_of_the_agent(stage: Stage, column: Column) -> None:
    async with connect(stage.server(column.peer), versions=[column.version]) as client:
        card = await client.card()
    interface = only(card, column)
    place = urlsplit(interface.url if "://" in interface.url else f"//{interface.url}")
    assert place.hostname is not None
    assert place.port is not None
    async with proxied(place.hostname, place.port) as proxy:
        url = interface.url.replace(place.netloc, proxy.address)
        card = msgspec.structs.replace(card, supported_interfaces=(msgspec.structs.replace(interface, url=url),))
        proxy.cut_after(3_000 + 700 * number for number in range(5))
        async with connect(card, versions=[column.version], poll_interval=0.01) as client:
            text = await client.ask(f"count {NUMBERS} 0.004 up", deadline=40)
        assert proxy.cuts >= 3
    if column.peer in KEEPS_DOUBLES:
        text = " ".join(number for number, _ in groupby(text.split())) + " "
    assert text == SAID
