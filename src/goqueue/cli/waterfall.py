"""A trace as a waterfall: what led to what by indentation, when and for how long by bars."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

__all__ = ["duration_text", "instant_in_ns", "one_line", "print_waterfall"]

MOST_ROWS = 500
PIPE_WIDTH = 100
NARROWEST_BAR = 10
LABEL_SHARE = 0.5
GAP = "  "
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


class Row(NamedTuple):
    """One span, with when it began and ended, counted from the beginning of the trace."""

    depth: int
    span: Mapping[str, Any]
    begin_ns: int
    end_ns: int


def print_waterfall(spans: Sequence[Mapping[str, Any]]) -> None:
    """Colours only on a terminal; elsewhere lines of a fixed width."""
    is_terminal = sys.stdout.isatty()
    console = Console(highlight=False, soft_wrap=True, width=None if is_terminal else PIPE_WIDTH)
    rows = list(_rows(spans))
    for line in _lines(rows[:MOST_ROWS], console.width):
        console.print(line)
    if len(rows) > MOST_ROWS:
        console.print(f"and {len(rows) - MOST_ROWS:,} more; -o json has all of them")


def _rows(spans: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Parents before their children, siblings in the order in which they began."""
    known = {span["span_id"] for span in spans}
    children: dict[str | None, list[Mapping[str, Any]]] = {}
    for span in sorted(spans, key=lambda one: (one["start"], one["end"])):
        parent = span.get("parent_id")
        children.setdefault(parent if parent in known else None, []).append(span)
    origin_ns = min((instant_in_ns(span["start"]) for span in spans), default=0)
    waiting = [(0, span) for span in reversed(children.pop(None, []))]
    while waiting:
        depth, span = waiting.pop()
        begin_ns = instant_in_ns(span["start"]) - origin_ns
        yield Row(depth, span, begin_ns, begin_ns + span["duration_ns"])
        waiting += [(depth + 1, child) for child in reversed(children.pop(span["span_id"], []))]


def _lines(rows: Sequence[Row], width: int) -> Iterator[Text]:
    labels = [_label(row) for row in rows]
    whole_ns = max((row.end_ns for row in rows), default=0)
    longest = min(max(map(len, labels), default=0), int(width * LABEL_SHARE))
    after = max((len(duration_text(row.begin_ns)) + 1 for row in rows), default=0)
    took = max((len(duration_text(row.end_ns - row.begin_ns)) for row in rows), default=0)
    room = max(NARROWEST_BAR, width - longest - after - took - 3 * len(GAP))
    for row, label in zip(rows, labels, strict=True):
        is_error = row.span["status"] == "error"
        style = "red" if is_error else "green"
        line = Text(one_line(label, longest).ljust(longest) + GAP, style="bold red" if is_error else "")
        line.append(f"+{duration_text(row.begin_ns)}".rjust(after) + GAP, style="dim")
        line.append(_bar(row, whole_ns, room), style=style)
        line.append(GAP + duration_text(row.end_ns - row.begin_ns).rjust(took))
        yield line
        if is_error:
            yield Text(one_line(f"{'  ' * (row.depth + 1)}✗ {row.span.get('error', 'failed')}", width), style="red")


def _label(row: Row) -> str:
    span = row.span
    parts = [span["operation"]]
    if "topic" in span:
        place = f"/{span['offset']}" if "offset" in span else ""
        parts.append(f"{span['topic']}/{span['partition']}{place}")
    if "group" in span:
        parts.append(span["group"] + (f" #{span['delivery']}" if "delivery" in span else ""))
    if "target" in span:
        parts.append(f"→ {span['target']}")
    if "transaction" in span:
        parts.append(f"in transaction {span['transaction']}" if "topic" in span else str(span["transaction"]))
    return "  " * row.depth + " ".join(parts)


def _bar(row: Row, whole_ns: int, room: int) -> str:
    """At least one cell, so that what took no time is seen as well."""
    if not whole_ns:
        return "█".ljust(room)
    first = min(row.begin_ns * room // whole_ns, room - 1)
    last = max(first + 1, min(room, -(-row.end_ns * room // whole_ns)))
    return (" " * first + "█" * (last - first)).ljust(room)


def duration_text(duration_ns: int) -> str:
    """Three digits or more, in the unit in which they say most."""
    if duration_ns >= 120_000_000_000:
        minutes, seconds = divmod(duration_ns // 1_000_000_000, 60)
        return f"{minutes // 60}h{minutes % 60:02d}m" if minutes >= 60 else f"{minutes}m{seconds:02d}s"
    for size, unit in _UNITS:
        if duration_ns >= size:
            return (
                f"{duration_ns / size:.3g} {unit}" if duration_ns < 1000 * size else f"{duration_ns / size:.0f} {unit}"
            )
    return f"{duration_ns} ns" if duration_ns else "0"


def instant_in_ns(text: str) -> int:
    """All nine digits count, which is more than a datetime has."""
    moment, _, rest = text.rstrip("Z").partition(".")
    since = datetime.fromisoformat(moment + "+00:00") - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + int(rest.ljust(9, "0")[:9] or 0)


def one_line(text: str, width: int) -> str:
    """What others have written must not steer a terminal."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[: width + 1])
    return plain if len(plain) <= width else plain[: max(0, width - 1)] + "…"
