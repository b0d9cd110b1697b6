"""The compiled codec and its Python twin give the same answers and the same errors, whatever they are given."""

import struct
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from goqueue.codec import record as compiled
from goqueue.codec import record_py as twin
from goqueue.errors import GoQueueError
from goqueue.model.record import Record

I64 = st.one_of(st.integers(0, 50), st.integers(0, 2**63 - 1))
ANY_INT = st.one_of(st.integers(-5, 300), st.integers(-(2**70), 2**70))
SMALL = st.binary(max_size=40)

VALID = st.builds(
    Record,
    value=SMALL,
    key=st.none() | SMALL,
    headers=st.lists(st.tuples(st.text(max_size=4).filter(lambda text: text.isprintable()), SMALL), max_size=3).map(
        tuple
    ),
    priority=st.integers(0, 4),
    timestamp_ns=I64,
    offset=I64,
    flags=st.sampled_from([0, 0, 0, 1, 8, 24]),
) | st.builds(Record, value=st.none(), key=st.none() | SMALL, timestamp_ns=I64, offset=I64)

JUNK = st.none() | st.booleans() | ANY_INT | st.floats() | st.text(max_size=3) | SMALL | st.lists(SMALL, max_size=2)
PAIRS = st.tuples(st.text(max_size=3), SMALL) | st.tuples(JUNK, JUNK) | JUNK
ODD = st.builds(
    Record,
    value=st.none() | SMALL | JUNK,
    key=st.none() | SMALL | JUNK,
    headers=st.lists(st.tuples(st.text(max_size=3), SMALL) | st.tuples(JUNK, JUNK) | JUNK, max_size=3).map(tuple)
    | JUNK,
    priority=st.integers(0, 4) | JUNK,
    timestamp_ns=I64 | JUNK,
    offset=I64 | JUNK,
    flags=st.integers(0, 63) | JUNK,
)


def outcome(function, *arguments):
    """What a call gave: its value, or everything a caller could tell about its error."""
    try:
        return function(*arguments)
    except GoQueueError as error:
        return type(error), error.code, error.message, error.hint, getattr(error, "position", None)
    except (ValueError, BufferError) as error:
        return type(error), str(error)


def agree(name, *arguments):
    left = outcome(getattr(compiled, name), *arguments)
    right = outcome(getattr(twin, name), *arguments)
    assert left == right, name
    return left


def mend(data: bytearray) -> None:
    """Gives every record that can be walked to a CRC that fits, so that what lies behind the CRC is reached too."""
    position = 0
    while len(data) - position >= 34:
        key, value, headers = struct.unpack_from(">HIH", data, position + 26)
        end = position + 34 + key + value + headers
        if end > len(data):
            return
        struct.pack_into(">I", data, position + 4, twin.crc32c(data[position + 8 : end]))
        position = end


@st.composite
def hostile(draw) -> bytes:
    """Records, bent: bytes overwritten, cut out, put in, doubled; sometimes with CRCs and flags copies that fit."""
    data = bytearray(twin.encode(draw(st.lists(VALID, max_size=4))))
    if draw(st.booleans()):
        struct_starts = [i for i in range(len(data)) if data[i : i + 3] == b"GQ\x01"]
        for i in struct_starts[: draw(st.integers(0, 4))]:
            if i + 34 <= len(data):
                data[i + 8 : i + 16] = struct.pack(">q", i)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        size = draw(st.integers(0, 12))
        kind = draw(st.integers(0, 4))
        if kind == 0 and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == 1:
            data[at : at + size] = draw(st.binary(min_size=size, max_size=size))
        elif kind == 2:
            del data[at : at + size]
        elif kind == 3:
            data[at:at] = draw(st.binary(max_size=12))
        else:
            data[at:at] = data[: draw(st.integers(0, len(data)))]
    if draw(st.booleans()):
        for i in range(len(data) - 33):
            if data[i : i + 3] == b"GQ\x01":
                data[i + 25] = data[i + 3]
    if draw(st.booleans()):
        mend(data)
    return bytes(data)


BYTES = hostile() | st.binary(max_size=120)


def test_both_codecs_offer_the_same_names():
    assert compiled.__all__ == twin.__all__
    for name in compiled.__all__:
        if name.isupper():
            assert getattr(compiled, name) == getattr(twin, name)
        else:
            assert getattr(compiled, name).__doc__ == getattr(twin, name).__doc__


@settings(max_examples=400)
@given(st.lists(VALID, max_size=5))
def test_valid_records_are_encoded_alike_and_come_back(records):
    data = agree("encode", records)
    assert agree("decode", data) == records
    agree("columns", data)


@settings(max_examples=600)
@given(st.lists(VALID | ODD | JUNK, max_size=3))
@example([Record(value=b"", headers=(("\ud800", b""),))])
def test_records_with_any_fields_are_encoded_or_refused_alike(records):
    agree("encode", records)


class Row(NamedTuple):
    place: str
    offset: int
    timestamp_ns: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    priority: int


@settings(max_examples=400)
@given(st.lists(VALID, max_size=5))
def test_plain_records_come_as_rows_and_others_not_at_all(records):
    rows = agree("decode_plain", compiled.encode(records), Row, ("here",))
    if any(one.flags for one in records):
        assert rows is None
    else:
        wanted = [Row("here", r.offset, r.timestamp_ns, r.key, r.value, r.headers, r.priority) for r in records]
        assert rows == wanted
        assert {type(one) for one in rows} <= {Row}


class Shared(NamedTuple):
    item: object
    number: int
    text: str


@given(st.lists(st.integers() | st.text() | st.tuples(st.binary())))
def test_items_come_as_rows_with_what_they_share(items):
    rows = agree("rows", items, Shared, (7, "all"))
    assert rows == [Shared(item, 7, "all") for item in items]
    assert {type(one) for one in rows} <= {Shared}
    assert agree("rows", items, tuple, ()) == [(item,) for item in items]


@pytest.mark.parametrize("codec", [compiled, twin])
def test_rows_of_what_is_no_tuple_are_refused(codec):
    with pytest.raises(TypeError):
        codec.rows([1], list, ())


@given(st.lists(st.tuples(st.tuples(st.text(max_size=1), st.integers()), st.booleans(), st.sampled_from("abc"))))
def test_rows_are_grouped_by_what_they_end_with(rows):
    found = agree("grouped", rows, 1)
    assert found == {last: [item[1] for item, _, own in rows if own == last] for _, _, last in rows}
    assert list(found) == list(dict.fromkeys(last for _, _, last in rows))


@pytest.mark.parametrize("codec", [compiled, twin])
@pytest.mark.parametrize("rows", [[()], [1], [[(1,), 2]], [("text", 2)], [((), 2)], [((1,), 2), ((1,), [])], 7])
def test_what_is_no_row_of_a_group_is_refused(codec, rows):
    with pytest.raises(TypeError):
        codec.grouped(rows, 0)


@settings(max_examples=400)
@given(BYTES)
def test_any_bytes_come_as_rows_or_are_refused_alike(data):
    agree("decode_plain", data, Row, ("here",))


@settings(max_examples=400)
@given(
    st.lists(
        st.tuples(st.none() | st.binary(max_size=20) | JUNK, st.none() | st.binary(max_size=5) | JUNK), max_size=4
    ),
    st.sampled_from([(), (("trace", b"1"),), (("a", b""), ("é", b"2")), [], (("\ud800", b""),), ((b"", b""),)]),
    st.sampled_from([0, 2, 4, 5, -1, "2"]),
    st.booleans(),
)
def test_values_are_encoded_or_refused_as_records_of_them_are(pairs, headers, priority, keyed):
    values, keys = [value for value, _ in pairs], [key for _, key in pairs]
    result = outcome(compiled.encode_values, values, keys if keyed else None, headers, priority)
    assert result == outcome(twin.encode_values, values, keys if keyed else None, headers, priority)
    records = [Record(value, key if keyed else None, headers, priority) for value, key in pairs]
    assert result == outcome(compiled.encode, records)


def test_as_many_keys_as_values_are_wanted():
    assert agree("encode_values", [b"1", b"2"], [b"k"], (), 2) == (ValueError, "1 keys for 2 values")


@settings(max_examples=600)
@given(BYTES, I64, I64, st.booleans())
def test_any_batch_is_stamped_or_refused_alike(data, base_offset, timestamp_ns, keep):
    left, right = bytearray(data), bytearray(data)
    result = outcome(compiled.stamp, left, base_offset, timestamp_ns, keep)
    assert result == outcome(twin.stamp, right, base_offset, timestamp_ns, keep)
    if hasattr(result, "count") and not isinstance(result[0], type):
        assert left == right
        scanned = agree("scan", bytes(left))
        assert (scanned.count, scanned.first_offset, scanned.max_timestamp_ns) == (
            result.count,
            base_offset,
            result.max_timestamp_ns,
        )
        assert scanned.stop == "end"


@settings(max_examples=600)
@given(BYTES, st.data())
def test_any_bytes_are_walked_alike(data, more):
    start = more.draw(st.integers(0, len(data)) | st.integers(-2, 200))
    bound = more.draw(ANY_INT | I64)
    agree("scan", data, start, more.draw(st.none() | st.just(bound)))
    agree("find_next", data, start, bound, more.draw(ANY_INT | I64))
    agree("find_next", data, start, 0, 2**63 - 1)
    agree("seek", data, bound, start)
    agree("seek_time", data, bound, start)
    agree("starts", data)
    agree("index_entries", data, more.draw(st.integers(0, 2**32 - 200)), 0, more.draw(st.integers(1, 100)), -1)
    agree("index_entries", data, *(more.draw(ANY_INT) for _ in range(4)))


@settings(max_examples=600)
@given(BYTES, st.integers(0, 255))
def test_any_bytes_are_decoded_or_refused_alike(data, want):
    agree("decode", data)
    agree("columns", data)
    agree("columns", data, want)
    agree("crc32c", data, want)


@settings(max_examples=400)
@given(BYTES, st.dictionaries(st.sampled_from([b"", b"\x00"]) | SMALL, I64, max_size=4), st.integers(0, 4), ANY_INT)
def test_any_bytes_are_compacted_or_refused_alike(data, latest, capacity, before):
    left, right = dict(latest), dict(latest)
    assert outcome(compiled.latest_by_key, data, left, capacity) == outcome(twin.latest_by_key, data, right, capacity)
    assert left == right
    agree("retain_latest", data, left, before)
    agree("retain_latest", data, {}, before)


@settings(max_examples=300)
@given(hostile(), st.integers(0, 100))
def test_a_record_found_after_damage_can_be_scanned(data, start):
    if start > len(data):
        return
    position = agree("find_next", data, start, 0, 2**63 - 1)
    if position >= 0:
        assert position >= start
        assert agree("scan", data, position).count >= 1


TRACEPARENT = b"00-0123456789abcdef0123456789abcdef-00f067aa0ba902b7-01"


@settings(max_examples=300)
@given(BYTES, ANY_INT)
def test_any_bytes_are_searched_for_contexts_alike(data, below):
    agree("contexts", data)
    agree("contexts", data, below)


@settings(max_examples=400)
@given(st.integers(0, 60), st.binary(max_size=3), st.integers(0, 3), st.integers(0, 2**64))
def test_any_context_is_understood_alike(at, bent, size, below):
    value = TRACEPARENT[:at] + bent + TRACEPARENT[at + size :]
    data = twin.encode([Record(value=b"", headers=(("traceparent", value), ("tracestate", bent)))])
    agree("contexts", data, below)
    broken = bytearray(data)
    broken[len(data) - 1 - at % 20] ^= 0x80
    mend(broken)
    agree("contexts", bytes(broken), below)


@settings(max_examples=400)
@given(st.integers(0, 54), st.integers(0, 255))
def test_every_byte_of_a_context_counts(at, byte):
    value = TRACEPARENT[:at] + bytes([byte]) + TRACEPARENT[at + 1 :]
    agree("contexts", twin.encode([Record(value=b"", headers=(("traceparent", value),))]))
