"""Whether payloads fit a schema: as the libraries that write them say, and never worse than that for the broker."""

import io
import json
import math

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.schemas.avro.format import AvroFormat, for_fastavro
from goqueue.core.schemas.json_schema.format import JsonSchemaFormat
from goqueue.core.schemas.payloads import framed_id, payloads_of

EVERYTHING = {
    "type": "record",
    "name": "All",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "small", "type": "int"},
        {"name": "large", "type": "long"},
        {"name": "single", "type": "float"},
        {"name": "real", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "text", "type": "string"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 3}},
        {"name": "maybe", "type": ["null", "string", "All"]},
        {"name": "many", "type": {"type": "array", "items": "int"}},
        {"name": "named", "type": {"type": "map", "values": "long"}},
    ],
}
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
VALUES = st.fixed_dictionaries(
    {
        "flag": st.booleans(),
        "small": INTS,
        "large": LONGS,
        "single": st.just(1.5),
        "real": st.floats(allow_nan=False),
        "raw": st.binary(max_size=300),
        "text": st.text(max_size=100),
        "kind": st.sampled_from("AB"),
        "code": st.binary(min_size=3, max_size=3),
        "maybe": st.none() | st.text(max_size=10),
        "many": st.lists(INTS, max_size=5),
        "named": st.dictionaries(st.text(max_size=5), LONGS, max_size=3),
    }
)


EMPTY_TYPES = (
    "null",
    {"type": "fixed", "name": "F", "size": 0},
    {"type": "record", "name": "R", "fields": []},
    {"type": "record", "name": "R", "fields": [{"name": "a", "type": "null"}, {"name": "b", "type": "null"}]},
)


def avro(schema):
    parsed = AvroFormat().parse(json.dumps(schema), {})
    return payloads_of(parsed), for_fastavro(parsed)


READER, WRITER = avro(EVERYTHING)


def written(value, schema=WRITER):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    return buffer.getvalue()


def readable(data):
    """Whether the usual library reads it, to its end. It takes any byte for a boolean, and any number for an int."""
    buffer = io.BytesIO(data)
    try:
        fastavro.schemaless_reader(buffer, WRITER)
    except Exception:
        return False
    return buffer.tell() == len(data)


@given(VALUES, VALUES)
def test_what_a_writer_of_avro_writes_fits(value, inner):
    assert READER.problem(written(value)) is None
    assert READER.fit([written(value | {"maybe": inner})])


@given(VALUES, st.data())
def test_avro_that_fits_can_be_read_also_when_bytes_are_changed_or_missing(value, data):
    whole = written(value)
    at = data.draw(st.integers(0, len(whole) - 1))
    broken = whole[:at] + data.draw(st.binary(max_size=2)) + whole[at + data.draw(st.integers(0, 2)) :]
    if READER.problem(broken) is None:
        assert readable(broken)


@given(VALUES)
def test_avro_that_is_cut_off_or_goes_on_does_not_fit(value):
    whole = written(value)
    for cut in range(len(whole)):
        assert READER.problem(whole[:cut]) is not None
    assert (
        READER.problem(whole + b"\0").reason == f"the value ends at byte {len(whole)}, and there are {len(whole) + 1}"
    )


def test_the_path_leads_to_where_the_value_is_wrong():
    reader, schema = avro(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {
                    "name": "lines",
                    "type": {
                        "type": "array",
                        "items": {
                            "type": "record",
                            "name": "Line",
                            "fields": [{"name": "of", "type": {"type": "map", "values": "boolean"}}],
                        },
                    },
                }
            ],
        }
    )
    data = bytearray(written({"lines": [{"of": {}}, {"of": {"a/b": True}}]}, schema))
    data[data.index(b"a/b") + 3] = 7
    assert reader.problem(bytes(data)) == ("/lines/1/of/a~1b", "7 is no boolean")


@pytest.mark.parametrize("depth", [90, 5_000, 1_000_000])
def test_a_value_nested_without_end_is_refused_and_does_no_harm(depth):
    reader, _ = avro({"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]})
    found = reader.problem(b"\x02" * depth + b"\0")
    assert found is None if depth < 100 else "nested" in found.reason


@pytest.mark.parametrize("count", [1, 100_000, 1 << 40, (1 << 62) - 1])
@pytest.mark.parametrize("items", EMPTY_TYPES, ids=str)
def test_an_array_of_nothing_may_claim_no_more_than_fits_into_memory(count, items):
    reader, _ = avro({"type": "array", "items": items})
    zigzag, claim = count << 1, bytearray()
    while zigzag > 0x7F:
        claim.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    claim.append(zigzag)
    problem = reader.problem(bytes(claim) + b"\0")
    if count > 100_000:
        assert problem.reason == "the decoded value would take more than 256 MiB of memory, which is the limit"
    else:
        assert problem is None


@given(st.binary(max_size=40))
def test_any_bytes_get_an_answer(data):
    for payloads in (READER, payloads_of(JsonSchemaFormat().parse('{"type": "object"}', {}))):
        assert payloads.fit([data]) == (payloads.problem(data) is None)


@given(st.integers(0, (1 << 32) - 1), st.binary())
def test_the_id_of_a_framed_value_stands_in_front(number, payload):
    assert framed_id(b"\0" + number.to_bytes(4, "big") + payload) == number


@given(st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()))
def test_no_json_text_looks_framed(value):
    assert framed_id(json.dumps(value).encode()) is None
    assert framed_id(b"\0\0\0") is None
    assert framed_id(b"") is None


@pytest.mark.parametrize(
    ("text", "path"),
    [(b'{"a": {"b": "x"}}', "/a/b"), (b"[]", ""), (b'{"a": ', ""), (b"[" * 5000, ""), (b"\xff", ""), (b"NaN", "")],
)
def test_json_that_does_not_fit_says_where(text, path):
    schema = {"type": "object", "properties": {"a": {"properties": {"b": {"type": "number"}}}}}
    payloads = payloads_of(JsonSchemaFormat().parse(json.dumps(schema), {}))
    assert not payloads.fit([b'{"a": {"b": 1}}', text])
    found = payloads.problem(text)
    assert (found.path, bool(found.reason)) == (path, True)
    assert len(payloads.problem(json.dumps("x" * 10_000).encode()).reason) <= 500
    assert payloads.fit([b'{"a": {"b": %d}}' % math.factorial(20)])


def test_bytes_as_such_come_without_a_length_as_serializers_write_them():
    payloads = payloads_of(AvroFormat().parse('"bytes"', {}))
    assert payloads.problem(b"\xff\x00 anything") is None
    assert payloads.fit([b"", b"\x61"])
