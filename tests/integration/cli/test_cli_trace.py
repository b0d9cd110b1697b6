"""`goqueue trace` against a broker that traces every record."""

import re
from collections.abc import Iterator

import pytest
import yaml

from goqueue.client.sync import Admin, Producer, TopicConfig, Worker
from tests.behaviour.serving import Server, running_server
from tests.integration.cli.driver import Cli


@pytest.fixture(scope="module")
def traced(tmp_path_factory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("traced") / "broker", "[tracing]\nrate = 1.0\n") as server:
        with Admin(server.native) as admin:
            admin.create_topic("orders", 1, TopicConfig(max_attempts=1))
            admin.create_topic("silent", 1, TopicConfig(trace_rate=0.0))
        with Producer(server.native) as producer:
            producer.send("orders", b"fine", key=b"customer-1", id="order-1").result()
            producer.send("orders", b"broken", key=b"customer-2", id="order-2").result()
            producer.send("orders", b"later", key=b"customer-3", delay_ms=3_600_000).result()
            producer.send("silent", b"quiet", key=b"nobody").result()
        with Worker("orders", group="billing", bootstrap=server.native) as worker:
            for job in worker.take(2):
                if job.value == b"fine":
                    worker.ack(job)
                else:
                    worker.nack(job, reason="card \x1b[31mrefused")
        yield server


@pytest.fixture
def goqueue(traced) -> Iterator[Cli]:
    cli = Cli(traced.native)
    cli._environment["GOQUEUE_HTTP"] = traced.http
    yield cli
    cli.end()


def trace_of(goqueue, **wanted):
    options = [part for name, value in wanted.items() for part in (f"--{name}", value)]
    spans = goqueue.json("trace", "search", *options)["spans"]
    assert spans
    return spans[0]["trace_id"]


def test_the_newest_traces_are_listed_with_what_happened_in_them(goqueue):
    lines = goqueue("trace", "list").splitlines()
    failed = next(line for line in lines if "orders/0/1 " in line)
    assert re.search(r"publish consume nack dlq", failed)
    fine = next(line for line in lines if "orders/0/0 " in line)
    assert re.search(r"publish consume ack", fine)
    assert "silent" not in "".join(lines)
    assert len(goqueue.json("trace", "list", "-n", 1)["traces"]) == 1


def test_a_trace_is_drawn_as_a_waterfall_of_what_led_to_what(goqueue):
    text = goqueue("trace", "get", trace_of(goqueue, id="order-2"))
    assert re.search(r"spans, [1-9] failed", text)
    rows = text.split("\n\n", 1)[1].splitlines()
    assert [re.match(r"( *)(\S+)", row).groups() for row in rows if "█" in row][:3] == [
        ("", "publish"),
        ("  ", "consume"),
        ("    ", "nack"),
    ]
    assert "billing #1" in rows[1]
    assert any(row.strip() == r"✗ card \x1b[31mrefused" for row in rows)
    assert "\x1b" not in text
    assert all(len(row) <= 100 for row in rows)


def test_bars_begin_later_for_what_began_later(goqueue):
    text = goqueue("trace", "get", trace_of(goqueue, id="order-1"))
    starts = [row.index("█") for row in text.splitlines() if "█" in row]
    assert starts == sorted(starts)
    assert starts[0] < starts[-1]


def test_a_terminal_gets_colours_and_a_pipe_gets_none(goqueue):
    trace = trace_of(goqueue, id="order-2")
    code, shown = goqueue.on_terminal("trace", "get", trace, term="xterm-256color")
    assert code == 0
    assert "\x1b[" in shown
    assert "\x1b[31mrefused" not in shown


@pytest.mark.parametrize(
    ("options", "operations"),
    [
        (("--id", "order-1", "--operation", "publish"), {"publish"}),
        (("--status", "error", "--operation", "nack"), {"nack"}),
        (("--key", "customer-1", "--operation", "publish", "--topic", "orders", "--partition", 0), {"publish"}),
        (("--group", "billing", "--operation", "consume", "--from", "1h"), {"consume"}),
    ],
)
def test_spans_are_found_by_what_is_known_of_them(goqueue, options, operations):
    found = goqueue.json("trace", "search", *options)["spans"]
    assert {span["operation"] for span in found} == operations
    assert yaml.safe_load(goqueue("trace", "search", *options, "-o", "yaml"))["spans"] == found


def test_a_search_that_finds_nothing_says_where_else_to_look(goqueue):
    assert "goqueue pipeline traces" in goqueue("trace", "search", "--to", "30d")


@pytest.mark.parametrize("which", [("0/0",), ("--id", "order-1"), ("--key", "customer-1")])
def test_where_a_message_is_can_be_asked_by_place_id_or_key(goqueue, which):
    first, *rest = goqueue("trace", "journey", "orders", *which).splitlines()
    assert re.match(r"orders/0/0, key customer-1: published 20..-", first)
    assert any(line.startswith("Group billing: it is done") for line in rest)
    assert any("█" in line and "ack" in line for line in rest)


def test_the_journey_of_a_record_that_died_names_its_dead_letter_and_why(goqueue):
    text = goqueue("trace", "journey", "orders", "--id", "order-2")
    assert re.search(r"Group billing: it is a dead letter, at orders\.dlq/0/0", text)
    assert r"card \x1b[31mrefused" in text


def test_the_journey_of_a_delayed_record_says_until_when(goqueue):
    assert re.search(r"It is delayed until 20..-", goqueue("trace", "journey", "orders", "0/2"))


def test_the_journey_of_a_record_that_is_not_traced_is_what_the_log_knows(goqueue):
    text = goqueue("trace", "journey", "silent", "--key", "nobody")
    assert text.startswith("silent/0/0, key nobody: published")
    assert "No group has the topic" in text
    assert "It was not traced" in text


def test_statistics_say_how_much_is_traced_and_how_long_it_takes(goqueue):
    text = goqueue("trace", "stats")
    assert re.search(r"rate +100\.00% of records", text)
    assert re.search(r"publish +│ +[3-9] ", text)
    assert goqueue.json("trace", "stats")["spans_recorded"] >= 8


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("get", "abc"), 2, "is not the id of a trace"),
        (("get", "f" * 32), 1, "error:"),
        (("journey", "orders"), 2, "which record is not clear"),
        (("journey", "orders", "0/1", "--key", "k"), 2, "which record is not clear"),
        (("journey", "orders", "0/1-5"), 2, "are 5 records"),
        (("journey", "orders", "0/999"), 1, "has no record 999"),
        (("journey", "nowhere", "0/1"), 1, "nowhere"),
        (("list", "--http", "127.0.0.1:1"), 4, "hint: start one"),
        (("list", "--http", "ftp://x"), 2, "is not an HTTP address"),
    ],
)
def test_what_cannot_be_answered_is_said_with_an_exit_code(goqueue, arguments, code, says):
    done = goqueue.run("trace", *arguments)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
