"""`goqueue produce` against a running broker."""

import json
import signal
from pathlib import Path

from goqueue.client import TopicConfig
from tests.integration.cli.driver import SECONDS, Cli, Inside


def test_arguments_become_records_with_what_the_flags_say(goqueue: Cli, inside: Inside, wide_topic: str) -> None:
    flags = ("--key", "k", "--header", "a=1", "--header", "b=2=3", "--partition", 2, "--priority", 0)
    done = goqueue.run("produce", wide_topic, "x", "y", *flags)
    assert done == (0, "", f"wrote 2 records to {wide_topic}\n")
    found = inside.messages(wide_topic)
    assert [(one.value, one.key, one.partition, one.priority) for one in found] == [
        (b"x", b"k", 2, 0),
        (b"y", b"k", 2, 0),
    ]
    assert {one.headers for one in found} == {(("a", b"1"), ("b", b"2=3"))}


def test_every_line_is_a_record_whatever_is_in_it(goqueue: Cli, inside: Inside, topic: str, tmp_path: Path) -> None:
    goqueue("produce", topic, stdin=b"one\n\n\xff\x00 two\nlast")
    file = tmp_path / "lines"
    file.write_bytes(b"from a file\n")
    goqueue("produce", topic, "--file", file)
    assert inside.values(topic) == [b"one", b"", b"\xff\x00 two", b"last", b"from a file"]


def test_a_line_without_the_separator_is_named_and_the_others_are_written(
    goqueue: Cli, inside: Inside, topic: str
) -> None:
    done = goqueue.run("produce", topic, "--key-separator", "::", stdin="a::1\nnothing\n::2\nb::3::4\n")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: line 2: there is no '::' between key and value\nwrote 3 records to {topic}; 1 could not be written\n"
    )
    found = [(one.key, one.value) for one in inside.messages(topic)]
    assert found == [(b"a", b"1"), (b"", b"2"), (b"b", b"3::4")]


def test_json_lines_can_say_everything_about_a_record(goqueue: Cli, inside: Inside, wide_topic: str) -> None:
    lines = [
        {"key": "k", "value": "text", "headers": {"h": ["1", "2"]}, "partition": 0, "priority": "high"},
        {"key": None, "value": None, "partition": 0},
        {"value": {"base64": "/wA="}, "partition": 1, "priority": 4},
        {"value": {"nested": [1.50]}, "partition": 2},
    ]
    goqueue("produce", wide_topic, "--format", "jsonl", "--key", "d", stdin="\n".join(map(json.dumps, lines)))
    text, deletion, binary, nested = inside.messages(wide_topic)
    assert (text.key, text.value, text.headers, text.priority) == (b"k", b"text", (("h", b"1"), ("h", b"2")), 1)
    assert (deletion.key, deletion.value, deletion.partition) == (None, None, 0)
    assert (binary.key, binary.value, binary.partition, binary.priority) == (b"d", b"\xff\x00", 1, 4)
    assert (nested.value, nested.headers) == (b'{"nested": [1.5]}', (("content-type", b"application/json"),))


def test_what_consume_prints_produce_can_write(goqueue: Cli, inside: Inside, wide_topic: str) -> None:
    for key in (b"a", b"b", b"", None):
        inside.publish(wide_topic, b"1", b"\xfe", b'{"a": "b"}', key=key, headers=(("x", b"y"), ("z", b"\xff")))
    copy = inside.new_topic(partitions=3)
    goqueue("produce", copy, "--format", "jsonl", stdin=goqueue("consume", wide_topic, "--format", "jsonl"))
    copied, original = inside.messages(copy), inside.messages(wide_topic)
    assert [one._replace(topic="", timestamp_ns=0) for one in copied] == [
        one._replace(topic="", timestamp_ns=0) for one in original
    ]


def test_a_record_with_a_known_id_is_not_written_again(goqueue: Cli, inside: Inside, topic: str) -> None:
    lines = [json.dumps({"value": number, "id": name}) for number, name in enumerate(("a", "b", "a"))]
    done = goqueue.run("produce", topic, "--format", "jsonl", stdin="\n".join(lines))
    assert done == (0, "", f"wrote 2 records to {topic}; 1 were there before\n")
    assert inside.values(topic) == [b"0", b"1"]


BAD_LINES = (
    '{"key": "no value"}',
    '{"value": "x", "colour": 1}',
    '{"value": "x", "partition": 7}',
    '{"value": "x", "priority": 9}',
    "[1]",
    "{",
    '{"value": "',
)


def test_bad_json_lines_are_named(goqueue: Cli, inside: Inside, topic: str) -> None:
    lines = ('{"value": "fine"}', *BAD_LINES, '{"value": "also fine"}')
    done = goqueue.run("produce", topic, "--format", "jsonl", stdin="\n".join(lines))
    assert done.code == 1
    *errors, summary = done.err.splitlines()
    assert [line.split(": ")[1] for line in errors] == [f"line {number}" for number in range(2, 2 + len(BAD_LINES))]
    assert summary == f"wrote 2 records to {topic}; {len(BAD_LINES)} could not be written"
    assert inside.values(topic) == [b"fine", b"also fine"]


def test_a_record_over_the_limit_fails_alone(goqueue: Cli, inside: Inside) -> None:
    topic = inside.new_topic(config=TopicConfig(max_value_bytes=10))
    done = goqueue.run("produce", topic, stdin="small\n" + 11 * "x" + "\nalso small\n")
    assert done.code == 1
    assert "error: line 2: a value of 11 bytes" in done.err
    assert inside.values(topic) == [b"small", b"also small"]


def test_the_report_tells_what_became_of_the_records(goqueue: Cli, topic: str) -> None:
    report = goqueue.json("produce", topic, "--rate", "20/s", stdin="line\n" * 10)
    assert report["seconds"] >= 0.4
    assert (report["written"], report["failed"], report["interrupted"]) == (10, 0, False)
    assert report["partitions"] == [{"partition": 0, "records": 10, "first_offset": 0, "last_offset": 9}]


def test_however_it_is_sent_the_value_is_the_same(goqueue: Cli, inside: Inside, topic: str) -> None:
    ways = (("--compression", "zstd"), ("--compression", "lz4", "--durability", "memory"), ("--acks", "none"))
    for flags in ways:
        goqueue("produce", topic, 500 * "abc", *flags)
    assert inside.values(topic) == [500 * b"abc"] * len(ways)


def test_a_long_input_arrives_whole_and_in_order(goqueue: Cli, inside: Inside, topic: str) -> None:
    lines = [b"%d" % number for number in range(30_000)]
    done = goqueue.run("produce", topic, stdin=b"\n".join(lines))
    assert (done.code, done.err.startswith(f"wrote 30,000 records to {topic}")) == (0, True)
    assert inside.values(topic) == lines


def test_an_interruption_keeps_what_was_read(goqueue: Cli, inside: Inside, topic: str) -> None:
    process = goqueue.start("produce", topic)
    assert process.stdin is not None
    process.stdin.write(b"read before\n")
    while not inside.values(topic):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err.decode()) == (130, f"wrote 1 record to {topic}/0 at offset 0\n")


def test_at_a_terminal_the_lines_are_typed(goqueue: Cli, inside: Inside, topic: str) -> None:
    code, shown = goqueue.on_terminal("produce", topic, typed="hello\nworld\n\x04")
    assert code == 0
    assert f"wrote 2 records to {topic}" in shown
    assert inside.values(topic) == [b"hello", b"world"]


def test_a_long_file_has_a_progress_bar(goqueue: Cli, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(3000 * b"x\n")
    code, shown = goqueue.on_terminal("produce", topic, "--file", file, "--rate", "1500/s", term="xterm")
    assert (code, "%" in shown, shown.endswith("/s\r\n")) == (0, True, True)


def test_a_topic_that_does_not_exist_is_found_out_before_anything_is_read(goqueue: Cli) -> None:
    process = goqueue.start("produce", "nowhere")
    assert process.stderr is not None
    # Standard input stays open, and nothing is written to it.
    assert process.wait(SECONDS) == 1
    assert process.stderr.read().decode().splitlines()[0] == "error: there is no topic nowhere"
