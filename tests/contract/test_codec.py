"""What both codecs promise about records and bytes: encode, decode, stamp and the format itself."""

import importlib
import struct

import pytest

from goqueue.errors import CorruptBatch, GoQueueError, InvalidRecord, RecordTooLarge
from goqueue.model.record import Flag, Record

# offset 7, 2023-11-14T22:13:20Z, priority 1, key "id", value "abc", header a=hello; the CRC was computed bit by bit.
GOLDEN = bytes.fromhex(
    "4751 01 02 ab55596d 0000000000000007 17979cfe362a0000 01 02 0002 00000003 000c"
    "6964 616263 0001 0001 61 0005 68656c6c6f"
)
GOLDEN_RECORD = Record(
    value=b"abc",
    key=b"id",
    headers=(("a", b"hello"),),
    priority=1,
    timestamp_ns=1_700_000_000_000_000_000,
    offset=7,
)
# A tombstone with an empty key: flags 4 + 32.
GOLDEN_TOMBSTONE = bytes.fromhex("4751 01 24 770ebda0 0000000000000000 0000000000000000 02 24 0000 00000000 0000")

KINDS = [
    Record(value=b"x"),
    Record(value=b""),
    Record(value=None),
    Record(value=None, key=b"k", headers=(("why", b"gone"),)),
    Record(value=b"x", key=b""),
    Record(value=b"x", key=b"\x00" * 65_535),
    Record(value=b"x", headers=(("", b""), ("é😀", bytes(range(256))), ("", b""))),
    Record(value=b"x", headers=(("h", bytes(65_535 - 7)),)),
    Record(value=bytes(1 << 20), flags=Flag.COMPRESSED),
    Record(value=b"", flags=Flag.CONTROL),
    Record(value=b"", flags=Flag.CONTROL | Flag.COMMIT, key=b"txn"),
    Record(value=b"x", priority=0),
    Record(value=b"x", priority=4, timestamp_ns=2**63 - 1, offset=2**63 - 1),
]


@pytest.fixture(params=["goqueue.codec.record", "goqueue.codec.record_py"])
def codec(request):
    return importlib.import_module(request.param)


def patched(data: bytes, position: int, new: bytes, codec) -> bytes:
    """The record with other bytes at `position` and a CRC that fits them; the copy of the flags follows along."""
    changed = bytearray(data)
    changed[position : position + len(new)] = new
    changed[25] = changed[3]
    changed[4:8] = struct.pack(">I", codec.crc32c(changed[8:]))
    return bytes(changed)


def bit_flips(data: bytes):
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            yield position, changed


# --- the format


def test_a_record_has_the_documented_bytes(codec):
    assert codec.encode([GOLDEN_RECORD]) == GOLDEN
    assert codec.decode(GOLDEN) == [GOLDEN_RECORD]


def test_a_tombstone_with_an_empty_key_has_the_documented_bytes(codec):
    assert codec.encode([Record(value=None, key=b"")]) == GOLDEN_TOMBSTONE
    assert codec.decode(GOLDEN_TOMBSTONE) == [Record(value=None, key=b"")]


def test_the_limits_are_the_documented_ones(codec):
    assert (codec.HEADER_SIZE, codec.MAX_KEY, codec.MAX_HEADERS, codec.MAX_VALUE) == (34, 65_535, 65_535, 16_777_216)


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_the_crc_is_crc_32c_as_in_rfc_3720(codec, data, crc):
    assert codec.crc32c(data) == crc
    assert codec.crc32c(memoryview(data)) == codec.crc32c(bytearray(data)) == crc
    for cut in range(len(data) + 1):
        assert codec.crc32c(data[cut:], codec.crc32c(data[:cut])) == crc


@pytest.mark.parametrize("record", KINDS, ids=range(len(KINDS)))
def test_a_record_of_every_kind_survives_the_round_trip(codec, record):
    assert codec.decode(codec.encode([record])) == [record]


def test_many_records_survive_the_round_trip_in_order(codec):
    assert codec.decode(codec.encode(iter(KINDS))) == KINDS
    assert codec.encode([]) == b""
    assert codec.decode(b"") == []


def test_no_key_and_an_empty_key_are_different_records(codec):
    without, empty = codec.encode([Record(value=b"v")]), codec.encode([Record(value=b"v", key=b"")])
    assert (without[3], empty[3]) == (0, Flag.EMPTY_KEY)
    assert without[26:28] == empty[26:28] == b"\x00\x00"
    assert [record.key for record in codec.decode(without + empty)] == [None, b""]


def test_no_value_and_an_empty_value_are_different_records(codec):
    data = codec.encode([Record(value=None), Record(value=b"")])
    assert [record.value for record in codec.decode(data)] == [None, b""]


def test_flags_that_follow_from_the_fields_are_not_taken_from_the_caller(codec):
    wrong = Record(value=b"v", key=b"k", flags=Flag.TOMBSTONE | Flag.HAS_HEADERS | Flag.EMPTY_KEY)
    assert codec.decode(codec.encode([wrong])) == [Record(value=b"v", key=b"k")]


# --- what encode refuses


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Record(value=bytes(16_777_217)), "value is 16777217 bytes, the limit is 16777216"),
        (Record(value=b"", key=bytes(65_536)), "key is 65536 bytes, the limit is 65535"),
        (Record(value=b"", headers=(("h", bytes(65_535 - 6)),)), "headers block is 65536 bytes, the limit is 65535"),
        (Record(value=b"", headers=(("h" * 70_000, b""),)), "headers block is 70006 bytes, the limit is 65535"),
        (Record(value=b"", headers=(("", b""),) * 16_384), "headers block is 65538 bytes, the limit is 65535"),
    ],
)
def test_a_record_over_a_limit_is_refused_naming_the_limit(codec, record, words):
    with pytest.raises(RecordTooLarge) as caught:
        codec.encode([Record(value=b"fine"), record])
    assert caught.value.message == f"record 1: the {words}"


def test_a_record_at_every_limit_is_encoded(codec):
    record = Record(value=bytes(16_777_216), key=bytes(65_535), headers=(("h", bytes(65_535 - 7)),))
    data = codec.encode([record])
    assert len(data) == 34 + 16_777_216 + 65_535 + 65_535
    assert codec.scan(data).stop == "end"
    assert codec.stamp(bytearray(data), 1, 2).count == 1


WRONG = [
    {"priority": 5},
    {"priority": -1},
    {"priority": 2**70},
    {"priority": "high"},
    {"priority": None},
    {"priority": 1.0},
    {"flags": 256},
    {"flags": -1},
    {"flags": "x"},
    {"offset": -1},
    {"offset": 2**63},
    {"offset": b"1"},
    {"timestamp_ns": -1},
    {"timestamp_ns": 2**63},
    {"timestamp_ns": 1.5},
    {"key": "text"},
    {"key": 7},
    {"key": bytearray(b"k")},
    {"value": "text"},
    {"value": [1]},
    {"headers": None},
    {"headers": {"a": b"b"}},
    {"headers": [("a", b"b")]},
    {"headers": "ab"},
    {"headers": ("ab",)},
    {"headers": (("a",),)},
    {"headers": (("a", b"b", b"c"),)},
    {"headers": ((b"a", b"b"),)},
    {"headers": (("a", "b"),)},
    {"headers": (("a", None),)},
    {"headers": (("\ud800", b""),)},
    {"value": None, "flags": Flag.CONTROL},
    {"value": None, "flags": Flag.COMPRESSED},
    {"flags": Flag.COMMIT},
    {"flags": Flag.CONTROL | Flag.COMPRESSED},
]


@pytest.mark.parametrize("fields", WRONG, ids=range(len(WRONG)))
def test_a_record_with_a_wrong_field_is_refused_as_invalid(codec, fields):
    with pytest.raises(InvalidRecord) as caught:
        codec.encode([Record(**{"value": b"v"} | fields)])
    assert type(caught.value) is InvalidRecord
    assert caught.value.message.startswith("record 0: ")


@pytest.mark.parametrize("thing", [None, b"bytes", {"value": b""}, 7])
def test_what_is_not_a_record_is_refused_as_invalid(codec, thing):
    with pytest.raises(InvalidRecord, match=f"a {type(thing).__name__} is not a Record"):
        codec.encode([thing])


# --- stamp


def test_stamping_for_a_plain_tuple_is_the_same(codec):
    records = codec.encode([Record(b"a"), Record(b"bcd", priority=0), Record(b"", key=b"k")])
    one, other = bytearray(records), bytearray(records)
    stamped, fields = codec.stamp(one, 1000, 55), codec.stamp_batch(other, 1000, 55)
    assert one == other
    assert type(fields) is tuple
    assert fields == stamped == (3, 55, 3, stamped.flags, bytes([2, 0, 2]))


def test_a_stamp_gives_offsets_in_order_the_time_and_a_fitting_crc(codec):
    batch = bytearray(codec.encode(KINDS))
    assert codec.stamp(batch, 1000, 55)[:2] == (len(KINDS), 55)
    stored = codec.decode(batch)
    assert [record.offset for record in stored] == list(range(1000, 1000 + len(KINDS)))
    assert {record.timestamp_ns for record in stored} == {55}
    assert [(r.key, r.value, r.headers, r.priority) for r in stored] == [
        (r.key, r.value, r.headers, r.priority) for r in KINDS
    ]
    assert codec.scan(batch).stop == "end"


def test_a_stamp_keeps_the_clients_timestamps_on_request_where_there_are_any(codec):
    batch = bytearray(codec.encode([Record(value=b"", timestamp_ns=9), Record(value=b""), Record(value=b"")]))
    assert codec.stamp(batch, 0, 5, True)[:2] == (3, 9)
    assert [record.timestamp_ns for record in codec.decode(batch)] == [9, 5, 5]
    assert codec.stamp(batch, 0, 4, keep_timestamps=False).max_timestamp_ns == 4


def test_a_stamp_tells_the_longest_value_and_every_flag_of_the_batch(codec):
    records = [Record(value=b"abc", key=b""), Record(value=bytes(500)), Record(value=None, key=b"k")]
    stamped = codec.stamp(bytearray(codec.encode(records)), 0, 1)
    assert stamped.largest_value == 500
    assert stamped.flags == Flag.EMPTY_KEY | Flag.TOMBSTONE


def test_a_stamp_tells_the_priorities_in_order_unless_all_are_normal(codec):
    def priorities(*given: int) -> bytes | None:
        batch = bytearray(codec.encode([Record(value=b"v" * n, priority=p) for n, p in enumerate(given)]))
        return codec.stamp(batch, 7, 1).priorities

    assert priorities(2) is priorities(2, 2, 2) is None
    assert priorities(0) == b"\x00"
    assert priorities(2, 2, 4, 0, 1, 3, 2) == bytes([2, 2, 4, 0, 1, 3, 2])
    assert priorities(*[1] * 3000) == b"\x01" * 3000


def test_a_stamp_takes_a_slice_of_a_larger_buffer(codec):
    data = codec.encode([GOLDEN_RECORD])
    frame = bytearray(b"####" + data + b"####")
    assert codec.stamp(memoryview(frame)[4:-4], 3, 4).count == 1
    assert frame[:4] == frame[-4:] == b"####"
    assert codec.decode(memoryview(frame)[4:-4])[0].offset == 3


@pytest.mark.parametrize("flags", [0, Flag.COMPRESSED])
def test_a_client_may_leave_byte_25_empty_and_the_stamp_fills_it(codec, flags):
    data = bytearray(codec.encode([Record(value=b"v", key=b"", headers=(("a", b""),), flags=flags)]))
    data[25] = 0
    data[4:8] = struct.pack(">I", codec.crc32c(data[8:]))
    assert codec.scan(data).stop == "damaged"
    assert codec.stamp(data, 1, 2).count == 1
    assert data[25] == data[3] != 0
    assert codec.scan(data).stop == "end"


def test_a_client_may_not_put_anything_else_in_byte_25(codec):
    data = bytearray(codec.encode([Record(value=b"v")]))
    data[25] = 1
    data[4:8] = struct.pack(">I", codec.crc32c(data[8:]))
    with pytest.raises(CorruptBatch, match="record 0 at byte 0: byte 25 is 0x01, the flags are 0x00"):
        codec.stamp(data, 0, 0)


def test_every_flipped_bit_of_a_batch_is_refused_by_the_stamp(codec):
    for position, changed in bit_flips(codec.encode([GOLDEN_RECORD])):
        with pytest.raises(GoQueueError):
            codec.stamp(changed, 0, 0)
            pytest.fail(f"byte {position}")


def test_a_batch_cut_anywhere_is_refused_where_its_last_record_begins(codec):
    data = codec.encode([GOLDEN_RECORD, GOLDEN_RECORD])
    for size in range(len(GOLDEN) + 1, len(data)):
        with pytest.raises(CorruptBatch) as caught:
            codec.stamp(bytearray(data[:size]), 0, 0)
        assert caught.value.position == len(GOLDEN)
        assert f"record 1 at byte {len(GOLDEN)}" in caught.value.message


def test_an_empty_batch_is_refused(codec):
    with pytest.raises(CorruptBatch, match="the batch is empty"):
        codec.stamp(bytearray(), 0, 0)


def test_a_batch_that_cannot_be_written_to_is_refused(codec):
    with pytest.raises(BufferError):
        codec.stamp(codec.encode([GOLDEN_RECORD]), 0, 0)
    with pytest.raises(BufferError):
        codec.stamp(memoryview(codec.encode([GOLDEN_RECORD])), 0, 0)


@pytest.mark.parametrize("arguments", [(-1, 0), (2**63 - 1, 0), (2**70, 0), (0, -1), (0, 2**63)])
def test_a_stamp_with_an_impossible_offset_or_time_is_a_value_error(codec, arguments):
    with pytest.raises(ValueError, match=r"is outside 0\.\.2\*\*63-1"):
        codec.stamp(bytearray(GOLDEN), *arguments)


def test_a_value_length_over_the_limit_is_refused_as_too_large(codec):
    data = bytearray(patched(GOLDEN, 28, struct.pack(">I", 16_777_217), codec))
    with pytest.raises(RecordTooLarge, match="record 0 at byte 0: the value is 16777217 bytes, the limit is 16777216"):
        codec.stamp(data, 0, 0)
    with pytest.raises(CorruptBatch, match="the limit is 16777216"):
        codec.decode(data)


# --- headers that lie although the CRC fits


BAD_VALUES = [
    (0, b"QG", "the magic is 0x5147"),
    (2, b"\x02", "the version is 2"),
    (3, b"\x42", "the flags 0x42 have bits that mean nothing"),
    (3, b"\x82", "the flags 0x82 have bits that mean nothing"),
    (3, b"\x00", "the flags 0x00 and a headers length of 12 contradict each other"),
    (3, b"\x06", "a tombstone with a value of 3 bytes"),
    (3, b"\x12", "the commit flag without the control flag"),
    (3, b"\x0b", "a control record cannot be compressed"),
    (3, b"\x22", "flagged as having an empty key, but the key length is 2"),
    (24, b"\x05", "the priority is 5, the highest number is 4"),
    (8, b"\xff", "the offset -72057594037927929 is negative"),
    (16, b"\x80", "is negative"),
    (32, b"\x00\x00", "the flags 0x02 and a headers length of 0 contradict each other"),
    (32, b"\x00\x01", "a headers length of 1 has no room for the count"),
    (32, b"\x00\x0d", "the record takes 52 bytes, 51 are left"),
    (26, b"\xff\xff", "the record takes 65584 bytes, 51 are left"),
]


@pytest.mark.parametrize(("position", "new", "words"), BAD_VALUES)
def test_a_header_that_cannot_be_is_refused_although_its_crc_fits(codec, position, new, words):
    data = patched(GOLDEN, position, new, codec)
    for work in (codec.decode, codec.columns, lambda data: codec.stamp(bytearray(data), 0, 0)):
        with pytest.raises(CorruptBatch) as caught:
            work(data)
        assert caught.value.message.startswith("record 0 at byte 0: ")
        assert words in caught.value.message
    assert codec.scan(data).count == 0
    assert codec.find_next(data, 0, 0, 2**63 - 1) == -1
    assert codec.seek(data, 0) == codec.seek_time(data, 0) == (0, -1)


@pytest.mark.parametrize("flags", [Flag.CONTROL, Flag.COMPRESSED])
def test_a_tombstone_that_is_something_else_too_is_refused_although_its_crc_fits(codec, flags):
    data = patched(GOLDEN_TOMBSTONE, 3, bytes([Flag.TOMBSTONE | Flag.EMPTY_KEY | flags]), codec)
    with pytest.raises(CorruptBatch, match="a tombstone cannot be compressed or a control record"):
        codec.decode(data)


def with_headers(block: bytes, codec) -> bytes:
    head = struct.pack(">2sBBIqqBBHIH", b"GQ", 1, 2, 0, 0, 0, 2, 2, 1, 2, len(block))
    return patched(head + b"kvv" + block, 0, b"", codec)


BAD_BLOCKS = [
    ("0000", "a headers block with a count of 0"),
    ("000000", "a headers block with a count of 0"),
    ("0001", "runs past the end"),
    ("0001 00", "runs past the end"),
    ("0001 0000", "runs past the end"),
    ("0001 0000 00", "runs past the end"),
    ("0001 0001 61 0001", "runs past the end"),
    ("0001 ffff 61 0001 62", "runs past the end"),
    ("0001 0001 61 ffff 62", "runs past the end"),
    ("0002 0001 61 0001 62", "runs past the end"),
    ("ffff 0000 0000", "runs past the end"),
    ("0001 0000 0000 00", "bytes are left"),
    ("0001 0001 61 0000 0000", "bytes are left"),
    ("0001 0001 80 0000", "not valid UTF-8"),
    ("0001 0001 c3 0000", "not valid UTF-8"),
    ("0001 0002 c0af 0000", "not valid UTF-8"),
    ("0001 0002 c328 0000", "not valid UTF-8"),
    ("0001 0003 eda080 0000", "not valid UTF-8"),
    ("0001 0003 e08080 0000", "not valid UTF-8"),
    ("0001 0004 f0808080 0000", "not valid UTF-8"),
    ("0001 0004 f4908080 0000", "not valid UTF-8"),
    ("0001 0004 f5808080 0000", "not valid UTF-8"),
    ("0001 0003 f09f98 0000", "not valid UTF-8"),
]


@pytest.mark.parametrize(("block", "words"), BAD_BLOCKS)
def test_a_malformed_headers_block_is_refused_although_its_crc_fits(codec, block, words):
    good = with_headers(bytes.fromhex("0001 0001 61 0001 62"), codec)
    data = good + with_headers(bytes.fromhex(block), codec)
    for work in (codec.decode, codec.columns, lambda data: codec.stamp(bytearray(data), 0, 0)):
        with pytest.raises(CorruptBatch, match=words) as caught:
            work(data)
        assert caught.value.position == len(good)


def test_a_header_key_cut_inside_a_character_is_refused_whatever_follows(codec):
    block = bytes.fromhex("0001 0001 c3 8080") + bytes(0x8080)
    with pytest.raises(CorruptBatch, match="not valid UTF-8"):
        codec.columns(with_headers(block, codec))


def test_a_scan_leaves_the_headers_block_to_those_who_read_it(codec):
    data = with_headers(bytes.fromhex("0000"), codec)
    assert codec.scan(data).stop == "end"


# --- decode


def test_decode_refuses_what_is_not_whole_records_and_says_where(codec):
    data = codec.encode([GOLDEN_RECORD] * 3)
    for size in range(1, len(data)):
        if size % len(GOLDEN):
            with pytest.raises(CorruptBatch) as caught:
                codec.decode(data[:size])
            assert caught.value.position == size - size % len(GOLDEN)


def test_every_flipped_bit_is_refused_by_decode_and_columns(codec):
    for position, changed in bit_flips(codec.encode([GOLDEN_RECORD])):
        for work in (codec.decode, codec.columns):
            with pytest.raises(CorruptBatch):
                work(changed)
                pytest.fail(f"byte {position}")


def test_a_buffer_that_is_not_contiguous_is_refused(codec):
    stepped = memoryview(bytearray(codec.encode([GOLDEN_RECORD]) * 2))[::2]
    for work in (codec.decode, codec.columns, codec.scan, codec.crc32c, lambda data: codec.stamp(data, 0, 0)):
        with pytest.raises(BufferError):
            work(stepped)


def test_a_buffer_of_other_items_is_read_as_bytes(codec):
    data = codec.encode([Record(value=b"vv")])
    assert codec.decode(memoryview(data).cast("I")) == codec.decode(data)
    assert codec.scan(memoryview(data).cast("I")).end == len(data)
