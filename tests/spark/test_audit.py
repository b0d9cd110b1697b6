import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from goqueue.cli.main import main
from goqueue.client.sync import Producer, Worker
from goqueue.errors import InvalidRequest, UnknownGroup
from goqueue.model.record import Flag
from goqueue.spark.pipelines import audit, audit_checks, audit_copy, audit_group, replay
from goqueue.spark.pipelines.audit import Wish
from goqueue.spark.pipelines.audit_copy import Mapping
from goqueue.spark.pipelines.audit_group import GroupProgress
from goqueue.spark.pipelines.ledger import states_of
from goqueue.spark.pipelines.stretches import Stretch
from goqueue.wire.native.letters import EVERY_LETTER
from tests.spark.quick_java import PROPERTIES

SUBMIT = Path("src/goqueue/spark/submit.py").resolve()


def kinds(frame):
    return sorted((row.kind, row.partition, row.offset) for row in frame.collect())


def test_every_offset_is_told_by_what_lies_there():
    """Offsets 10 to 21: a marker at 12, 13 aborted, 14 delayed, 16, 17 and 21 gone, and 22 belongs to others."""
    offsets = [10, 11, 12, 13, 14, 15, 18, 19, 20, 22]
    flags = [int(Flag.CONTROL) if offset == 12 else 0 for offset in offsets]
    stored = pa.RecordBatch.from_pydict({"offset": pa.array(offsets, pa.int64()), "flags": pa.array(flags, pa.uint8())})
    found = [tuple(row.values()) for row in states_of(10, 22, stored, [12, 13, 14], [12, 14])]
    assert found == [
        (10, 6, "record"),
        (12, 1, "marker"),
        (13, 1, "aborted"),
        (14, 1, "delayed"),
        (16, 2, "missing"),
        (21, 1, "missing"),
    ]


def test_ids_that_occur_twice_and_numbers_that_fall_are_found(spark):
    rows = [
        *((0, 0, b"k", b"i0", 1, None), (0, 1, b"k", b"i1", 2, None), (0, 2, b"k", b"i1", 2, None)),
        *((0, 3, b"k", b"i3", 5, None), (0, 4, b"k", None, 4, None), (0, 5, b"l", b"i5", 1, None)),
        *((1, 0, b"l", b"i1", 9, None), (1, 1, None, None, 0, None)),
        # Sent back, i0 from two letters, and one letter of i3 twice.
        *((0, 6, b"k", b"i0", 1, b"d/0/1"), (0, 7, b"k", b"i0", 1, b"d/0/2")),
        *((0, 8, b"k", b"i3", 5, b"d/0/3"), (0, 9, b"k", b"i3", 5, b"d/0/3")),
    ]
    facts = spark.createDataFrame(
        rows, "partition int, offset long, key binary, id binary, sequence long, redriven binary"
    ).cache()
    found = audit_checks.duplicates(facts).collect()
    assert sorted((row.partition, row.offset, row.records, row.detail) for row in found) == [
        (0, 2, 2, "id i1 occurs 3 times, first at 0/1"),
        (0, 9, 1, "id i3 occurs 2 times, first at 0/8"),
    ]
    assert kinds(audit_checks.out_of_order(facts)) == [("reordered", 0, 4), ("repeated", 0, 2)]
    assert ("skipped", 0, 3) in kinds(audit_checks.out_of_order(facts, dense=True))
    assert [bytes(row.key) for row in audit_checks.split_keys(facts).collect()] == [b"l"]
    gone = spark.createDataFrame(
        [(1, 7, 3, "missing"), (1, 0, 7, "record")], "partition int, first long, count long, state string"
    )
    assert [(row.partition, row.offset, row.records) for row in audit_checks.missing(gone).collect()] == [(1, 7, 3)]


LINKED = "partition int, offset long, key binary, link binary, redriven binary"


def test_a_copy_may_lose_double_invent_and_reorder(spark):
    def frame(*rows):
        return spark.createDataFrame([(*row, None)[:5] for row in rows], LINKED)

    source = frame(*((0, at, b"k", b"l%d" % at) for at in range(5)), (1, 0, b"m", None))
    links = enumerate((b"l0", b"l3", b"l2", b"l0", b"new"))
    copy = frame(*((1, at, b"k", link) for at, link in links))
    assert kinds(audit_copy.differences(source, copy, Mapping.ID)) == [
        ("duplicated", 0, 0),
        ("extra", 1, 4),
        ("lost", 0, 1),
        ("lost", 0, 4),
    ]
    assert kinds(audit_copy.reordered(source, copy)) == [("reordered", 1, 2)]
    twice = frame((0, 0, b"k", b"same"), (0, 1, b"k", b"same"))
    assert kinds(audit_copy.differences(twice, twice, Mapping.CONTENT)) == []
    assert kinds(audit_copy.differences(twice, twice, Mapping.ID)) == [("duplicated", 0, 0)]
    once, sent_back = frame((0, 0, b"k", b"i")), frame((0, 0, b"k", b"i"), (0, 1, b"k", b"i", b"d/0/1"))
    assert kinds(audit_copy.differences(sent_back, sent_back, Mapping.ID)) == []
    assert kinds(audit_copy.differences(sent_back, once, Mapping.ID)) == []
    assert kinds(audit_copy.differences(once, sent_back, Mapping.ID)) == [("duplicated", 0, 0)]


def test_a_table_without_the_columns_for_a_mapping_is_refused(spark):
    table = spark.createDataFrame([("a",)], "value string")
    with pytest.raises(InvalidRequest, match="the copy has no column offset or partition"):
        audit_copy.copy_links(table, Mapping.PLACE, "header", Stretch("", "t", {0: 0}, {0: 1}))


@pytest.fixture
def orders(server, admin, producer, topic):
    """Twenty orders with ids and numbers, four of them in a transaction; two more were aborted, one is delayed."""
    admin.create_topic(f"{topic}-copy", 2)

    def send(through, number):
        value = json.dumps({"n": number}).encode()
        through.send(topic, value, key=b"key-%d" % (number % 2), headers=[("goqueue-id", b"id-%d" % number)])

    for number in range(8):
        send(producer, number)
    producer.flush()
    with Producer(server.native, transactional_id=topic) as transactional:
        with transactional.transaction() as transaction:
            send(transactional, 98)
            send(transactional, 99)
            transactional.flush()
            transaction.abort()
        with transactional.transaction():
            for number in range(8, 12):
                send(transactional, number)
    producer.send(topic, b"{}", key=b"key-0", delay_ms=3_600_000)
    producer.flush()
    for number in range(12, 20):
        send(producer, number)
    producer.flush()
    return topic


def by_check(done):
    return {one.check: one for one in done.findings}


def test_what_is_whole_is_proven_and_what_cannot_be_known_is_said(spark, server, orders, tmp_path):
    replay.run(spark, server.native, orders, f"{orders}-copy")
    with Worker(orders, group=orders, bootstrap=server.native) as worker:
        jobs = []
        while len(jobs) < 20:
            jobs += worker.take(limit=100)
        worker.reject(jobs[3], reason="no such customer")
        worker.ack(*(job for job in jobs if job is not jobs[3]))
    wish = Wish(
        sequence_by="field:n",
        copy=f"{orders}-copy",
        mapping=Mapping.REPLAYED_FROM,
        group=orders,
    )
    done = audit.run(spark, server.native, orders, tmp_path, wish)
    found = by_check(done)
    states = {check: one.verdict for check, one in found.items()}
    # The delayed record is not done yet, so the group cannot have passed it; nobody sees it either.
    assert states.pop("group") in ("proven", "open")
    assert states == {"log": "proven", "ids": "proven", "order": "proven", "copy": "proven", "copy order": "proven"}
    assert "20 records" in found["log"].says
    assert "2 aborted records, 1 delayed" in found["log"].says
    assert "1 rejected" in found["group"].says
    page = Path(done.page).read_text()
    assert "every offset of the stretch is accounted for" in page
    assert "the consumer&#x27;s word" in page
    assert json.loads((tmp_path / "audit.json").read_text())["Findings"][0]["verdict"] == "proven"
    assert spark.read.parquet(done.violations).count() == 0


def test_what_was_sent_back_from_the_dead_letters_is_no_duplicate(spark, server, admin, orders, tmp_path):
    with Worker(orders, group=orders, bootstrap=server.native) as worker:
        jobs = []
        while len(jobs) < 20:
            jobs += worker.take(limit=100)
        for job in jobs[3:5]:
            worker.reject(job, reason="no such customer")
        worker.ack(*jobs[:3], *jobs[5:])
    assert admin.redrive_dead_letters(orders, EVERY_LETTER).done == 2
    replay.run(spark, server.native, orders, f"{orders}-copy")
    wish = Wish(sequence_by="field:n", dense=False, copy=f"{orders}-copy", mapping=Mapping.ID)
    found = by_check(audit.run(spark, server.native, orders, tmp_path, wish))
    assert {check: one.verdict for check, one in found.items()} == dict.fromkeys(
        ("log", "ids", "order", "copy", "copy order"), "proven"
    )
    assert any(limit.startswith("2 were sent back from the dead letters") for limit in found["ids"].limits)
    assert any("out of their turn" in limit for limit in found["order"].limits)


def test_what_is_wrong_is_counted_and_shown(spark, server, producer, orders, tmp_path):
    """Of the copy one is lost and one doubled; an id comes twice, out of order; the group has only begun."""
    replay.run(spark, server.native, orders, f"{orders}-copy", where="get_json_object(text, '$.n') <> '5'")
    replay.run(spark, server.native, orders, f"{orders}-copy", where="get_json_object(text, '$.n') = '6'")
    producer.send(orders, b'{"n": 3}', key=b"key-1", headers=[("goqueue-id", b"id-3")]).result()
    with Worker(orders, group=orders, bootstrap=server.native) as worker:
        worker.ack(*[job for job in worker.take(limit=100) if job.message.offset == 0])
    wish = Wish(sequence_by="field:n", copy=f"{orders}-copy", mapping=Mapping.ID, group=orders)
    done = audit.run(spark, server.native, orders, tmp_path, wish)
    found = by_check(done)
    assert done.verdict == "violated"
    assert (found["log"].verdict, found["group"].verdict) == ("proven", "open")
    assert found["ids"].violations == 1
    assert found["order"].says == "not in the order of their numbers: 1 reordered"
    assert found["copy"].says == f"{orders}-copy differs: 1 duplicated, 1 lost"
    assert spark.read.parquet(done.violations).where("check = 'copy'").count() == 2
    assert "id id-3 occurs 2 times" in Path(done.page).read_text()


def test_under_spark_submit_a_violated_audit_exits_with_1(server, producer, topic, tmp_path):
    for number in (1, 2, 2):
        producer.send(topic, b"x", key=b"k", headers=[("number", b"%d" % number)])
    producer.flush()
    command = [
        *("spark-submit", "--master", "local[2]", "--properties-file", PROPERTIES),
        *("--conf", "spark.sql.shuffle.partitions=2", str(SUBMIT)),
        *("audit", topic, "--server", server.native, "--id", "header:number"),
        *("--report", str(tmp_path), "--output", "json"),
    ]
    folder = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYSPARK_PYTHON": sys.executable}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 1, ended.stderr
    # Spark puts what Python warns of in front of what is printed.
    done = json.loads(ended.stdout[ended.stdout.index("{\n") :])
    assert done["verdict"] == "violated"
    assert [one["verdict"] for one in done["findings"]] == ["proven", "violated"]
    assert Path(done["page"]).exists()


def test_a_group_that_retention_overtook_has_lost_records(spark):
    progress = [GroupProgress(0, 7, 4, 9), GroupProgress(1, 0, None, 3), GroupProgress(2, 0, 5, 5)]
    lost = audit_group.unreachable(spark, progress)
    assert [(row.kind, row.partition, row.offset, row.records) for row in lost.collect()] == [("lost", 0, 4, 3)]
    facts = spark.createDataFrame([(0, 3), (0, 8), (1, 0), (2, 4)], "partition int, offset long")
    assert sorted((row.partition, row.offset) for row in audit_group.undone(facts, progress).collect()) == [
        (0, 8),
        (1, 0),
    ]
    letters = spark.createDataFrame([(0, 1), (0, 1), (0, 2)], "partition int, offset long")
    assert kinds(audit_group.dead_twice(letters)) == [("dead twice", 0, 1)]


def test_a_group_that_is_not_there_is_an_error(spark, server, topic, tmp_path):
    with pytest.raises(UnknownGroup, match="there is no group nobody"):
        audit.run(spark, server.native, topic, tmp_path, Wish(group="nobody"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["replay", "orders"], "give one of --into TOPIC and --sandbox"),
        (["replay", "orders", "--sandbox", "--from", "yesterday"], "'yesterday' is no place to begin"),
        (["replay", "orders", "--sandbox", "--rate", "fast"], "'fast' is not a rate"),
        (["dedup", "orders", "--into", "clean", "--follow"], "--follow without --checkpoint"),
        (["dedup", "orders", "--into", "clean", "--checkpoint", "c", "--keep", "last"], "--keep last"),
        (["audit", "orders", "--map", "feeling"], "one of id, content, replayed-from, place"),
    ],
)
def test_commands_that_make_no_sense_are_refused_before_spark_starts(capsys, arguments, said):
    assert main(["pipeline", *arguments]) == 2
    assert said in capsys.readouterr().err
