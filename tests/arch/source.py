"""The project's Python files, read but not imported."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "constants", "functions", "imports", "names", "parsed", "python_files", "top"]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dragoman"


def python_files(*folders: str) -> tuple[Path, ...]:
    """All Python files under these folders of the project, generated ones left out."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(path for path in found if "_proto" not in path.parts))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def top(path: Path) -> str:
    """The package or module right under `dragoman` that the file belongs to; empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def imports(path: Path) -> Iterator[str]:
    """Dotted names of all that the file imports, wherever in the file, with the names taken from packages."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def names(path: Path) -> Iterator[str]:
    """Every identifier in the file: defined, used, imported, or given as keyword."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case _:
                pass


def constants(path: Path) -> Iterator[str]:
    """Every string in the file, those left out that stand alone as documentation."""
    prose = {id(node.value) for node in ast.walk(parsed(path)) if isinstance(node, ast.Expr)}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
