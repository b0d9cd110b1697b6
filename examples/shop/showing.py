"""What is on the screen? One line for each act, with what happened and how long it took; at the end a summary."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.shop.day import Day, checks_of
from examples.shop.opening import Address

__all__ = ["Act", "Screen"]

GREEN, RED, DIM, BOLD = "green", "red", "dim", "bold"


class Act:
    """What is told of it when it is over."""

    def __init__(self) -> None:
        self.told = ""
        self.was_left_out = False

    def tell(self, text: str) -> None:
        self.told = text

    def leave_out(self, why: str) -> None:
        self.told, self.was_left_out = why, True


class Screen:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._acts = 0
        self._began = time.monotonic()

    def begin(self, folder: Path) -> None:
        self._console.print()
        self._console.print(Text("  A day at the shop", BOLD), Text("on GoQueue, in under three minutes", DIM))
        self._console.print(Text(f"  everything is in {folder}, which is fresh", DIM))
        self._console.print()

    @contextmanager
    def act(self, title: str, doing: str) -> Iterator[Act]:
        """While it lasts, what is done; then one line that stays."""
        self._acts += 1
        act, began = Act(), time.monotonic()
        with self._console.status(Text(f"{title}: {doing}", DIM), spinner="dots"):
            yield act
        mark = Text("–", "yellow") if act.was_left_out else Text("✓", GREEN)
        line = Table.grid(padding=(0, 1), expand=False)
        line.add_column(width=4, justify="right")
        line.add_column(width=1)
        line.add_column(width=13)
        line.add_column(width=max(40, min(self._console.width, 120) - 32))
        line.add_column(justify="right", width=7)
        took = Text(f"{time.monotonic() - began:.1f} s", DIM)
        line.add_row(Text(f"{self._acts}", DIM), mark, Text(title, BOLD), act.told, took)
        self._console.print(line)

    def end(self, day: Day, shop: Address, page: Path) -> None:
        ends = Table.grid(padding=(0, 2))
        ends.add_column(justify="right", style=BOLD)
        for count, what in (
            (day.placed, "orders were placed"),
            (len(day.books.paid), f"are paid, € {day.books.cents / 100:,.2f} in all"),
            (len(day.cancelled), "were cancelled before the sale began"),
            (len(day.held), "wait for a person, among the dead letters"),
        ):
            ends.add_row(f"{count:,}", what)
        checks = Table.grid(padding=(0, 2))
        for check in checks_of(day):
            mark = Text("✓", GREEN) if check.holds else Text("✗", RED)
            checks.add_row(mark, check.what, Text(f"{check.found:,}", DIM))
        took = Text(f"{time.monotonic() - self._began:.0f} s", DIM)
        self._console.print()
        self._console.print(Panel(Group(ends, "", checks), title="the day in numbers", subtitle=took, expand=False))
        self._console.print()
        self._console.print(f"  [bold]report[/]   {page}", soft_wrap=True)
        self._console.print(f"  [bold]console[/]  {shop.console}", soft_wrap=True)

    def wait(self) -> None:
        self._console.print("  [dim]The broker goes on. Look around in the console; Ctrl-C ends it.[/]")

    def bye(self, folder: Path) -> None:
        self._console.print(f"\n  [dim]The broker has stopped. Everything is still in {folder}.[/]")

    def complain(self, text: str) -> None:
        self._console.print(f"  [red]{text}[/]")
