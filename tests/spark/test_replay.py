import json
import re
from datetime import UTC, datetime

import pytest

from goqueue.cli.main import main
from goqueue.errors import InvalidRequest, UnknownTopic
from goqueue.spark.pipelines import replay
from goqueue.spark.pipelines.stretches import matching, stretch_of


@pytest.fixture
def numbers(admin, producer, topic):
    """Forty records of four keys, in the order of their numbers, and a topic for copies."""
    admin.create_topic(f"{topic}-copy", 3)
    for number in range(40):
        value = json.dumps({"n": number, "kind": "even" if number % 2 == 0 else "odd"}).encode()
        producer.send(topic, value, key=b"key-%d" % (number % 4), headers=[("h", b"%d" % number)])
    producer.flush()
    return topic


@pytest.fixture
def run(spark, server):
    def replay_now(*args, **kwargs):
        return replay.run(spark, server.native, *args, **kwargs)

    return replay_now


def copies(table, topic):
    """Of each key its numbers, in the order of the copy."""
    rows = table(subscribe=topic, includeHeaders="true").load().orderBy("partition", "offset").collect()
    found = {}
    for row in rows:
        found.setdefault(bytes(row.key), []).append(json.loads(row.value)["n"])
    return found, rows


def test_a_named_replay_is_done_once_in_order_with_the_origin_of_every_record(run, table, numbers):
    where = "get_json_object(text, '$.kind') = 'even' and key <> cast('key-2' as binary)"
    first = run(numbers, f"{numbers}-copy", where=where, name="fix")
    again = run(numbers, f"{numbers}-copy", where=where, name="fix")
    assert (first.records, first.already_done) == (10, False)
    assert (again.records, again.already_done) == (0, True)
    found, rows = copies(table, f"{numbers}-copy")
    assert found == {b"key-0": list(range(0, 40, 4))}
    sources = {(row.partition, row.offset): bytes(row.value) for row in table(subscribe=numbers).load().collect()}
    for row in rows:
        headers = {one.key: bytes(one.value) for one in row.headers}
        topic, partition, offset = headers["goqueue-replayed-from"].decode().rsplit("/", 2)
        assert (topic, sources[int(partition), int(offset)]) == (numbers, bytes(row.value))
        assert headers["h"] == b"%d" % json.loads(row.value)["n"]


def test_a_dry_run_counts_and_writes_nothing(run, admin, numbers):
    found = run(numbers, where="offset >= 2", dry_run=True, name="dry")
    assert found.into == f"{numbers}.sandbox-dry"
    assert found.into not in {topic.name for topic in admin.topics()}
    assert found.records == sum(one.records for one in found.partitions)
    assert all((one.first_offset, one.last_offset) == (2, one.records + 1) for one in found.partitions)
    assert all(one.first <= one.last <= datetime.now(UTC).isoformat() for one in found.partitions)


def test_a_sandbox_has_the_partitions_of_the_source_and_a_day_of_retention(run, table, admin, numbers):
    made = run(numbers, start={0: 1}, end={1: 3}, name="box")
    sandbox = admin.topic(f"{numbers}.sandbox-box")
    assert (made.into, sandbox.partitions, sandbox.config.retention_ms) == (sandbox.name, 2, 24 * 3600 * 1000)

    def places(topic):
        rows = table(subscribe=topic).load().orderBy("partition", "offset").collect()
        return {number: [bytes(row.value) for row in rows if row.partition == number] for number in (0, 1)}

    sources, copied = places(numbers), places(made.into)
    assert copied == {0: sources[0][1:], 1: sources[1][:3]}


def test_a_replay_at_a_rate_takes_its_time_goes_on_after_a_crash_and_ends(run, table, producer, numbers, tmp_path):
    """The driver dies between the decision of the broker and the note of Spark that the last batch is done."""
    checkpoint = str(tmp_path / "replay")

    def go(where="priority = 2"):
        return run(numbers, f"{numbers}-copy", rate=15, name="slow", checkpoint=checkpoint, where=where)

    first = go()
    assert (first.records, first.batches) == (40, 3)
    producer.send(numbers, b'{"n": 99}', key=b"key-0").result()
    (tmp_path / "replay/query/commits/2").unlink()
    (tmp_path / "replay/query/commits/.2.crc").unlink(missing_ok=True)
    assert go().batches == 1
    assert go().already_done
    found, _ = copies(table, f"{numbers}-copy")
    assert found == {b"key-%d" % key: list(range(key, 40, 4)) for key in range(4)}
    with pytest.raises(InvalidRequest, match=r"belongs to a replay of .* where priority = 2"):
        go(where="priority = 1")


def test_where_nothing_is_to_be_replayed_nothing_is(run, numbers):
    assert run(numbers, f"{numbers}-copy", start="latest").records == 0
    assert run(numbers, f"{numbers}-copy", where="false").records == 0


@pytest.mark.parametrize("rate", [None, 1000.0])
def test_a_stretch_behind_the_end_is_not_taken_for_done_when_it_is_there_later(
    run, admin, producer, numbers, tmp_path, rate
):
    """Nor is there a sandbox for nothing."""
    last = stretch_ends(run, numbers)

    def go():
        return run(numbers, start=last, name="late", rate=rate, checkpoint=str(tmp_path / "late"))

    early = go()
    assert (early.records, early.already_done, early.has_no_offsets) == (0, False, True)
    assert early.into not in {topic.name for topic in admin.topics()}
    producer.send(numbers, b'{"n": 99}', key=b"key-0").result()
    assert (go().records, go().already_done) == (1, True)


def stretch_ends(run, topic):
    return run(topic, start="latest", dry_run=True).ends


def test_the_command_says_that_nothing_lies_there(lent_session, server, numbers, capfd):
    words = ["pipeline", "replay", numbers, "--sandbox", "--from", "1000000", "-p", "0", "--server", server.native]
    for more in ((), ("--dry-run",)):
        assert main([*words, *more]) == 0
        said = capfd.readouterr().out
        assert f"from 1000000 up to latest there is nothing in {numbers}; nothing was written" in said
        assert re.search(r"the nearest offsets by partition are 0=\d+\n", said)


@pytest.mark.parametrize(
    ("rate", "expected"), [(1, (1, 1000)), (0.5, (1, 2000)), (1.5, (1, 667)), (2500.0, (2500, 1000))]
)
def test_a_rate_becomes_so_many_records_every_so_often(rate, expected):
    assert replay.pace(rate) == expected


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("colour = 'red'", "colour"),
        ("offset >", "offset >"),
        ("partition", "partition"),
        ("nonsense(text)", "nonsense"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_in_one_line(table, topic, where, said):
    with pytest.raises(InvalidRequest) as refused:
        matching(table(subscribe=topic, includeHeaders="true").load(), where)
    assert said in refused.value.message
    assert "\n" not in refused.value.message
    assert "key" in refused.value.hint


def test_stretches_are_numbers_whatever_they_were_given_as(server, numbers):
    whole = stretch_of(server.native, numbers)
    assert sum(whole.ends.values()) == 40 == len(whole)
    assert len(stretch_of(server.native, numbers, start=-3)) == 6
    assert stretch_of(server.native, numbers, start=10**9).starts == whole.ends
    assert len(stretch_of(server.native, numbers, start=datetime.now(UTC))) == 0
    assert stretch_of(server.native, numbers, partitions=[1]).ends == {1: whole.ends[1]}


def test_a_target_that_is_not_there_is_refused(run, numbers):
    with pytest.raises(UnknownTopic):
        run(numbers, "no-such-topic")
