"""A table that fits the terminal: names are shortened and columns left out, and no figure is ever cut."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

__all__ = ["FittingTable"]

SHORTEST_NAME = 12
GAP = 2
"""Between columns."""


class FittingTable:
    """The first `names` columns are names; of the others those in `to_drop` go, in this order, until the rest fits."""

    def __init__(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], names: int, to_drop: Sequence[str]
    ) -> None:
        self._title = title
        self._columns = columns
        self._rows = rows
        self._names = names
        self._to_drop = to_drop

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        kept = self._fitting(options.max_width)
        yield self._table(kept, options.max_width)
        left_out = [column for column in self._columns if column not in kept]
        if left_out:
            from rich.text import Text

            yield Text(f"a wider terminal also shows {', '.join(left_out)}", style="dim", no_wrap=True)

    def _fitting(self, room: int) -> Sequence[str]:
        kept = list(self._columns)
        for column in self._to_drop:
            if self._least(kept) <= room:
                break
            if column in kept:
                kept.remove(column)
        return kept

    def _least(self, kept: Sequence[str]) -> int:
        """The width that these columns need, with names as short as they may be."""
        names = sum(min(SHORTEST_NAME, self._width(column)) for column in kept[: self._names])
        return names + self._figures(kept) + GAP * (len(kept) - 1)

    def _figures(self, kept: Sequence[str]) -> int:
        return sum(self._width(column) for column in kept[self._names :])

    def _width(self, column: str) -> int:
        number = self._columns.index(column)
        return max(len(column), *(len(row[number]) for row in self._rows), 0)

    def _table(self, kept: Sequence[str], room: int) -> "Table":
        from rich.box import Box
        from rich.table import Table
        from rich.text import Text

        for_names = room - self._figures(kept) - GAP * (len(kept) - 1)
        line_below_head = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
        table = Table(
            title=self._title,
            title_justify="left",
            title_style="bold",
            box=line_below_head,
            show_edge=False,
            pad_edge=False,
            padding=(0, GAP - 1, 0, 0),
        )
        for number, column in enumerate(kept):
            is_name = number < self._names
            width = self._width(column)
            if is_name:
                width = min(width, max(SHORTEST_NAME, for_names - SHORTEST_NAME * (self._names - 1 - number)))
                for_names -= width
            table.add_column(column, justify="left" if is_name else "right", no_wrap=True, width=width)
        places = [self._columns.index(column) for column in kept]
        for row in self._rows:
            table.add_row(*(Text(row[place]) for place in places))
        return table
