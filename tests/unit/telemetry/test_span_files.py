import json
import resource
from base64 import b64decode
from contextlib import contextmanager

import msgspec
import pytest

from goqueue.adapters.telemetry.span_files import LOOKS_PER_FILE, SpanFiles, SpanFileSettings
from goqueue.model.contexts import pack
from goqueue.model.span import Operation, SpanRun, spans_of
from goqueue.model.trace import parse_traceparent
from tests.unit.telemetry.listening import BEGUN_NS, Listener, run_of

GIVEN = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def lines_in(folder):
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "traces"


@pytest.fixture
def files(folder, listener):
    made = SpanFiles(str(folder), SpanFileSettings(file_bytes=4096, keep_bytes=16384), listener)
    yield made
    made.close()


def test_a_run_of_ten_thousand_records_is_one_line_with_all_that_is_known_of_it(files, folder):
    assert files.send(iter([run_of(7, 10_000, transaction=3)])) == (10_000, 0)
    assert lines_in(folder) == [
        {
            "operation": "publish",
            "start_ns": BEGUN_NS,
            "end_ns": BEGUN_NS + 5000,
            "topic": "orders",
            "created_ns": BEGUN_NS,
            "partition": 2,
            "offset": 7,
            "count": 10_000,
            "status": "ok",
            "transaction": 3,
        }
    ]


def test_the_line_of_one_record_names_its_spans(files, folder):
    run = SpanRun(
        Operation.NACK,
        *(BEGUN_NS, BEGUN_NS, "orders", BEGUN_NS, 0, 4),
        group="billing",
        delivery=2,
        error="card refused",
        member="m-1",
        key=b"k\xc3\xa4",
        id="order-4",
        context=parse_traceparent(GIVEN),
        target="orders.dlq/0/1",
    )
    files.send(iter([run, msgspec.structs.replace(run, key=b"\xff")]))
    first, second = lines_in(folder)
    (span,) = spans_of(run)
    assert (first["trace_id"], first["span_id"], first["parent_id"]) == (span.trace_id, span.span_id, span.parent_id)
    assert first.items() >= {
        ("status", "error"),
        ("error", "card refused"),
        ("group", "billing"),
        ("delivery", 2),
        ("member", "m-1"),
        ("key", "kä"),
        ("id", "order-4"),
        ("context", GIVEN.decode()),
        ("target", "orders.dlq/0/1"),
    }
    assert ("key" in second, second["key_base64"]) == (False, "/w==")


def test_the_trace_state_of_records_is_in_their_lines(files, folder):
    one = parse_traceparent(GIVEN)._replace(state="vendor=1")
    several = pack([(0, one), (2, one), (5, parse_traceparent(GIVEN)), (7, one._replace(state="a=b"))])
    single = SpanRun(Operation.PUBLISH, BEGUN_NS, BEGUN_NS, "orders", BEGUN_NS, 0, 4, context=one)
    files.send(iter([single, msgspec.structs.replace(single, count=4, context=None, contexts=several)]))
    first, second = lines_in(folder)
    assert (first["context"], first["tracestate"]) == (GIVEN.decode(), "vendor=1")
    assert second["tracestates"] == {"vendor=1": [0, 2], "a=b": [7]}
    assert b64decode(second["contexts"]) == several.entries
    assert "tracestate" not in second
    assert "tracestates" not in first


def test_a_file_is_there_for_readers_at_once_and_gets_its_last_name_when_it_is_complete(files, folder):
    files.send(iter([run_of(0)]))
    assert files_in(folder) == [f"spans-{BEGUN_NS + 5000:020d}.jsonl.open"]
    assert len(lines_in(folder)) == 1
    files.close()
    assert files_in(folder) == [f"spans-{BEGUN_NS + 5000:020d}.jsonl"]


def test_a_small_file_is_complete_after_a_while(files, folder):
    for _ in range(LOOKS_PER_FILE):
        assert files_in(folder)[0].endswith(".open") if folder.exists() else True
        files.send(iter([] if folder.exists() else [run_of(0)]))
    files.send(iter([]))
    assert [name.rpartition(".")[2] for name in files_in(folder)] == ["jsonl"]


def test_large_files_are_followed_by_new_ones_and_the_oldest_are_removed(files, folder):
    for number in range(400):
        files.send(iter([run_of(number, after_s=number)]))
    files.close()
    sizes = [path.stat().st_size for path in sorted(folder.iterdir())]
    assert sum(sizes) <= 16384
    assert max(sizes) < 4096 + 300
    offsets = [line["offset"] for line in lines_in(folder)]
    assert offsets == list(range(offsets[0], 400))
    assert offsets[0] > 0


def test_files_keep_their_order_when_the_clock_is_set_back(files, folder):
    for number in range(45):
        files.send(iter([run_of(number, after_s=1000 - number)]))
    assert len(files_in(folder)) > 2
    assert [line["offset"] for line in lines_in(folder)] == list(range(45))


def test_what_is_not_a_file_of_spans_is_left_alone(files, folder):
    folder.mkdir()
    (folder / "spans-notes.jsonl").write_text("mine" * 10_000)
    (folder / "other.txt").write_text("mine")
    for number in range(200):
        files.send(iter([run_of(number)]))
    assert {"spans-notes.jsonl", "other.txt"} <= set(files_in(folder))


def test_a_folder_that_cannot_be_written_is_told_of_once_and_tried_again(files, folder, listener):
    folder.write_text("in the way")
    assert files.send(iter([run_of(0, 5)])) == (0, 5)
    assert files.send(iter([run_of(5, 2)])) == (0, 2)
    assert len(listener.said) == 1
    folder.unlink()
    assert files.send(iter([run_of(7)])) == (1, 0)
    assert listener.events == [
        "spans cannot be written; they are dropped until they can",
        "spans are written again",
    ]


@contextmanager
def room_for(size):
    """Files cannot grow beyond this, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_cuts_no_line_and_writing_goes_on_when_there_is_room(files, folder, listener):
    files.send(iter([run_of(0)]))
    with room_for(1000):
        sent, failed = files.send(run_of(number) for number in range(1, 10))
    assert (sent, failed) == (0, 9)
    assert files.send(iter([run_of(10)])) == (1, 0)
    assert [line["offset"] for line in lines_in(folder)] == [0, 10]
    assert len(listener.said) == 2


def test_a_folder_that_is_taken_away_is_made_again_with_the_next_file(files, folder):
    files.send(iter([run_of(0)]))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    files.close()
    assert files.send(iter([run_of(1)])) == (1, 0)
    assert [line["offset"] for line in lines_in(folder)] == [1]
