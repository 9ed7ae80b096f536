"""A bad connection to the official SDKs' servers: whatever is cut, the text is exactly what the agent has said."""

from collections.abc import Sequence
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
LONG = (("JSONRPC", 10_000, 700), ("HTTP+JSON", 3_000, 300), ("GRPC", 3_000, 300))
"""Ten thousand take the official server 20 seconds in each binding: an artifact of its is copied with every chunk."""

KEEPS_DOUBLES = {"py-0.3.26"}
"""Servers in which each subscription adds what it sees to the stored task: nobody can get the text from them as it was
said, once a stream was cut.
"""


def said(numbers: int) -> str:
    """What the agent says that counts so far."""
    return "".join(f"{number} " for number in range(1, numbers + 1))


def only(card: AgentCard, column: Column) -> AgentInterface:
    """The interface of the column."""
    return next(
        interface
        for interface in card.supported_interfaces
        if (minor(interface.protocol_version), interface.protocol_binding) == (column.version, column.binding)
    )


async def cut_short(
    stage: Stage, column: Column, numbers: int, pause: float, allowances: Sequence[int]
) -> tuple[str, int]:
    """What the client gets of an agent that counts, over connections of which each breaks after so many bytes; and how
    many did.
    """
    async with connect(stage.server(column.peer), versions=[column.version]) as client:
        card = await client.card()
    interface = only(card, column)
    place = urlsplit(interface.url if "://" in interface.url else f"//{interface.url}")
    assert place.hostname is not None
    assert place.port is not None
    async with proxied(place.hostname, place.port) as proxy:
        url = interface.url.replace(place.netloc, proxy.address)
        card = msgspec.structs.replace(card, supported_interfaces=(msgspec.structs.replace(interface, url=url),))
        proxy.cut_after(allowances)
        async with connect(card, versions=[column.version], poll_interval=0.01) as client:
            text = await client.ask(f"count {numbers} {pause} up", deadline=240)
        return text, proxy.cuts


@pytest.mark.parametrize("column", SERVERS, ids=str)
async def test_a_stream_that_is_cut_gives_the_text_of_the_agent(stage: Stage, column: Column) -> None:
    text, cuts = await cut_short(stage, column, NUMBERS, 0.004, range(3_000, 6_500, 700))
    assert cuts >= 3
    if column.peer in KEEPS_DOUBLES:
        text = " ".join(number for number, _ in groupby(text.split())) + " "
    assert text == said(NUMBERS)


@pytest.mark.parametrize(("binding", "numbers", "step"), LONG)
async def test_fifty_cuts_in_a_long_stream_of_the_official_server_give_the_text_of_the_agent(
    stage: Stage, binding: str, numbers: int, step: int
) -> None:
    column = Column("server", "1.0", "py-1.3.0", binding)
    text, cuts = await cut_short(stage, column, numbers, 0, range(2_000, 2_000 + 50 * step, step))
    assert cuts == 50
    assert text == said(numbers)
