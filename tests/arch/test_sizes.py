"""Files and functions stay small; what has to be long says why in a decision record."""

import ast

from tests.arch.source import ROOT, functions, python_files

FILES = python_files("dragoman", "tests", "examples", "bench")
FILE_RULE, FILE_CEILING = 350, 500
FUNCTION_RULE, FUNCTION_CEILING = 30, 60


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body, its documentation left out: parameters are its face, not its work."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    begin = (first.end_lineno or 0) + 1 if documented else first.lineno
    return (function.end_lineno or 0) - begin + 1


def _quantile(values: list[int], share: float) -> int:
    return sorted(values)[int(len(values) * share)]


def test_files_stay_under_the_ceiling_and_long_ones_have_a_decision_record() -> None:
    records = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "adr").glob("*.md")))
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > FILE_CEILING} == {}
    assert {name: length for name, length in lengths.items() if length > FILE_RULE and name not in records} == {}


def test_nine_functions_in_ten_are_short() -> None:
    lengths = [_lines(function) for path in python_files("dragoman") for function in functions(path)]
    assert _quantile(lengths, 0.5) <= 8
    assert _quantile(lengths, 0.9) <= FUNCTION_RULE


def test_no_function_is_longer_than_the_ceiling() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": _lines(function)
        for path in FILES
        for function in functions(path)
        if _lines(function) > FUNCTION_CEILING
    }
    assert long == {}


def test_a_function_is_measured_without_its_documentation() -> None:
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n'
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert _lines(function) == 2
