"""Plays every column, writes docs/interop.md, and says which cells have failed: `python -m tests.interop`."""

import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.interop.columns import COLUMNS
from tests.interop.page import PAGE, page
from tests.interop.stage import Stage
from tests.interop.verdicts import FAILED, fault, verdicts


def main() -> int:
    """The number of failed cells."""
    with TemporaryDirectory() as folder, closing(Stage(Path(folder))) as stage:
        seen = {column: stage.seen(column) for column in COLUMNS}
    found = {column: verdicts(column, seen[column]) for column in COLUMNS}
    failed = [(column, name) for column in COLUMNS for name, verdict in found[column].items() if verdict == FAILED]
    for column, name in failed:
        print(f"{column}, {name}: {fault(column, name, seen[column][name])}")
    PAGE.write_text(page(found), encoding="utf-8")
    print(f"{sum(map(len, found.values()))} cells, {len(failed)} of them failed; {PAGE.name} is written.")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main() > 0)
