import json

import pytest

from goqueue.errors import GoQueueError
from goqueue.spark.pipelines.windows import WindowOptions, WindowsJob, run, windowed

DAY = "2025-01-01T"


def event(at, user="u", amount=1):
    return json.dumps({"at": f"{DAY}{at}Z", "user": {"id": user}, "amount": amount}).encode()


@pytest.fixture
def told(spark):
    """Windows of a table of values: start, key, count and sum."""

    def windows(values, **options):
        frame = spark.createDataFrame([(b"k", value) for value in values], "key binary, value binary")
        found = windowed(frame, WindowOptions(**{"at": "at"} | options))
        return sorted(
            (f"{row.window_start:%H:%M:%S}", row.key, row["count"], *([row["sum"]] if "sum" in found.columns else []))
            for row in found.collect()
        )

    return windows


def forget_last_commit(checkpoint):
    """As if the driver had died after the batch was written, before that was noted."""
    commits = sorted((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()
    (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)


def test_records_are_counted_and_summed_by_key_or_field_in_each_window(told):
    values = [event("10:00:01", "a", 2), event("10:00:59", "b", 5), event("10:00:30", "a", 3), event("10:01:00", "a")]
    assert told(values) == [("10:00:00", "k", 3), ("10:01:00", "k", 1)]
    assert told(values, by="user.id", total="amount") == [
        ("10:00:00", "a", 2, 5.0),
        ("10:00:00", "b", 1, 5.0),
        ("10:01:00", "a", 1, 1.0),
    ]
    assert told(values, by="user.id") == told(values, by="field:user.id", at="field:at")
    assert told(values, slide="30 seconds", by="$.user.id")[0] == ("09:59:30", "a", 1)


def test_what_says_no_time_is_in_no_window_and_what_is_no_number_adds_nothing(told):
    values = [b"no json", None, b'{"at": "never"}', event("10:00:00", amount="many"), b'{"at": 1735725600000}']
    assert told(values, total="amount") == [("10:00:00", "k", 2, None)]
    with pytest.raises(GoQueueError, match="windows of a while every a while"):
        told(values, length="a while")


def test_records_without_a_time_are_counted_and_it_is_an_error_if_no_record_has_one(
    spark, server, producer, topic, tmp_path
):
    producer.send_many(topic, [event("10:00:01"), b"no json", b'{"at": "never"}'])
    producer.send(topic, b"{}", headers=[("at", b"2025-01-01T10:00:00Z")]).result()

    def read(at):
        job = WindowsJob(server=server.native, topic=topic, into_folder=str(tmp_path / at.replace(":", "-")))
        return run(spark, job, WindowOptions(at=at))

    assert (read("field:at").records, read("header:at").without_time) == (4, 3)
    with pytest.raises(GoQueueError, match=r"none of the 4 records of .* has a time in field:when"):
        read("field:when")
    with pytest.raises(GoQueueError, match="'colour:at' is nothing to tell records by"):
        read("colour:at")


def test_each_window_is_written_to_a_topic_once_when_the_watermark_has_passed(
    spark, server, admin, producer, topic, table, tmp_path
):
    admin.create_topic(f"{topic}-out", 2)
    job = WindowsJob(
        server=server.native, topic=topic, into_topic=f"{topic}-out", checkpoint=str(tmp_path), batch_records=3
    )
    options = WindowOptions(at="at", by="user.id", total="amount", late="10 seconds")

    def out():
        rows = table(subscribe=f"{topic}-out").load().collect()
        found = sorted((json.loads(row.value) for row in rows), key=lambda one: (one["window_start"], one["key"]))
        return [(one["window_start"][11:16], one["key"], one["count"], one["sum"]) for one in found]

    # In the first batch two windows begin; in the second comes one more record for the first window, and then its end.
    first = [event("10:00:01", "a"), event("10:00:02", "b"), event("10:01:05", "a")]
    producer.send_many(topic, [*first, event("10:00:58", "a", 4), event("10:02:00", "a")], partition=0)
    done = run(spark, job, options)
    assert (done.records, done.into) == (5, f"{topic}-out")
    expected = [("10:00", "a", 2, 5.0), ("10:00", "b", 1, 1.0)]
    assert out() == expected
    # Too late; and Spark repeats the batch that told the windows, as the driver died before it was noted.
    producer.send_many(topic, [event("10:00:59", "a", 100)], partition=0)
    forget_last_commit(tmp_path)
    run(spark, job, options)
    assert out() == expected


def test_with_updates_a_window_is_written_to_a_topic_each_time_it_changes_and_no_change_twice(
    spark, server, admin, producer, topic, table, tmp_path
):
    admin.create_topic(f"{topic}-out", 1)
    job = WindowsJob(
        server=server.native, topic=topic, into_topic=f"{topic}-out", checkpoint=str(tmp_path), updates=True
    )
    options = WindowOptions(at="at", by="user.id", late="10 seconds")

    def out():
        rows = table(subscribe=f"{topic}-out").load().orderBy("offset").collect()
        return [(told["key"], told["count"]) for told in (json.loads(row.value) for row in rows)]

    producer.send_many(topic, [event("10:00:01", "a"), event("10:00:02", "a")], partition=0)
    run(spark, job, options)
    assert out() == [("a", 2)]
    producer.send_many(topic, [event("10:00:03", "a")], partition=0)
    done = run(spark, job, options)
    assert (done.records, out()) == (1, [("a", 2), ("a", 3)])
    forget_last_commit(tmp_path)
    run(spark, job, options)
    assert out() == [("a", 2), ("a", 3)]


def test_a_job_that_makes_no_sense_is_refused(spark):
    for given, said in [
        ({"into_topic": "out"}, "no checkpoint"),
        ({"into_topic": "in", "checkpoint": "/x"}, "read and written"),
        ({"into_topic": "out", "into_folder": "/x"}, "give one of them"),
        ({"into_folder": "/x", "updates": True}, "files cannot be changed"),
    ]:
        with pytest.raises(GoQueueError) as refused:
            run(spark, WindowsJob(server="127.0.0.1:1", topic="in", **given), WindowOptions())
        assert said in f"{refused.value.message} {refused.value.hint}"
