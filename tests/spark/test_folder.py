import hashlib
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from goqueue.client.sync import Admin, Producer
from goqueue.spark import reason
from tests.behaviour.serving import running_server

IN_AN_HOUR_NS = int((datetime.now(UTC) + timedelta(hours=1)).timestamp()) * 1_000_000_000


@pytest.fixture(scope="module")
def alive(tmp_path_factory):
    """A broker with transactions of all kinds, one of them open, and records that wait."""
    with (
        running_server(tmp_path_factory.mktemp("folder") / "broker") as server,
        Admin(server.native) as admin,
        Producer(server.native) as producer,
        Producer(server.native, transactional_id="t") as transactional,
    ):
        admin.create_topic("orders", 2)
        admin.create_topic("other", 1)
        producer.send_many("orders", [b"%03d" % number for number in range(200)], partition=0)
        producer.send_many("other", [b"other"], keys=[b"k"])
        with transactional.transaction() as transaction:
            transactional.send_many("orders", [b"aborted"], partition=1)
            transaction.abort()
        with transactional.transaction():
            transactional.send_many("orders", [b"committed"], partition=1)
        producer.send_many("orders", [b"later", b"never"], partition=1, deliver_at_ns=IN_AN_HOUR_NS)
        waiting = admin.list_delayed("orders").records[-1]
        admin.cancel_delayed("orders", 1, waiting.offset)
        with transactional.transaction() as transaction:
            transactional.send_many("orders", [b"open"], partition=1)
            producer.send_many("orders", [b"behind"], partition=1)
            yield server
            transaction.abort()


@pytest.fixture(scope="module")
def copy(alive, tmp_path_factory):
    target = tmp_path_factory.mktemp("copy") / "data"
    with alive.frozen():
        shutil.copytree(alive.folder / "data", target)
    return target


@pytest.fixture
def read(spark):
    def load(**options):
        reader = spark.read.format("goqueue").options(**({"subscribe": "orders"} | options))
        return reader.load()

    return load


def values(frame):
    return sorted(bytes(row.value) for row in frame.select("value").collect())


def state_of(folder):
    """Everything about a folder that a reader could have changed."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(str(path), path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_copy_reads_as_its_broker_would(alive, copy, read, isolation):
    before = state_of(copy)
    asked = read(bootstrap=alive.native, isolation=isolation, includeHeaders="true")
    found = read(path=str(copy), isolation=isolation, includeHeaders="true")
    assert found.schema == asked.schema
    order = ["partition", "offset"]
    rows = found.orderBy(order).collect()
    assert rows == asked.orderBy(order).collect()
    seen = {bytes(row.value) for row in rows if row.partition == 1}
    hidden = set() if isolation == "read_uncommitted" else {b"aborted", b"open", b"behind"}
    assert seen == {b"aborted", b"committed", b"open", b"behind"} - hidden
    assert state_of(copy) == before


def test_what_only_the_journal_has_is_read_too(copy, read, tmp_path):
    """As after a power cut, which takes what was not synced."""
    lost = tmp_path / "data"
    shutil.copytree(copy, lost)
    (log,) = (lost / "logs" / "orders" / "0").glob("*.log")
    os.truncate(log, log.stat().st_size // 2)
    assert values(read(path=str(lost), subscribe="orders").where("partition = 0")) == [b"%03d" % n for n in range(200)]
    assert log.stat().st_size < 200 * 40


def test_offsets_times_and_filters_bound_what_is_read(spark, copy, read):
    between = {"startingOffsets": '{"orders": {"0": 10}}', "endingOffsets": '{"orders": {"0": 20, "1": 0}}'}
    assert values(read(path=str(copy), **between)) == [b"%03d" % n for n in range(10, 20)]
    loaded = spark.read.format("goqueue").option("subscribePattern", "o.*").load(f"file://{copy}")
    assert values(loaded.where("partition = 0 and offset >= 198")) == [b"198", b"199"]
    assert values(loaded.where("topic = 'other'")) == [b"other"]
    assert values(read(path=str(copy), startingTimestamp="2100-01-01T00:00:00Z")) == []


def test_a_folder_that_a_broker_has_open_is_left_to_it(alive, read):
    with pytest.raises(Exception) as failed:
        read(path=str(alive.folder / "data")).collect()
    assert "open; ask the broker itself: give bootstrap, not path" in reason(failed.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "/no/such/folder"}, "/no/such/folder does not exist"),
        ({"path": "/etc"}, "not a data folder of GoQueue"),
        ({"path": "data"}, "give the whole path"),
        ({"path": "/tmp", "bootstrap": "127.0.0.1:1"}, "bootstrap and path given; give one of them"),
    ],
)
def test_what_is_no_folder_is_said_in_words(read, options, said):
    with pytest.raises(Exception) as failed:
        read(**options).collect()
    assert said in reason(failed.value)


def test_a_topic_that_is_not_in_the_folder_is_named_with_those_that_are(copy, read):
    with pytest.raises(Exception) as failed:
        read(path=str(copy), subscribe="nothing").collect()
    assert f"there is no topic nothing at {copy}; there are: " in reason(failed.value)
