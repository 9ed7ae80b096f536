"""The page about limits says what the code does."""

import re

from dragoman.ports.limits import CallLimits, Rate
from tests.arch.source import ROOT

PAGE = (ROOT / "docs" / "limits.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE))
MEBIBYTE = 1024 * 1024


def _said(value: Rate | int) -> str:
    if isinstance(value, Rate):
        return f"`Rate({value.per_second:g}, {value.burst})`"
    return f"{value // MEBIBYTE} MiB" if value >= MEBIBYTE else str(value)


def test_every_limit_is_there_with_its_default() -> None:
    limits = CallLimits()
    defaults = {name: _said(getattr(limits, name)) for name in limits.__struct_fields__}
    assert {name: said for name, said in ROWS.items() if name in defaults} == defaults
