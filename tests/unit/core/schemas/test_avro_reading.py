"""Which texts are Avro schemas, what is said about those that are not, and the one form of those that are."""

import json

import pytest

from goqueue.core.schemas.avro.format import AvroFormat, for_fastavro
from goqueue.core.schemas.json_text import MOST_NESTING, without_layout
from goqueue.errors import InvalidSchema

AVRO = AvroFormat()


def record(*fields, **more):
    return {"type": "record", "name": "R", "fields": list(fields), **more}


def canonical(schema, references=None):
    return json.loads(AVRO.canonical(AVRO.parse(json.dumps(schema), references or {})))


@pytest.mark.parametrize(
    ("schema", "place", "says"),
    [
        ("nothing", "at /:", "no type 'nothing'"),
        (5, "at /:", "5 is no type"),
        ({}, "at /:", "has no type"),
        ({"type": "array"}, "at /:", "'items'"),
        ({"type": "map", "values": 1}, "at /values:", "1 is no type"),
        (["null", "null"], "at /1:", "null twice"),
        (["null", ["int"]], "at /1:", "union must not contain a union directly"),
        ({"type": "record", "fields": []}, "at /name:", "has no name"),
        (record(name="9R"), "at /name:", "'9R' is no name"),
        (record(name="int"), "at /name:", "primitive type"),
        (record(namespace="a..b"), "at /namespace:", "is no name"),
        (record(name="n" * 501), "at /name:", "500 characters"),
        ({"type": "record", "name": "R"}, "at /:", "'fields'"),
        (record(5), "at /fields/0:", "not an object"),
        (record({"type": "int"}), "at /fields/0/name:", "no name for a field"),
        (record({"name": "a"}), "at /fields/0:", "'type'"),
        (record({"name": "a", "type": "int"}, {"name": "a", "type": "int"}), "at /fields/1:", "two fields a"),
        (record({"name": "a", "type": "int", "default": "x"}), "at /fields/0/default:", "does not fit"),
        (record({"name": "a", "type": "int", "default": 2**31}), "at /fields/0/default:", "does not fit"),
        (record({"name": "a", "type": ["null", "int"], "default": "x"}), "at /fields/0/default:", "does not fit"),
        (record({"name": "a", "type": "int", "order": "up"}), "at /fields/0/order:", "not a sort order"),
        (record({"name": "a", "type": "int", "aliases": "b"}), "at /fields/0/aliases:", "not a list"),
        (record({"name": "a", "type": {"type": "array", "items": "x"}}), "at /fields/0/type/items:", "no type 'x'"),
        (record({"name": "a", "type": record()}), "at /fields/0/type:", "R is defined twice"),
        ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "at /symbols:", "twice"),
        ({"type": "enum", "name": "E", "symbols": ["A-B"]}, "at /symbols/0:", "no name for a symbol"),
        ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, "at /default:", "none of the symbols"),
        ({"type": "fixed", "name": "F", "size": -1}, "at /size:", "not a size"),
        ({"type": "fixed", "name": "F", "size": True}, "at /size:", "not a size"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 1, "scale": 2}, "", "scale"),
    ],
)
def test_a_refusal_says_where_and_why(schema, place, says):
    with pytest.raises(InvalidSchema) as refused:
        AVRO.parse(json.dumps(schema), {})
    assert place in refused.value.message and says in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    ["", "{", "string", "nan", "1e999", '"\\', '{"type": "int"', "9" * 5000, "[" * 100_000, "\ufeff", '{"a": 1 2}'],
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(InvalidSchema) as refused:
        AVRO.parse(text, {})
    assert refused.value.hint


def test_a_schema_as_deep_as_allowed_is_read_and_compared():
    text = '{"type":"array","items":' * MOST_NESTING + '"int"' + "}" * MOST_NESTING
    with pytest.raises(InvalidSchema, match="deep"):
        AVRO.incompatibilities(AVRO.parse(text, {}), AVRO.parse(text, {}))
    half = '{"type":"array","items":' * 100 + '"int"' + "}" * 100
    assert AVRO.incompatibilities(AVRO.parse(half, {}), AVRO.parse(half, {})) == []


def test_a_default_that_fits_in_countless_ways_is_judged_at_once():
    names = [f"R{number}" for number in range(8)]
    inner = [{"type": "record", "name": name, "fields": [{"name": "f", "type": ["null", "R"]}]} for name in names]
    value = 1
    for _ in range(60):
        value = {"f": value}
    schema = record({"name": "f", "type": ["null", *inner], "default": value})
    with pytest.raises(InvalidSchema, match="does not fit"):
        AVRO.parse(json.dumps(schema), {})


def test_unqualified_names_are_in_the_namespace_around_them():
    inner = {"type": "enum", "name": "E", "symbols": ["A"]}
    schema = record({"name": "a", "type": inner}, {"name": "b", "type": "E"}, namespace="shop", aliases=["Old"])
    assert canonical(schema) == {
        "name": "shop.R",
        "type": "record",
        "fields": [
            {"name": "a", "type": {"name": "shop.E", "type": "enum", "symbols": ["A"]}},
            {"name": "b", "type": "shop.E"},
        ],
        "aliases": ["shop.Old"],
    }


def test_two_ways_to_write_a_schema_have_one_canonical_text():
    one = '{"name": "R", "namespace": "n", "type": "record", "fields": [{"type": {"type": "int"}, "name": "a"}]}'
    other = '{"type":"record","fields":[{"name":"a","type":"int","order":"ascending"}],"name":"n.R"}'
    assert AVRO.canonical(AVRO.parse(one, {})) == AVRO.canonical(AVRO.parse(other, {}))


def test_the_canonical_text_keeps_what_readers_and_people_need():
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 0, "z": {"b": 1, "a": 2}}
    schema = record({"name": "a", "type": decimal, "default": "", "doc": "why", "aliases": ["c", "b"]}, doc="what")
    assert AVRO.canonical(AVRO.parse(json.dumps(schema), {})) == (
        '{"name":"R","type":"record","fields":[{"name":"a","type":{"type":"bytes","logicalType":"decimal",'
        '"precision":4,"z":{"a":2,"b":1}},"doc":"why","aliases":["b","c"],"default":""}],"doc":"what"}'
    )


def test_a_schema_uses_the_types_of_its_references():
    colour = '{"type": "enum", "name": "shop.Colour", "symbols": ["RED"]}'
    car = '{"type": "record", "name": "shop.Car", "fields": [{"name": "colour", "type": "Colour"}]}'
    lot = record({"name": "cars", "type": {"type": "array", "items": "shop.Car"}})
    references = {"colour": colour, "car": car}
    assert canonical(lot, references)["fields"][0]["type"]["items"] == "shop.Car"
    whole = json.dumps(for_fastavro(AVRO.parse(json.dumps(lot), references)), default=str)
    assert "RED" in whole
    with pytest.raises(InvalidSchema, match=r"no type 'shop.Car'"):
        AVRO.parse(json.dumps(lot), {"colour": colour})
    with pytest.raises(InvalidSchema, match="in the reference 'car'"):
        AVRO.parse(json.dumps(lot), {"car": car})


def test_a_schema_printed_by_fastavro_is_read_again():
    parsed = AVRO.parse('{"type": "record", "name": "R", "fields": [], "__fastavro_parsed": true}', {})
    assert AVRO.canonical(parsed) == '{"name":"R","type":"record","fields":[]}'


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        (' { "a b" : [ 1 , "x\\" y" ] }\n', '{"a b":[1,"x\\" y"]}'),
        ("tr ue", "tr ue"),
        ('"a" "b"', '"a""b"'),
        ('"never ends  ', '"never ends  '),
    ],
)
def test_only_white_space_between_tokens_is_layout(text, shorter):
    assert without_layout(text) == shorter


@pytest.mark.parametrize("text", [" " * 10**6, "a" + " " * 10**6 + "b", '"' + '\\"' * 500_000, "[" * 10**6])
def test_layout_is_found_in_one_pass(text):
    assert len(without_layout(text)) <= len(text)
