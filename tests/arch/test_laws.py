"""The laws of the architecture that reading the source can show."""

import ast
import re
from pathlib import Path

import pytest

from tests.arch.source import PACKAGE, constants, imports, names, parsed, python_files, top

WIRE_PARTS = {"dialects", "hosts", "client", "cli", "server", "testing"}
PURE_PARTS = {"types", "errors", "operations", "core", "dialects"}
FILES = python_files("dragoman")
WIRE_FREE = tuple(path for path in FILES if top(path) not in WIRE_PARTS)
PURE = tuple(path for path in FILES if top(path) in PURE_PARTS)

BINDING_OR_VERSION = re.compile(r"JSONRPC|HTTP\+JSON|GRPC|[0-9]\.[0-9]")
WIRE_NAME = re.compile(r"v0_3|v1_0|json_?rpc|grpc|^rest$", re.IGNORECASE)
EFFECTS = {
    "aiohttp",
    "asyncio",
    "concurrent",
    "http",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "uuid",
    "uvicorn",
}
EFFECTFUL_CALLS = {"open", "print", "input", "now", "utcnow", "today", "exec", "eval"}


def _label(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", WIRE_FREE, ids=_label)
def test_versions_and_bindings_are_named_at_the_edge_only(path: Path) -> None:
    assert [text for text in constants(path) if BINDING_OR_VERSION.fullmatch(text)] == []
    assert [name for name in names(path) if WIRE_NAME.search(name)] == []


@pytest.mark.parametrize("path", PURE, ids=_label)
def test_values_rules_and_codecs_have_no_effects(path: Path) -> None:
    assert {name.split(".")[0] for name in imports(path)} & EFFECTS == set()
    for node in ast.walk(parsed(path)):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith), node.lineno
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            assert name not in EFFECTFUL_CALLS, f"line {node.lineno} calls {name}"


def _exported(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == "__all__" for target in node.targets):
            return set(ast.literal_eval(node.value))
    return None


def _defined(tree: ast.Module) -> set[str]:
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("path", FILES, ids=_label)
def test_what_a_module_defines_for_others_is_in_its_all(path: Path) -> None:
    tree = parsed(path)
    exported = _exported(tree)
    if exported is None:
        assert _defined(tree) == set(), "public definitions, but no __all__"
    else:
        assert _defined(tree) - exported == set()


@pytest.mark.parametrize("path", FILES, ids=_label)
def test_nothing_private_is_taken_from_another_module(path: Path) -> None:
    taken = [name for name in imports(path) if name.startswith("dragoman.") and name.split(".")[-1].startswith("_")]
    assert set(taken) - {"dragoman.__version__", "dragoman._proto"} == set()


def test_the_glossary_is_kept() -> None:
    vague = re.compile(r"(^|_)(utils?|helpers?|manager|common|misc)(_|$)|^(process|handle|manage)$", re.IGNORECASE)
    wrong = [_label(path) for path in FILES if vague.search(path.stem) or path.stem.startswith("base_")]
    for path in FILES:
        wrong += [
            f"{_label(path)}: {node.name}"
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and (vague.search(node.name) or re.search(r"Manager|Helper|Util", node.name))
        ]
    assert wrong == []


def test_nothing_is_left_undone() -> None:
    # Put together, so that this file does not find itself.
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, r"NotImplemented(?:Error)?\b"]))
    found: list[str] = []
    for path in python_files("dragoman", "tests", "examples", "bench"):
        if path == Path(__file__):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [f"{path.name}:{number}" for number, line in enumerate(lines, 1) if marks.search(line)]
    assert found == []
