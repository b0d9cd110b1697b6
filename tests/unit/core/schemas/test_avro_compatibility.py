"""What can be read by the rules of Avro, and how it is said where it cannot."""

import json

import pytest

from goqueue.core.schemas.avro import compatibility
from goqueue.core.schemas.avro.format import AvroFormat
from goqueue.errors import InvalidSchema

AVRO = AvroFormat()


def found(reader, writer):
    reasons = AVRO.incompatibilities(AVRO.parse(json.dumps(reader), {}), AVRO.parse(json.dumps(writer), {}))
    return [(why.kind, why.path) for why in reasons]


def record(*fields, name="R", **more):
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def enum(*symbols, name="E", **more):
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


READS = {
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
    ("string", "bytes"),
    ("bytes", "string"),
}
PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]


@pytest.mark.parametrize("writer", PRIMITIVES)
@pytest.mark.parametrize("reader", PRIMITIVES)
def test_a_primitive_reads_itself_and_what_is_promoted_to_it(reader, writer):
    fits = reader == writer or (writer, reader) in READS
    assert found(reader, writer) == ([] if fits else [("TYPE_MISMATCH", "/")])


@pytest.mark.parametrize(
    ("reader", "writer", "reasons"),
    [
        (record(field("a", "int")), record(), [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0")]),
        (record(field("a", "int", default=1)), record(), []),
        (record(), record(field("a", "int")), []),
        (record(field("b", "int", aliases=["a"])), record(field("a", "int")), []),
        (
            record(field("b", "string", aliases=["a"])),
            record(field("a", "int")),
            [("TYPE_MISMATCH", "/fields/0/type")],
        ),
        (record(name="X"), record(name="Y"), [("NAME_MISMATCH", "/name")]),
        (record(name="X", aliases=["Y"]), record(name="Y"), []),
        (record(name="a.X"), record(name="b.X"), []),
        (record(name="a.X", aliases=["c.Y"]), record(name="b.Y"), [("NAME_MISMATCH", "/name")]),
        (enum("A"), enum("A", "B"), [("MISSING_ENUM_SYMBOLS", "/symbols")]),
        (enum("A", default="A"), enum("A", "B"), []),
        (enum("A", "B"), enum("A"), []),
        (enum("A", name="X"), enum("A"), [("NAME_MISMATCH", "/name")]),
        (
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "fixed", "name": "G", "size": 8},
            [("NAME_MISMATCH", "/name"), ("FIXED_SIZE_MISMATCH", "/size")],
        ),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, [("TYPE_MISMATCH", "/items")]),
        ({"type": "map", "values": "long"}, {"type": "map", "values": "int"}, []),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, [("TYPE_MISMATCH", "/values")]),
        ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}, [("TYPE_MISMATCH", "/")]),
        (["null", "string"], "string", []),
        (["null", "string"], "int", [("MISSING_UNION_BRANCH", "/")]),
        ("string", ["string", "bytes"], []),
        ("string", ["null", "string"], [("TYPE_MISMATCH", "/0")]),
        (["null", "long"], ["null", "int", "boolean"], [("MISSING_UNION_BRANCH", "/2")]),
        (record(field("e", enum("A", default="A"))), record(), [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0")]),
    ],
)
def test_the_rules_of_schema_resolution(reader, writer, reasons):
    assert found(reader, writer) == reasons


def test_all_reasons_are_told_with_their_places():
    inner = record(field("x", "int"), field("y", "string"), name="I")
    reader = record(field("a", {"type": "array", "items": inner}), field("b", "boolean"))
    writer = record(field("a", {"type": "array", "items": record(field("x", "long"), name="I")}), field("b", "int"))
    assert found(reader, writer) == [
        ("TYPE_MISMATCH", "/fields/0/type/items/fields/0/type"),
        ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0/type/items/fields/1"),
        ("TYPE_MISMATCH", "/fields/1/type"),
    ]


def test_a_union_without_a_fitting_branch_says_what_is_wrong_with_the_nearest():
    reader = ["null", record(field("a", "int"), field("b", "int"))]
    parsed = [AVRO.parse(json.dumps(schema), {}) for schema in (reader, ["null", record(field("a", "int"))])]
    (why,) = AVRO.incompatibilities(*parsed)
    assert why.kind == "MISSING_UNION_BRANCH"
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /1/fields/1" in why.message


def test_records_that_contain_themselves_are_compared_to_the_end():
    def tree(leaf):
        return record(field("left", ["null", "R"]), field("right", ["null", "R"]), field("leaf", leaf))

    assert found(tree("long"), tree("int")) == []
    assert found(tree("int"), tree("long"))[-1] == ("TYPE_MISMATCH", "/fields/2/type")


def test_records_that_contain_each_other_many_times_give_few_reasons():
    def doubled(leaf):
        kind = record(field("leaf", leaf), name="L0")
        for level in range(1, 40):
            kind = record(field("a", kind), field("b", f"L{level - 1}"), name=f"L{level}")
        return kind

    assert 1 <= len(found(doubled("int"), doubled("long"))) <= compatibility.MOST_REASONS


def test_huge_unions_are_compared_within_bounds():
    union = [record(name=f"n{number}.Same") for number in range(1000)]
    other = [record(field("a", "int"), name=f"n{number}.Same") for number in range(1000)]
    with pytest.raises(InvalidSchema, match="comparisons"):
        found(other, union)


def test_long_chains_of_records_are_compared_within_bounds():
    """The chain is entered at its end: what defines the types is a field that the other schema does not have."""
    types = [record(name="C0")] + [record(field("f", f"C{n - 1}"), name=f"C{n}") for n in range(1, 500)]
    reader = record(field("mine", ["null", *types], default=None), field("last", "C499"))
    writer = record(field("yours", ["null", *types], default=None), field("last", "C499"))
    assert found(reader, reader) == []
    with pytest.raises(InvalidSchema, match="deep"):
        found(reader, writer)
