"""The figures of all rounds, and what they come to."""

from collections import defaultdict
from statistics import median

__all__ = ["Figures", "Target"]


class Target:
    """What one line must reach: a ratio of two columns, or a figure alone, over or under a limit."""

    def __init__(
        self, text: str, measure: str, column: str, *, over: str = "", at_least: float = 0, below: float = 0
    ) -> None:
        self.text, self.measure, self.column, self.over = text, measure, column, over
        self.at_least, self.below = at_least, below

    def verdict(self, value: float) -> str:
        met = value >= self.at_least if self.at_least else value <= self.below
        return "pass" if met else "MISS"


class Figures:
    """One value for each measure, column and round. A ratio is the median of the ratios within the rounds."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, measure: str, column: str, value: float) -> None:
        self._values[measure, column].append(value)

    def median(self, measure: str, column: str) -> float | None:
        values = self._values.get((measure, column))
        return median(values) if values else None

    def ratio(self, measure: str, column: str, over: str) -> float | None:
        """`over` is a column of the same measure, or `measure/column`."""
        base, _, column_of_base = over.partition("/")
        other = (base, column_of_base) if column_of_base else (measure, over)
        ours, theirs = self._values.get((measure, column)), self._values.get(other)
        if not ours or not theirs:
            return None
        return median(mine / base for mine, base in zip(ours, theirs, strict=False))

    def print(self, rows: dict[str, str], columns: list[str], targets: tuple[Target, ...]) -> None:
        """The table, one line per measure, then one line per target."""
        print(f"\n{'':40}" + "".join(f"{column:>12}" for column in columns))
        for measure, unit in rows.items():
            shown = [self.median(measure, column) for column in columns]
            if any(value is not None for value in shown):
                cells = "".join(f"{'' if value is None else _short(value):>12}" for value in shown)
                print(f"{measure + ', ' + unit:40}{cells}")
        print()
        for target in targets:
            value = (
                self.ratio(target.measure, target.column, target.over)
                if target.over
                else self.median(target.measure, target.column)
            )
            if value is not None:
                print(f"{target.text:76}{_short(value):>10}  {target.verdict(value)}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
