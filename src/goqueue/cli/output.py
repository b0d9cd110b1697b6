"""Print an answer as a table for people, or as JSON or YAML for programs."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

__all__ = ["OUTPUT_HELP", "Output", "OutputOption", "print_answer", "print_table", "to_yaml"]

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


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: str = "") -> None:
    """Print rows under a title; columns whose names are in `numbers` are aligned to the right."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    right = set(numbers.split(","))
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    console = Console(highlight=False)
    if not sys.stdout.isatty():
        # Whoever reads it from a pipe wants a row to be one line.
        wide = Console(width=10_000)
        console = Console(highlight=False, width=max(1, Measurement.get(wide, wide.options, table).maximum))
    console.print(table)
