"""Values that were made to exhaust whatever decodes them are told from others, quickly and by what they are."""

import json
import sys
import time
from io import BytesIO

import fastavro
import pytest
from fastavro.schema import SchemaParseException
from hypothesis import given, reject
from hypothesis import strategies as st

from goqueue.codec.values.avro import AvroValues
from goqueue.codec.values.json import check_json
from goqueue.core.schemas.avro.format import AvroFormat
from goqueue.core.schemas.json_schema.format import JsonSchemaFormat
from goqueue.core.schemas.payloads import payloads_of
from goqueue.errors import DecodingLimit, GoQueueError, SchemaMismatch
from tests.unit.core.schemas.hostile import HOSTILE, zigzag
from tests.unit.core.schemas.protobuf.protos import PROTOBUF

FORMATS = {"AVRO": AvroFormat(), "PROTOBUF": PROTOBUF, "JSON": JsonSchemaFormat()}
SOON_S = 1.0
"""Without bounds it is between minutes and for ever."""
SMALL = 1 << 16


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: one.name)
def test_a_hostile_value_is_refused_when_it_is_published(hostile):
    payloads = payloads_of(FORMATS[hostile.kind].parse(hostile.schema, {}))
    began = time.perf_counter()
    problem = payloads.problem(hostile.payload)
    assert not payloads.fit([hostile.payload])
    assert hostile.reason in problem.reason
    assert time.perf_counter() - began < SOON_S


@st.composite
def schemas(draw, depth=3):
    """Any schema; the parts that make few bytes large are more frequent than elsewhere."""
    simple = ["null", "null", "boolean", "int", "double", "string", "bytes"]
    if depth == 0:
        return draw(st.sampled_from(simple))
    inner = schemas(depth - 1)
    match draw(st.integers(0, 5)):
        case 0:
            return {"type": "array", "items": draw(inner)}
        case 1:
            return {"type": "map", "values": draw(inner)}
        case 2:
            return ["null", {"type": "array", "items": draw(inner)}, "long"]
        case 3 | 4:
            name = f"R{draw(st.integers(0, 1 << 60))}"
            kinds = draw(st.lists(inner, max_size=4)) + ["null"] * draw(st.sampled_from((0, 0, 30)))
            if draw(st.booleans()):
                kinds.append({"type": "array", "items": name})
            return {
                "type": "record",
                "name": name,
                "fields": [{"name": f"f{at}", "type": kind} for at, kind in enumerate(kinds)],
            }
    return draw(st.sampled_from(simple))


PIECES = st.one_of(
    st.binary(max_size=3),
    st.sampled_from([zigzag(number) for number in (1, 2, 50, 1000, 100_000, 1 << 40, -1, -(1 << 40))]),
    st.sampled_from((b"\2" * 100, b"\0" * 100)),
)


def memory(value):
    """Of a value with all within it."""
    size, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        size += sys.getsizeof(one)
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return size


@given(schemas(), st.lists(PIECES, max_size=8).map(b"".join))
def test_avro_that_passes_takes_no_more_memory_than_the_limit(schema, data):
    try:
        parsed = fastavro.parse_schema(schema)
    except SchemaParseException:
        reject()
    values = AvroValues(parsed, most=SMALL)
    try:
        values.check(data)
    except SchemaMismatch:
        if values.needs_check(len(data)):
            return
    try:
        value = fastavro.schemaless_reader(BytesIO(data), parsed, None)
    except Exception:
        return
    assert memory(value) < 4 * SMALL


@given(
    st.recursive(
        st.none() | st.integers() | st.text('[]{}"\\a'), lambda x: st.lists(x) | st.dictionaries(st.text('{["'), x)
    )
)
def test_json_is_as_deep_as_it_is(value):
    def depth(one):
        if isinstance(one, dict):
            one = list(one.values())
        return 1 + max(map(depth, one), default=0) if isinstance(one, list) else 0

    around = 100 - depth(value)
    text = json.dumps(value)
    check_json(("[" * around + text + "]" * around).encode())
    with pytest.raises(DecodingLimit):
        check_json(("[" * (around + 1) + text + "]" * (around + 1)).encode())


def test_the_error_says_the_limit_and_has_a_code_of_its_own():
    with pytest.raises(GoQueueError) as caught:
        AvroValues({"type": "array", "items": "null"}).check(bytes.fromhex("80808080804000"))
    assert caught.value.code == "decoding_limit"
    assert caught.value.message == "the decoded value would take more than 256 MiB of memory, which is the limit"
    with pytest.raises(DecodingLimit, match="nested more than 100 deep"):
        check_json(b"[" * 101 + b"]" * 101)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": "null"}, [None] * 10_000),
        ({"type": "array", "items": "double"}, [0.5] * 1_000_000),
        ({"type": "array", "items": "int"}, [100_000] * 500_000),
        ({"type": "map", "values": ["null", "string"]}, {f"key {n}": None for n in range(100_000)}),
    ],
    ids=("nulls", "doubles", "ints", "entries"),
)
def test_large_ordinary_avro_is_no_problem(schema, value):
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    AvroValues(fastavro.parse_schema(schema)).check(buffer.getvalue())


def test_most_schemas_need_no_check_before_decoding():
    fields = [{"name": f"f{n}", "type": ["null", "string"]} for n in range(30)]
    line = {"type": "record", "name": "Line", "fields": fields}
    order = {"type": "record", "name": "Order", "fields": [{"name": "lines", "type": {"type": "array", "items": line}}]}
    values = AvroValues(fastavro.parse_schema(order))
    assert not values.needs_check(1 << 20)
    assert values.needs_check(1 << 24)
