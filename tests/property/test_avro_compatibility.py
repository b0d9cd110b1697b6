"""Compatibility of Avro schemas against two independent judges: another implementation of the rules, and real data."""

import io
import json
from typing import Any

import avro.compatibility
import avro.schema
import fastavro
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from goqueue.core.schemas.avro.format import AvroFormat, for_fastavro
from goqueue.errors import InvalidSchema
from tests.unit.core.schemas.avro_schemas import nodes, pairs, schemas, values

AVRO = AvroFormat()
ATTRIBUTES = [
    *(
        "type",
        "name",
        "namespace",
        "fields",
        "symbols",
        "size",
        "items",
        "values",
        "default",
        "aliases",
        "doc",
        "order",
    ),
    *("logicalType", "precision", "scale", "__fastavro_parsed", "__named_schemas"),
]
THOROUGH = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def ours(reader: Any, writer: Any) -> list[str]:
    found = AVRO.incompatibilities(AVRO.parse(json.dumps(reader), {}), AVRO.parse(json.dumps(writer), {}))
    return [why.kind for why in found]


def theirs(reader: Any, writer: Any) -> bool:
    checker = avro.compatibility.ReaderWriterCompatibilityChecker()
    result = checker.get_compatibility(avro.schema.parse(json.dumps(reader)), avro.schema.parse(json.dumps(writer)))
    return result.compatibility is avro.compatibility.SchemaCompatibilityType.compatible


@THOROUGH
@given(pairs())
def test_the_verdict_is_that_of_the_avro_library(pair):
    first, second = pair
    for reader, writer in (first, second), (second, first):
        assert (ours(reader, writer) == []) is theirs(reader, writer), (reader, writer)


@THOROUGH
@given(schemas())
def test_every_schema_can_read_what_it_wrote_itself(schema):
    assert ours(schema, schema) == []


@THOROUGH
@given(schemas())
def test_the_canonical_text_is_the_same_schema_and_stays_as_it_is(schema):
    parsed = AVRO.parse(json.dumps(schema), {})
    text = AVRO.canonical(parsed)
    again = AVRO.parse(text, {})
    assert AVRO.canonical(again) == text
    assert AVRO.incompatibilities(parsed, again) == AVRO.incompatibilities(again, parsed) == []


@THOROUGH
@given(pairs(), st.data())
def test_what_is_called_compatible_reads_real_data(pair, data):
    writer, reader = pair
    writes, reads = (AVRO.parse(json.dumps(schema), {}) for schema in (writer, reader))
    assume(AVRO.incompatibilities(reads, writes) == [])
    value = data.draw(values(writer))
    file = io.BytesIO()
    fastavro.schemaless_writer(file, for_fastavro(writes), value)
    file.seek(0)
    fastavro.schemaless_reader(file, for_fastavro(writes), for_fastavro(reads))
    assert file.read() == b""


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["record", "array", "int", "R0", "E0", "a.b", "decimal"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(ATTRIBUTES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)


@THOROUGH
@given(schemas(), JUNK, st.data())
def test_whatever_stands_in_a_schema_is_taken_or_refused_with_a_hint(schema, junk, data):
    places = [node for node in nodes(schema) if isinstance(node, dict)]
    if places:
        data.draw(st.sampled_from(places))[data.draw(st.sampled_from(ATTRIBUTES))] = junk
    try:
        parsed = AVRO.parse(json.dumps(schema if places else junk), {})
        assert AVRO.incompatibilities(parsed, AVRO.parse(AVRO.canonical(parsed), {})) == []
    except InvalidSchema as refused:
        assert refused.message and refused.hint


def record(name: str, *fields: Any, **more: Any) -> Any:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> Any:
    return {"name": name, "type": kind, **more}


P_THAT_DOES_NOT_FIT = record("P", field("q", record("Q", field("p", "P"))), field("leaf", "string"))

ON_PURPOSE = {
    "an alias without dots is in the namespace of its type": (
        record("New", namespace="shop", aliases=["Old"]),
        record("Old", namespace="shop"),
        [],
    ),
    "an alias without dots is not a name without a namespace": (
        record("New", namespace="shop", aliases=["Old"]),
        record("Old"),
        ["NAME_MISMATCH"],
    ),
    "what was found to fit while a pair was taken to fit is looked at again when that pair does not": (
        record(
            "Top",
            field("u", [P_THAT_DOES_NOT_FIT, record("P2", field("q", "Q"), field("leaf", "int"), aliases=["P"])]),
            field("v", "Q"),
        ),
        record(
            "Top",
            field("u", record("P", field("q", record("Q", field("p", "P"))), field("leaf", "int"))),
            field("v", "Q"),
        ),
        ["MISSING_UNION_BRANCH", "TYPE_MISMATCH"],
    ),
}
"""Where our verdict differs from that of the library, with the reason, reader, writer, and what we say.

The library remembers that Q fits, though it only did as long as P was taken to fit: P contains Q, which contains P. It
then takes the second branch, whose Q cannot be read: the P in it has another leaf.

The library compares aliases as they are written. The specification says that an alias without dots is in the namespace
of the type it renames, and the implementation in Java, which the clients of registries rely on, does so.
"""


@pytest.mark.parametrize("reason", ON_PURPOSE)
def test_the_verdict_differs_from_that_of_the_library_for_a_reason(reason):
    reader, writer, verdict = ON_PURPOSE[reason]
    assert ours(reader, writer) == verdict
    assert theirs(reader, writer) is bool(verdict)


LOGICAL = {
    "decimals of another scale": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4},
    ),
    "a date and a number": ({"type": "int", "logicalType": "date"}, "int"),
    "times of another unit": (
        {"type": "long", "logicalType": "timestamp-micros"},
        {"type": "long", "logicalType": "timestamp-millis"},
    ),
}


@pytest.mark.parametrize("what", LOGICAL)
def test_logical_types_say_nothing_about_what_can_be_read_as_in_the_library(what):
    one, other = LOGICAL[what]
    assert ours(one, other) == ours(other, one) == []
    assert theirs(one, other) and theirs(other, one)
