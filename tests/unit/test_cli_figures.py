"""Figures that commands work out themselves: rates of `goqueue top`, latencies of `goqueue bench`."""

import math
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from goqueue.cli.load.latencies import Latencies
from goqueue.cli.top_figures import Frame, GroupLine, TopicLine, frame_of, parse_metrics
from goqueue.cli.top_view import Sorting, render

HEAD = """# HELP goqueue_broker_topics Topics
goqueue_broker_build_info{codec="compiled",version="9.9"} 1.0
process_start_time_seconds 50.0
goqueue_broker_topic_partitions{topic="orders"} 3.0
goqueue_broker_topic_partitions{topic="mails"} 1.0
goqueue_consumer_lag_records{group="billing",topic="orders"} 40.0
goqueue_consumer_in_flight_records{group="billing",topic="orders"} 4.0
goqueue_consumer_ready_records{group="billing",priority="critical",topic="orders"} 1.0
goqueue_consumer_ready_records{group="billing",priority="low",topic="orders"} 7.0
goqueue_consumer_paused{group="billing"} 1.0
goqueue_broker_request_seconds_bucket{kind="meta",le="+Inf"} 7.0
"""
PUBLISHED = 'goqueue_broker_published_records_total{topic="orders"} '


def test_rates_are_what_counters_gained_in_a_second() -> None:
    before = parse_metrics(HEAD + PUBLISHED + "100", at_s=100.0)
    after = parse_metrics(HEAD + PUBLISHED + "160", at_s=102.0)
    frame = frame_of(before, after)
    assert (frame.version, frame.up_s, frame.in_per_s) == ("9.9", 52.0, 30.0)
    assert {line.topic: (line.partitions, line.in_per_s) for line in frame.topics} == {
        "orders": (3, 30.0),
        "mails": (1, 0.0),
    }


def test_a_counter_that_began_anew_counts_from_nothing() -> None:
    frame = frame_of(parse_metrics(PUBLISHED + "100", 0.0), parse_metrics(PUBLISHED + "10", 1.0))
    assert frame.in_per_s == 10.0


def test_a_group_has_its_lag_lanes_and_state() -> None:
    sample = parse_metrics(HEAD, 100.0)
    (line,) = frame_of(sample, sample).groups
    assert (line.group, line.topic, line.lag, line.in_flight, line.paused) == ("billing", "orders", 40, 4, True)
    assert line.lanes == (1, 0, 0, 7, 0)


def test_names_of_topics_come_out_as_they_were() -> None:
    sample = parse_metrics('goqueue_broker_topic_partitions{topic="a\\"b\\\\c"} 1.0', 0.0)
    assert frame_of(sample, sample).topics[0].topic == 'a"b\\c'


@pytest.mark.parametrize(("sorting", "first"), [(Sorting.NAME, "mails"), (Sorting.IN, "orders")])
def test_topics_are_sorted_and_cut_to_what_fits(sorting: Sorting, first: str) -> None:
    from rich.console import Console

    frame = frame_of(parse_metrics(HEAD + PUBLISHED + "0", 0.0), parse_metrics(HEAD + PUBLISHED + "9", 1.0))
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(render(frame, "here", None, sorting=sorting, room=1))
    shown = console.export_text()
    console.file.close()
    assert first in shown and ("orders" if first == "mails" else "mails") not in shown.partition("Groups")[0]


def test_while_the_broker_is_away_the_last_frame_stays_with_a_word_about_it() -> None:
    from rich.console import Console

    frame = frame_of(parse_metrics(HEAD, 0.0), parse_metrics(HEAD, 1.0))
    with open("/dev/null", "w") as nothing:
        console = Console(width=160, record=True, file=nothing)
        console.print(render(frame, "here", "no answer", sorting=Sorting.NAME))
        console.print(render(None, "here", "no answer", sorting=Sorting.NAME))
    shown = console.export_text()
    assert shown.count("no answer; trying again") == 2
    assert "orders" in shown and "asking here" in shown


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=300), st.sampled_from([0.5, 0.99, 0.999, 1.0]))
def test_a_percentile_is_at_most_a_hundredth_too_high(samples: list[float], share: float) -> None:
    latencies = Latencies()
    for seconds in samples:
        latencies.add(seconds)
    exact = sorted(samples)[math.ceil(share * len(samples)) - 1] * 1000
    found = latencies.at_ms(share)
    assert found is not None and exact * 0.999 <= found <= exact * 1.011


def test_latencies_of_processes_add_up() -> None:
    one, other = Latencies(), Latencies()
    one.add(0.001, 99)
    other.add(1.0)
    one.merge(other.counts)
    assert one.total == 100
    assert one.at_ms(0.99) == pytest.approx(1.0, rel=0.011)
    assert one.at_ms(1.0) == pytest.approx(1000, rel=0.011)
    assert Latencies().at_ms(0.5) is None


@pytest.mark.parametrize("width", [60, 80, 120, 300])
def test_at_any_width_top_leaves_out_columns_and_cuts_no_figure(width: int) -> None:
    group = GroupLine(
        "a-group-with-a-rather-long-name",
        "payments.authorised",
        12,
        34,
        1_234_567,
        7_654,
        12_345,
        1_234,
        123_456.7,
        86_399,
        False,
        (1, 2, 3, 4, 5),
    )
    topic = TopicLine(
        "payments.authorised.of-a-region", 300, 123_456_789, 10**12, 234_567.8, 10**9, 345_678.9, 0.0, 7_654_321, 99_999
    )
    frame = Frame("0.1", 0.0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (topic,), (group,))
    console = Console(width=width, file=StringIO())
    console.print(render(frame, "here", None, sorting=Sorting.NAME))
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    for column, figure in {
        "in/s": "234,567.8",
        "out/s": "345,678.9",
        "lag": "1,234,567",
        "in flight": "12,345",
    }.items():
        assert column in shown
        assert f"{figure} " in shown or f"{figure}\n" in shown
    figures = [word for line in shown.splitlines() for word in line.split() if word[0].isdigit()]
    assert not [one for one in figures if "…" in one]
