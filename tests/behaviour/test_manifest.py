"""The manifest and the tests tell the same story, both ways."""

import importlib
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.cells import CELLS, Cell, cells_of
from tests.behaviour.manifest import LEVELS, STATES, Citation, Row, citations, rows

ROWS = {row.id: row for row in rows()}
CITED: dict[str, list[Citation]] = defaultdict(list)
for _citation in citations():
    CITED[_citation.id].append(_citation)


def test_every_requirement_of_the_specification_has_one_row() -> None:
    counted = Counter(row.id for row in rows())
    assert [row for row, count in counted.items() if count > 1] == []
    assert Counter(row.level for row in rows()) == {
        "MUST": 197,
        "MUST NOT": 14,
        "SHOULD": 104,
        "SHOULD NOT": 7,
        "MAY": 3,
    }


def test_every_row_is_well_formed() -> None:
    for row in rows():
        assert re.fullmatch(r"R-[0-9A-Z.]+-\d\d", row.id), row
        assert row.level in LEVELS, row
        assert row.status in STATES, row
        assert row.who, row
        assert row.sentence.endswith("."), row


def test_a_row_is_tested_or_says_why_not_and_never_both() -> None:
    wrong = [row.id for row in rows() if (row.status == "tested") == bool(row.reason)]
    assert wrong == []


def test_every_tested_row_has_a_test() -> None:
    assert [row.id for row in rows() if row.status == "tested" and not CITED[row.id]] == []


def test_no_row_that_says_why_it_has_no_test_has_one() -> None:
    assert {row.id: CITED[row.id] for row in rows() if row.status != "tested" and CITED.get(row.id)} == {}


def test_every_id_that_a_test_carries_is_a_row() -> None:
    assert {key: [citation.test for citation in found] for key, found in CITED.items() if key not in ROWS} == {}


def test_no_test_that_carries_an_id_is_skipped() -> None:
    assert [citation for found in CITED.values() for citation in found if citation.skipped] == []


BELOW = "R-7.1-", "R-13.4-01", "R-13.4-02", "R-13.4-04"
"""Rows about connections, which know no binding."""
NOT_OVER_GRPC = {
    "R-3.2.6-02": "HTTP/2 has no names with capitals",
    "R-3.6.2-03": "the package of a call says its version if nothing else does",
}


def _needs_every_binding(row: Row) -> bool:
    bound = row.who in {"server", "both"} and row.bindings.startswith("all")
    return row.status == "tested" and bound and not row.id.startswith(BELOW)


def _cells(citation: Citation) -> tuple[Cell, ...]:
    """The cells in which a test runs, none for one that has no wire."""
    if not {"wire", "serve", "called"} & set(citation.arguments):
        return ()
    path, _, name = citation.test.partition("::")
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    marks: list[Any] = [*getattr(getattr(module, name), "pytestmark", [])]
    at_top: Any = getattr(module, "pytestmark", [])
    marks += at_top if isinstance(at_top, list) else [getattr(at_top, "mark", at_top)]
    return cells_of(lambda name: [mark for mark in marks if mark.name == name])


def test_what_binds_a_server_in_every_binding_is_tested_in_all_bindings_of_1_0() -> None:
    needed = {cell for cell in CELLS if cell.line == "1.0"}
    lacking = {
        row.id: {cell.key for cell in missing}
        for row in rows()
        if _needs_every_binding(row)
        and row.id not in NOT_OVER_GRPC
        and (missing := needed - {cell for citation in CITED[row.id] for cell in _cells(citation)})
    }
    assert lacking == {}


def test_what_binds_a_server_or_client_here_is_tested_or_waits_for_a_part_that_is_not_there() -> None:
    dismissed = {row.reason for row in rows() if row.on_the_wire and row.status == "not-applicable"}
    assert dismissed <= {
        "it asks for documents, not for behaviour",
        "it asks for lawful use, which no program shows",
        "it is for each agent to decide, not for the framework",
        "it is for the deployment to decide",
    }


def test_a_mark_is_found_only_on_what_pytest_would_collect(tmp_path: Path) -> None:
    body = "@requirement('R-1')\ndef test_a(wire): ...\n\n@requirement('R-2')\ndef helper(): ...\n"
    (tmp_path / "test_x.py").write_text(body + "@pytest.mark.skip\n@requirement('R-3')\ndef test_c(): ...\n")
    found = {citation.id: citation for citation in citations(tmp_path)}
    assert set(found) == {"R-1", "R-3"}
    assert found["R-1"].arguments == ("wire",)
    assert found["R-3"].skipped


@pytest.mark.parametrize(("bindings", "expected"), [("all", True), ("J, R", True), ("G", True), ("push", False)])
def test_a_row_knows_whether_it_is_on_the_wire(bindings: str, expected: bool) -> None:
    assert Row("R-0-00", "MUST", "server", bindings, "tested", "", "").on_the_wire is expected
