"""What both codecs promise about Arrow buffers and about compaction."""

import importlib
import subprocess
import sys

import pyarrow as pa
import pytest

from goqueue.codec import Column
from goqueue.codec import arrow as arrow_module
from goqueue.errors import CorruptBatch, InvalidRequest
from goqueue.model.record import Flag, Record

RECORDS = [
    Record(value=b"one", key=b"k1", headers=(("a", b"1"), ("é", b"")), offset=5, timestamp_ns=1_000),
    Record(value=None, key=b"k1", offset=6, timestamp_ns=2_000, priority=0),
    Record(value=b"", key=b"", offset=9, timestamp_ns=3_000),
    Record(value=b"four", offset=10, timestamp_ns=4_000, priority=4, headers=(("", b"\x00"),)),
    Record(value=b"", offset=11, timestamp_ns=4_000, flags=Flag.CONTROL | Flag.COMMIT),
]


@pytest.fixture(params=["goqueue.codec.record", "goqueue.codec.record_py"])
def codec(request):
    return importlib.import_module(request.param)


@pytest.fixture
def to_arrow(codec, monkeypatch):
    monkeypatch.setattr(arrow_module, "read_columns", codec.columns)
    return arrow_module.to_arrow


def rows(batch: pa.RecordBatch) -> list[dict]:
    if "timestamp" in batch.schema.names:
        at = batch.schema.get_field_index("timestamp")
        batch = batch.set_column(at, "timestamp", batch.column(at).cast(pa.int64()))
    return batch.to_pylist()


def expected(record: Record) -> dict:
    flags = record.flags
    flags |= Flag.HAS_HEADERS if record.headers else 0
    flags |= Flag.TOMBSTONE if record.value is None else 0
    flags |= Flag.EMPTY_KEY if record.key == b"" else 0
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ns,
        "priority": record.priority,
        "flags": flags,
        "key": record.key,
        "value": record.value,
        "headers": [{"key": key, "value": value} for key, value in record.headers],
    }


def test_an_arrow_batch_holds_the_records(codec, to_arrow):
    batch = to_arrow(codec.encode(RECORDS))
    batch.validate(full=True)
    assert batch.schema == arrow_module.SCHEMA
    assert batch.schema.field("timestamp").type == pa.timestamp("ns", tz="UTC")
    assert rows(batch) == [expected(record) for record in RECORDS]


def test_an_arrow_batch_of_many_records_crosses_bitmap_bytes(codec, to_arrow):
    records = [
        Record(
            value=None if i % 3 == 0 else b"v" * (i % 5),
            key=None if i % 7 == 0 else b"k" * (i % 4),
            headers=tuple((f"h{j}", b"x" * j) for j in range(i % 3)),
            offset=i,
        )
        for i in range(100)
    ]
    batch = to_arrow(codec.encode(records))
    batch.validate(full=True)
    assert rows(batch) == [expected(record) for record in records]
    assert batch.column("value").null_count == 34
    assert batch.column("key").null_count == 15


def test_no_records_make_an_empty_arrow_batch(codec, to_arrow):
    batch = to_arrow(b"")
    batch.validate(full=True)
    assert batch.num_rows == 0
    assert batch.schema == arrow_module.SCHEMA


@pytest.mark.parametrize(
    "names", [["value"], ["offset", "timestamp"], ["headers", "key"], ["flags", "priority"], ["value", "offset"]]
)
def test_an_arrow_batch_can_be_pruned_to_some_columns_in_any_order(codec, to_arrow, names):
    batch = to_arrow(codec.encode(RECORDS), names)
    batch.validate(full=True)
    assert batch.schema.names == names
    assert rows(batch) == [{name: expected(record)[name] for name in names} for record in RECORDS]


def test_an_arrow_batch_without_columns_still_counts_its_rows(codec, to_arrow):
    batch = to_arrow(codec.encode(RECORDS), [])
    assert (batch.num_rows, batch.num_columns) == (5, 0)


def test_an_unknown_column_is_refused_by_name(to_arrow):
    with pytest.raises(InvalidRequest, match="no such column: topic"):
        to_arrow(b"", ["value", "topic"])


@pytest.mark.parametrize("want", range(128))
def test_columns_that_are_not_wanted_are_not_copied(codec, want):
    data = codec.encode(RECORDS)
    full, pruned = codec.columns(data), codec.columns(data, want)
    groups = {
        Column.OFFSET: ["offsets"],
        Column.TIMESTAMP: ["timestamps"],
        Column.PRIORITY: ["priorities"],
        Column.FLAGS: ["flags"],
        Column.KEY: ["key_nulls", "key_validity", "key_offsets", "key_data"],
        Column.VALUE: ["value_nulls", "value_validity", "value_offsets", "value_data"],
        Column.HEADERS: [
            "header_count",
            "header_list_offsets",
            "header_key_offsets",
            "header_key_data",
            "header_value_offsets",
            "header_value_data",
        ],
    }
    assert pruned.length == full.length == 5
    for column, names in groups.items():
        for name in names:
            if want & column:
                assert getattr(pruned, name) == getattr(full, name)
            else:
                assert not getattr(pruned, name)


def test_the_column_buffers_are_little_endian_arrow(codec):
    result = codec.columns(codec.encode(RECORDS[:2]))
    assert result.offsets == b"\x05" + bytes(7) + b"\x06" + bytes(7)
    assert result.timestamps == b"\xe8\x03" + bytes(6) + b"\xd0\x07" + bytes(6)
    assert (result.priorities, result.flags) == (b"\x02\x00", b"\x02\x04")
    assert (result.key_nulls, result.key_validity) == (0, b"")
    assert result.key_offsets == b"\0\0\0\0\2\0\0\0\4\0\0\0"
    assert result.key_data == b"k1k1"
    assert (result.value_nulls, result.value_validity) == (1, b"\x01")
    assert result.value_offsets == b"\0\0\0\0\3\0\0\0\3\0\0\0"
    assert result.header_count == 2
    assert result.header_list_offsets == b"\0\0\0\0\2\0\0\0\2\0\0\0"
    assert result.header_key_offsets == b"\0\0\0\0\1\0\0\0\3\0\0\0"
    assert result.header_key_data == "aé".encode()
    assert result.header_value_offsets == b"\0\0\0\0\1\0\0\0\1\0\0\0"
    assert result.header_value_data == b"1"


def test_columns_verify_every_record_whatever_is_wanted(codec):
    data = bytearray(codec.encode(RECORDS))
    first = len(codec.encode(RECORDS[:1]))
    data[first + 34] ^= 1
    for want in (0, Column.OFFSET, Column.ALL):
        with pytest.raises(CorruptBatch) as caught:
            codec.columns(data, want)
        assert caught.value.position == first


def test_arrow_is_imported_only_by_the_arrow_module():
    code = "import sys, goqueue.codec; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- compaction


def keyed(offset: int, key: bytes | None, value: bytes | None = b"v", *, at: int = 0, flags: int = 0) -> Record:
    return Record(value=value, key=key, offset=offset, timestamp_ns=at, flags=flags)


def kept(codec, records: list[Record], latest: dict[bytes, int], before: int = 0) -> list[int]:
    return [record.offset for record in codec.decode(codec.retain_latest(codec.encode(records), latest, before))]


def test_the_latest_offset_of_each_key_is_noted(codec):
    records = [keyed(1, b"a"), keyed(2, b""), keyed(3, None), keyed(4, b"a"), keyed(5, b"t", flags=Flag.CONTROL)]
    latest = {b"z": 0}
    data = codec.encode(records)
    assert codec.latest_by_key(data, latest, 100) == len(data)
    assert latest == {b"z": 0, b"a": 4, b"": 2}


def test_noting_keys_stops_before_the_key_that_is_one_too_many(codec):
    records = [keyed(1, b"a"), keyed(2, b"b"), keyed(3, b"a"), keyed(4, None), keyed(5, b"c"), keyed(6, b"a")]
    data = codec.encode(records)
    latest: dict[bytes, int] = {}
    reached = codec.latest_by_key(data, latest, 2)
    assert reached == len(codec.encode(records[:4]))
    assert latest == {b"a": 3, b"b": 2}
    assert codec.latest_by_key(data[reached:], latest, 3) == len(data) - reached
    assert latest == {b"a": 6, b"b": 2, b"c": 5}
    assert codec.latest_by_key(data, {}, 0) == 0


def test_compaction_keeps_the_latest_of_each_key_and_all_without_one(codec):
    records = [keyed(1, b"a"), keyed(2, None), keyed(3, b"a"), keyed(4, b"b"), keyed(5, b"a", flags=Flag.CONTROL)]
    assert kept(codec, records, {b"a": 3}) == [2, 3, 4, 5]
    assert kept(codec, records, {b"a": 2}) == [2, 3, 4, 5]
    assert kept(codec, records, {b"a": 99, b"b": 99}) == [2, 5]
    assert kept(codec, records, {}) == [1, 2, 3, 4, 5]


def test_compaction_keeps_the_bytes_as_they_are(codec):
    data = codec.encode(RECORDS)
    assert codec.retain_latest(data, {}, 2**63) == data
    assert codec.retain_latest(b"", {}, 0) == b""


def test_compaction_drops_a_tombstone_once_it_is_old_and_the_latest(codec):
    grave = [keyed(7, b"a", None, at=100)]
    assert kept(codec, grave, {b"a": 7}, 100) == [7]
    assert kept(codec, grave, {b"a": 7}, 101) == []
    assert kept(codec, grave, {b"a": 6}, 101) == [7]
    assert kept(codec, grave, {}, 101) == [7]
    assert kept(codec, grave, {b"a": 8}, 0) == []
    assert kept(codec, [keyed(7, b"a", b"alive", at=100)], {b"a": 7}, 101) == [7]
    assert kept(codec, [keyed(7, None, None, at=100)], {}, 101) == [7]


def test_compaction_refuses_damaged_records_rather_than_dropping_them(codec):
    data = bytearray(codec.encode([keyed(1, b"a"), keyed(2, b"b")]))
    data[-1] ^= 1
    for work in (lambda: codec.latest_by_key(data, {}, 10), lambda: codec.retain_latest(data, {}, 0)):
        with pytest.raises(CorruptBatch) as caught:
            work()
        assert caught.value.position == len(data) // 2
