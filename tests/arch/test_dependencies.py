"""`docs/dependencies.md` tells of every dependency, with the range that is declared."""

import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.arch.source import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DOCUMENT = (ROOT / "docs" / "dependencies.md").read_text("utf-8")


def _declared() -> Iterator[tuple[str, str]]:
    groups = PROJECT["dependency-groups"]
    for entry in (*PROJECT["project"]["dependencies"], *groups["build"], *groups["test"]):
        match = re.fullmatch(r"([a-z0-9-]+)(?:\[\w+\])?([^;]+)(;.*)?", entry)
        assert match is not None, entry
        yield match[1], match[2].strip().replace(",", ", ")


def _rows() -> dict[str, str]:
    """The ranges by package; a row of several has their ranges in the same order."""
    rows = re.findall(r"^\| ([a-z0-9, -]+) \| ([<>=0-9., ]+) \|", DOCUMENT, re.MULTILINE)
    found: dict[str, str] = {}
    for names, ranges in rows:
        several = names.split(", ")
        found |= dict(zip(several, ranges.split(", ") if len(several) > 1 else [ranges], strict=True))
    return found


def test_every_range_is_the_one_that_is_declared() -> None:
    assert _rows() == dict(_declared())


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`(requirements/[^`]+)`", DOCUMENT))))
def test_every_lock_that_is_named_is_there(place: str) -> None:
    assert (ROOT / place).exists()
