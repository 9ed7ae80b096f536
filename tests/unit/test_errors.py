"""The error tree is what its description says."""

import inspect
import re

from dragoman import errors
from dragoman.errors import DragomanError


def drawn(tree: str) -> dict[str, str]:
    """The classes in a drawn tree, each with the one above it."""
    above: dict[str, str] = {}
    row: list[str] = []
    for line in tree.splitlines():
        marks, names = re.match(r"((?:[|`]   |[|`]-- |    )*)(.*)", line.removeprefix("    ")).groups()  # type: ignore[union-attr]  # it matches everything
        classes = re.findall(r"[A-Z]\w+", names.partition("  ")[0])
        row = [*row[: len(marks) // 4], classes[0]]
        above.update(dict.fromkeys(classes, row[-2] if len(row) > 1 else "Exception"))
    return above


def test_the_tree_is_drawn_as_it_is() -> None:
    tree = (errors.__doc__ or "").split("\n\n")[1]
    classes = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, DragomanError) and kind.__module__ == errors.__name__
    ]
    assert drawn(tree) == {kind.__name__: kind.__bases__[0].__name__ for kind in classes}
