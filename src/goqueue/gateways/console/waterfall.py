"""Spans as a waterfall: which stands below which, and where in time each bar begins and ends."""

from collections.abc import Sequence
from typing import NamedTuple

from goqueue.gateways.console.figures import span as long_span
from goqueue.model.span import Operation, Span

__all__ = ["Bar", "Waterfall", "took", "waterfall"]

WIDTH = 1000.0
"""Of the whole time, in units of the drawing."""
NARROWEST = 3.0
"""What takes no time at all is still to be seen."""
DEEPEST = 8
TICKS = 4
NS_PER_MS = 1_000_000

TONES = {
    Operation.PUBLISH: "accent",
    Operation.REDRIVE: "accent",
    Operation.CONSUME: "blue",
    Operation.ACK: "good",
    Operation.DELAY: "grey",
    Operation.TRANSACTION: "grey",
    Operation.NACK: "warn",
    Operation.EXPIRE: "warn",
    Operation.REJECT: "bad",
    Operation.DLQ: "bad",
}


class Bar(NamedTuple):
    """One span. `depth` is how many stand above it."""

    span: Span
    depth: int
    tone: str
    x: float
    width: float
    begins: str
    """After the first one."""
    took: str


class Waterfall(NamedTuple):
    bars: list[Bar]
    ticks: list[tuple[float, str]]
    start_ns: int
    took: str
    errors: int


def waterfall(spans: Sequence[Span]) -> Waterfall:
    """Of spans in the order in which they began; at least one."""
    start = min(span.run.start_ns for span in spans)
    end = max(span.run.end_ns for span in spans)
    whole = max(1, end - start)
    bars = [_bar(span, depth, start, whole) for span, depth in _nested(spans)]
    ticks = [(round(WIDTH * step / TICKS, 1), took(whole * step // TICKS)) for step in range(TICKS + 1)]
    return Waterfall(bars, ticks, start, took(end - start), sum(1 for span in spans if span.run.error))


def _bar(span: Span, depth: int, start: int, whole: int) -> Bar:
    run = span.run
    width = min(WIDTH, max(NARROWEST, WIDTH * max(0, run.end_ns - run.start_ns) / whole))
    x = min(WIDTH * (run.start_ns - start) / whole, WIDTH - width)
    tone = "bad" if run.error and TONES[run.operation] not in ("warn", "bad") else TONES[run.operation]
    begins, lasted = took(run.start_ns - start), took(max(0, run.end_ns - run.start_ns))
    return Bar(span, min(depth, DEEPEST), tone, round(x, 2), round(width, 2), begins, lasted)


def _nested(spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """Each below its parent. What has none here, because that is not traced or forgotten, stands on top."""
    known = {span.span_id for span in spans}
    below: dict[str, list[Span]] = {}
    for span in spans:
        parent = span.parent_id if span.parent_id in known and span.parent_id != span.span_id else ""
        below.setdefault(parent, []).append(span)
    found: list[tuple[Span, int]] = []
    seen: set[str] = set()
    left = [(span, 0) for span in reversed(below.get("", []))]
    while left:
        span, depth = left.pop()
        found.append((span, depth))
        if span.span_id not in seen:
            seen.add(span.span_id)
            left += [(child, depth + 1) for child in reversed(below.get(span.span_id, []))]
    return found


def took(nanoseconds: int) -> str:
    """850 µs, 12.3 ms, 2.5s, 1m 30s."""
    if nanoseconds < 1000:
        return f"{nanoseconds} ns" if nanoseconds else "0"
    if nanoseconds < NS_PER_MS:
        return f"{nanoseconds / 1000:.3g} µs" if nanoseconds < 999_500 else "1 ms"
    if nanoseconds < 1000 * NS_PER_MS:
        return f"{nanoseconds / NS_PER_MS:.3g} ms" if nanoseconds < 999_500_000 else "1s"
    return long_span(nanoseconds / NS_PER_MS)
