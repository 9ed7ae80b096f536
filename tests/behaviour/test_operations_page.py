"""The page of operations says what the rows of the dialects say, and what these tests say by hand."""

import re

import pytest

from dragoman.dialects.every import every_dialect
from dragoman.operations import OPERATIONS
from scripts.operations import PAGE, names_in, page
from tests.behaviour.cells import CELLS, NO_LISTS, Cell
from tests.behaviour.forms import FORMS, Wish

DIALECTS = {dialect.key: dialect for dialect in every_dialect()}


def test_the_page_is_in_step_with_the_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


def test_there_is_a_dialect_for_each_cell() -> None:
    assert set(DIALECTS) == {cell.key for cell in CELLS}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
def test_the_names_written_here_by_hand_are_those_of_the_rows(cell: Cell) -> None:
    """`FORMS` says the names from the documents, so that a wrong row cannot hide behind itself."""
    for operation in OPERATIONS:
        names = names_in(DIALECTS[cell.key], operation)
        if operation.name == "ListTasks" and cell in NO_LISTS.cells:
            assert names == []
            continue
        request = FORMS[cell].request(Wish("", operation.name, {"id": "{id}", "taskId": "{id}"}, {}, {}, ""))
        if cell.binding == "HTTP+JSON":
            path = re.sub(r"%7B\w+%7D", "{}", request.path)
            assert f"{request.method} {path}" in {re.sub(r"{\w+}", "{}", name) for name in names}
        elif cell.binding == "GRPC":
            assert request.path.rpartition("/")[2] == names[0]
        else:
            assert f'"method": "{names[0]}"'.encode() in request.body
