"""Print an answer as a table for people, or as JSON or YAML for programs."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

__all__ = ["OUTPUT_HELP", "Output", "OutputOption", "print_answer", "print_table", "to_yaml"]

SHORTEST_TEXT = 12
"""No column of a table is folded to less where leaving out others helps."""
FRAME = 3
"""A line and two spaces, beside each column of a table."""

# Words and numbers that YAML would not read as something other than the text they are.
_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|nan|y|n)$)[A-Za-z_/][\w./+-]*", re.ASCII | re.IGNORECASE)


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OUTPUT_HELP = "How to print the answer."

OutputOption = Annotated[Output, typer.Option("--output", "-o", help=OUTPUT_HELP)]


def print_answer(answer: Any, output: Output, as_table: Callable[[], None]) -> None:
    """Print anything msgspec can encode, or let the caller print its tables."""
    if output is Output.TABLE:
        as_table()
        return
    import msgspec

    plain = msgspec.to_builtins(answer)
    print(to_yaml(plain) if output is Output.YAML else json.dumps(plain, indent=2, ensure_ascii=False))


def to_yaml(value: Any, depth: int = 0) -> str:
    """Enough YAML for plain data: block style for what has parts, JSON's quotes for text that needs them."""
    margin = "  " * depth
    if isinstance(value, dict) and value:
        return "\n".join(f"{margin}{_scalar(str(key))}:{_after_key(part, depth)}" for key, part in value.items())
    if isinstance(value, list | tuple) and value:
        return "\n".join(f"{margin}-{_after_dash(part, depth)}" for part in value)
    return margin + _scalar(value)


def _after_key(value: Any, depth: int) -> str:
    if isinstance(value, dict | list | tuple) and value:
        return "\n" + to_yaml(value, depth + 1)
    return f" {_scalar(value)}"


def _after_dash(value: Any, depth: int) -> str:
    if isinstance(value, dict | list | tuple) and value:
        return " " + to_yaml(value, depth + 1).lstrip()
    return f" {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        # To YAML a number without a point is no fraction, whatever its exponent.
        return text if "." in text else text.replace("e", ".0e")
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: str = "",
    whole: str = "",
    to_drop: str = "",
) -> None:
    """Print rows under a title; columns whose names are in `numbers` are aligned to the right.

    On a terminal that is too narrow, texts are folded, but no figure and nothing in a column of `whole`; the columns
    of `to_drop` are left out, in this order, until the rest fits.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    figures = set(numbers.split(","))
    unfolded = figures | set(whole.split(","))
    lines = [["" if cell is None else str(cell) for cell in row] for row in rows]
    console = Console(highlight=False)
    widths = [_least_width(name, [line[at] for line in lines], name in unfolded) for at, name in enumerate(columns)]
    is_terminal = sys.stdout.isatty()
    kept = _fitting(columns, widths, to_drop.split(","), console.width) if is_terminal else range(len(columns))
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for at in kept:
        table.add_column(columns[at], justify="right" if columns[at] in figures else "left", overflow="fold")
    for line in lines:
        table.add_row(*(Text(line[at]) for at in kept))
    needed = Measurement.get(wide := Console(width=10_000), wide.options, table).maximum
    if not is_terminal:
        # Whoever reads it from a pipe wants a row to be one line.
        console = Console(highlight=False, width=max(1, needed))
    elif needed > console.width:
        for column, at in zip(table.columns, kept, strict=True):
            column.width = widths[at] if columns[at] in unfolded else None
    console.print(table)
    left_out = [name for at, name in enumerate(columns) if at not in kept]
    if left_out:
        console.print(Text(f"a wider terminal, and -o json, also show {', '.join(left_out)}", style="dim"))


def _least_width(name: str, cells: Sequence[str], is_unfolded: bool) -> int:
    """Of a column, whose title may be folded between words."""
    from rich.cells import cell_len

    widest = max(map(cell_len, cells), default=0)
    return max(widest if is_unfolded else min(widest, SHORTEST_TEXT), *map(cell_len, name.split()), 0)


def _fitting(columns: Sequence[str], widths: Sequence[int], to_drop: Sequence[str], room: int) -> Sequence[int]:
    """The places of the columns that are kept."""
    kept = list(range(len(columns)))
    for name in to_drop:
        if sum(widths[at] + FRAME for at in kept) + 1 <= room:
            break
        if name in columns:
            kept.remove(columns.index(name))
    return kept
