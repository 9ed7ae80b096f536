"""Configuration files: `.env` lines of which only those that begin with `A2ACLI_` count."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["GLOBAL_FILE", "PREFIX", "nearest", "read"]

PREFIX = "A2ACLI_"
GLOBAL_FILE = Path(".config/a2a-cli/.env")
"""Relative to the home directory."""


def read(path: Path) -> Mapping[str, str]:
    """The variables of this program in a file; what belongs to others is skipped, and nothing is exported.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    pairs = (_pair(line) for line in path.read_text("utf-8").splitlines())
    return {name: value for name, value in pairs if name.startswith(PREFIX)}


def nearest(start: Path) -> Path | None:
    """The `.env` in `start` or the closest directory above it."""
    for directory in (start, *start.parents):
        candidate = directory / ".env"
        if candidate.is_file():
            return candidate
    return None


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.strip().removeprefix("export ").partition("=")
    return name.strip(), _unquoted(value.strip())


def _unquoted(value: str) -> str:
    quote = value[:1]
    if quote and quote in "'\"":
        end = value.find(quote, 1)
        return value[1:end] if end > 0 else value
    return value.split(" #", 1)[0].rstrip()
