"""Spans as a waterfall."""

import pytest

from goqueue.gateways.console.waterfall import took, waterfall
from goqueue.model.span import Operation, Span, SpanRun


def span(
    name: str, parent: str, start: int, end: int, operation: Operation = Operation.CONSUME, error: str = ""
) -> Span:
    return Span("trace", name, parent, 0, SpanRun(operation, start, end, topic="orders", error=error))


def drawn(*spans: Span) -> list[tuple[str, int]]:
    return [(bar.span.span_id, bar.depth) for bar in waterfall(spans).bars]


def test_each_span_stands_below_the_one_that_caused_it_in_order_of_time() -> None:
    spans = (span("a", "", 0, 9), span("b", "a", 1, 2), span("c", "a", 3, 4), span("d", "b", 5, 6))
    assert drawn(*spans) == [("a", 0), ("b", 1), ("d", 2), ("c", 1)]


def test_a_span_whose_parent_is_not_known_stands_on_top() -> None:
    assert drawn(span("a", "elsewhere", 0, 1), span("b", "a", 2, 3)) == [("a", 0), ("b", 1)]


def test_spans_that_name_each_other_or_themselves_end() -> None:
    assert drawn(span("a", "a", 0, 1)) == [("a", 0)]
    assert drawn(span("a", "", 0, 1), span("b", "c", 1, 2), span("c", "b", 2, 3)) == [("a", 0)]


def test_bars_begin_and_end_where_their_times_are() -> None:
    fall = waterfall((span("a", "", 1000, 2000), span("b", "a", 1500, 1750)))
    assert [(bar.x, bar.width) for bar in fall.bars] == [(0, 1000), (500, 250)]
    assert fall.took == "1 µs" and fall.start_ns == 1000
    assert [x for x, _ in fall.ticks] == [0, 250, 500, 750, 1000]


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1000, 1000), (999, 1000), (10, 5)])
def test_what_takes_no_time_is_still_to_be_seen_and_stays_inside(start: int, end: int) -> None:
    bar = waterfall((span("a", "", 0, 1000), span("b", "a", start, end))).bars[1]
    assert bar.width >= 3 and bar.x >= 0 and bar.x + bar.width <= 1000


def test_failures_are_counted_and_coloured() -> None:
    fall = waterfall((span("a", "", 0, 1, Operation.PUBLISH, "refused"), span("b", "", 1, 2, Operation.NACK, "no")))
    assert (fall.errors, [bar.tone for bar in fall.bars]) == (2, ["bad", "warn"])


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        *((0, "0"), (999, "999 ns"), (1000, "1 µs"), (12_345, "12.3 µs"), (999_600, "1 ms"), (1_000_000, "1 ms")),
        *((12_340_000, "12.3 ms"), (999_600_000, "1s"), (2_500_000_000, "2.5s"), (90_000_000_000, "1m 30s")),
    ],
)
def test_lengths_of_time_are_written_in_a_unit_that_fits(nanoseconds: int, text: str) -> None:
    assert took(nanoseconds) == text
