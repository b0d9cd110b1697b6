"""Tables that commands print, on terminals of 80 columns and less, and into pipes."""

import re

import pytest

from goqueue.cli.output import print_table
from goqueue.cli.queue_views import print_reliability
from goqueue.cli.topic_views import TopicFigures, print_topics
from goqueue.cli.trace_views import print_traces
from goqueue.model.topic import TopicConfig

STYLES = re.compile(r"\x1b\[[0-9;]*m")
TOPICS = [
    TopicFigures("orders", 12, 123_456_789, 98_765_432_109, 12_345.6, TopicConfig()),
    TopicFigures("a-topic-whose-name-is-longer-than-most", 3, 1, None, 0.0, TopicConfig()),
]
STATS = {
    "group": "billing",
    "topic": "orders",
    "in_flight": 1_234,
    "waiting_for_retry": 5_678,
    "deferred": 0,
    "acked": 123_456_789,
    "nacked": 23,
    "rejected": 45,
    "expired": 67,
    "dead_lettered": 89,
    "ready": 7_654_321,
    "lag": 7_661_233,
    "delayed": 17,
    "workers": 12,
}
TRACE = {
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    "start": "2026-11-19T23:06:57.897123456Z",
    "duration_ns": 21_000,
    "spans": 12,
    "errors": 1,
    "first": {"topic": "orders", "partition": 0, "offset": 17},
    "operations": ["publish", "consume", "ack"],
}


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Prints on a terminal of so many columns; what appears is a list of lines."""

    def printed(columns, show):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        show()
        return STYLES.sub("", capsys.readouterr().out).splitlines()

    return printed


@pytest.mark.parametrize("columns", [70, 80, 100])
def test_a_list_of_topics_cuts_no_figure_on_a_narrow_terminal(terminal, columns):
    lines = terminal(columns, lambda: print_topics(TOPICS))
    assert max(map(len, lines)) <= columns
    (line,) = (line for line in lines if "orders" in line)
    assert "123,456,789" in line and "92.0 GiB" in line and "12,345.6" in line
    assert "a wider terminal, and -o json, also show" in " ".join(lines) and "max size" in " ".join(lines[-2:])


def test_a_list_of_topics_has_all_columns_where_there_is_room(terminal):
    lines = terminal(130, lambda: print_topics(TOPICS))
    assert any("max size" in line and "durability" in line for line in lines)
    assert not any("wider terminal" in line for line in lines)


def test_figures_of_queues_are_whole_on_80_columns_and_those_that_tell_least_are_left_out(terminal):
    lines = terminal(80, lambda: print_reliability([STATS]))
    (line,) = (line for line in lines if "billing" in line)
    assert "1,234" in line and "7,654,321" in line and "7,661,233" in line and "5,678" in line
    assert any("also show" in line and "deferred" in line for line in lines)


def test_the_id_of_a_trace_can_be_copied_on_80_columns(terminal):
    lines = terminal(80, lambda: print_traces([TRACE]))
    assert any(TRACE["trace_id"] in line and "orders/0" in line for line in lines)


def test_texts_are_folded_and_not_left_out(terminal):
    value = "a value that is much longer than the terminal is wide"
    lines = terminal(40, lambda: print_table("T", ("offset", "value"), [(123_456_789, value)], numbers="offset"))
    words = " ".join(line.split("│")[2].strip() for line in lines if line.startswith("│"))
    assert words.replace(" ", "") == value.replace(" ", "")


def test_a_pipe_has_all_columns_and_a_line_for_each_row(capsys):
    print_reliability([STATS])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "billing" in line)
    assert line.count("│") == len(STATS) + 1
