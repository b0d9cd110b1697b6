"""Rows of figures: printed as a table, saved as JSON with the facts of the machine."""

import json
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from goqueue import __version__, codec

__all__ = ["RESULTS", "Row", "machine_facts", "print_rows", "rounds", "row", "save_rows", "spread"]

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]


def row(
    name: str,
    values: float | Sequence[float],
    unit: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    note: str = "",
) -> Row:
    """One figure: the median of its rounds, the spread, and whether it holds its target."""
    samples = [values] if isinstance(values, int | float) else list(values)
    value = statistics.median(samples)
    made: Row = {"name": name, "value": value, "unit": unit, "low": min(samples), "high": max(samples), "note": note}
    if at_least is not None:
        made |= {"target": f"≥ {at_least:g}", "ok": value >= at_least}
    if at_most is not None:
        made |= {"target": f"≤ {at_most:g}", "ok": value <= at_most}
    return made


def rounds(count: int, *measurements: Callable[[], float]) -> list[list[float]]:
    """Measure in turns, so that a noisy minute falls on all alike; a list of samples for each measurement."""
    samples: list[list[float]] = [[] for _ in measurements]
    for _ in range(count):
        for measure, into in zip(measurements, samples, strict=True):
            into.append(measure())
    return samples


def spread(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Ratios round by round: noise that hits both sides of a round cancels out."""
    return [a / b for a, b in zip(over, under, strict=True)]


def machine_facts() -> Row:
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "goqueue": __version__,
        "codec": codec.ACTIVE,
        "load_before": os.getloadavg()[0],
    }


def print_rows(title: str, rows: Sequence[Row], console: Console) -> None:
    table = Table(title=title, title_justify="left")
    for column in ("what", "median", "lowest – highest", "unit", "target", ""):
        table.add_column(column, justify="right" if column in ("median", "lowest – highest") else "left")
    for one in rows:
        verdict = {True: "[green]holds", False: "[red]missed"}.get(one.get("ok"), "")
        bounds = f"{_short(one['low'])} – {_short(one['high'])}" if one.get("low") != one.get("high") else ""
        table.add_row(one["name"], _short(one["value"]), bounds, one["unit"], one.get("target", ""), verdict)
    console.print(table)
    for one in rows:
        if one.get("note"):
            console.print(f"  {one['name']}: {one['note']}", style="dim")


def _short(value: float) -> str:
    for limit, suffix in ((1e9, " G"), (1e6, " M"), (1e4, " K")):
        if abs(value) >= limit:
            scale = {" G": 1e9, " M": 1e6, " K": 1e3}[suffix]
            return f"{value / scale:.2f}{suffix}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def save_rows(groups: dict[str, list[Row]], facts: Row) -> Path:
    """Keep the newest figures of each group, each with when and on what they were measured."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "latest.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    for group, rows in groups.items():
        kept[group] = {"measured_at": measured_at, "machine": facts, "rows": rows}
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    return path
