"""Which texts are JSON schemas, what is said about those that are not, and where references may lead."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.schemas.json_schema.format import UNEXPLAINED, JsonSchemaFormat, Violation
from goqueue.errors import InvalidSchema, SchemaTooLarge

JSON = JsonSchemaFormat()
DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}


def parse(schema, references=None):
    return JSON.parse(json.dumps(schema), {name: json.dumps(each) for name, each in (references or {}).items()})


def fits(schema, value):
    return schema.violation(json.dumps(value).encode()) is None


@pytest.mark.parametrize(("number", "name"), DRAFTS.items())
def test_every_draft_is_known(number, name):
    schema = parse({"$schema": name, "type": "integer"})
    assert schema.draft.number == number
    assert fits(schema, 1)
    assert not fits(schema, "1")


def test_a_schema_that_names_no_draft_is_one_of_draft_7():
    assert parse({"type": "string"}).draft.number == 7
    assert parse(True).draft.number == 7


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "text"}, "at #/type"),
        ({"properties": {"a": {"minLength": -1}}}, "at #/properties/a/minLength"),
        ({"required": "a"}, "at #/required"),
        ({"pattern": "("}, "at #/pattern"),
        ({"$schema": "http://example.test/mine"}, "$schema is 'http://example.test/mine'"),
        ({"$schema": 7}, "$schema is 7"),
        ({"type": "text", "minLength": -1}, "at #/minLength: -1 is less"),
        ([], "neither an object nor true or false"),
        ("text", "neither an object nor true or false"),
        ({"properties": {"a": {"$ref": "#/definitions/b"}}}, "#/properties/a/$ref leads to nothing"),
        ({"$ref": "#/title", "title": "x"}, "leads to nothing, or not to a schema"),
        (
            {"properties": {"a": {"$ref": "http://example.test/x.json"}}},
            "#/properties/a/$ref leads to a schema that is not",
        ),
        ({"$ref": "file:///etc/passwd"}, "not registered"),
        ({"$ref": "http://[/"}, "at #/$ref"),
    ],
)
def test_a_mistake_is_reported_with_its_place(schema, where):
    with pytest.raises(InvalidSchema) as refusal:
        parse(schema)
    assert where in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize("text", ["", "{", "{]", "nul", '{"a": NaN}', "\ud800", '"\\ud800', "[" * 100_000])
def test_whatever_is_no_json_is_refused_as_such(text):
    with pytest.raises(InvalidSchema):
        JSON.parse(text, {})


def test_large_schemas_are_refused():
    with pytest.raises(SchemaTooLarge):
        parse({"title": "x" * (1 << 20)})
    nested = {}
    for _ in range(200):
        nested = {"not": nested}
    with pytest.raises(SchemaTooLarge):
        parse(nested)
    with pytest.raises(SchemaTooLarge):
        parse({"anyOf": [{"type": "null"}] * 20_001})


ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}}, "definitions": {"zip": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "references"),
    [
        ({"properties": {"a": {"$ref": "address.json"}}}, {"address.json": ADDRESS}),
        ({"$id": "http://x.test/r", "properties": {"a": {"$ref": "address.json"}}}, {"address.json": ADDRESS}),
        ({"properties": {"a": {"$ref": "http://x.test/a"}}}, {"http://x.test/a": ADDRESS}),
        ({"properties": {"a": {"$ref": "http://x.test/a"}}}, {"address": {"$id": "http://x.test/a", **ADDRESS}}),
        (
            {"properties": {"a": {"$ref": "b.json"}}},
            {"address.json": ADDRESS, "b.json": {"$ref": "address.json"}},
        ),
        ({"properties": {"a": {"$ref": "#here"}}, "definitions": {"h": {"$id": "#here", **ADDRESS}}}, {}),
    ],
)
def test_references_lead_to_registered_schemas(schema, references):
    parsed = parse(schema, references)
    assert fits(parsed, {"a": {"street": "x"}})
    assert not fits(parsed, {"a": {"street": 1}})
    closed = json.loads(json.dumps({"s": schema, "r": references}).replace('"string"', '"integer"'))
    assert [reason.kind for reason in JSON.incompatibilities(parsed, parse(closed["s"], closed["r"]))] == [
        "TYPE_CHANGED"
    ]


def test_a_reference_may_lead_into_a_part_of_another_schema():
    parsed = parse({"properties": {"z": {"$ref": "address.json#/definitions/zip"}}}, {"address.json": ADDRESS})
    assert fits(parsed, {"z": 5})
    assert not fits(parsed, {"z": "5"})


def test_schemas_that_differ_in_spaces_and_order_have_one_form():
    one = JSON.parse('{"type": "object", "properties": {"b": {}, "a": true}}', {})
    other = JSON.parse('{ "properties":{"a":true,"b":{}},\n"type":"object" }', {})
    assert JSON.canonical(one) == JSON.canonical(other) == '{"properties":{"a":true,"b":{}},"type":"object"}'
    assert JSON.canonical(JSON.parse(JSON.canonical(one), {})) == JSON.canonical(one)


def test_a_value_that_does_not_fit_is_told_where_and_why():
    schema = parse({"properties": {"a/b": {"items": {"type": "integer"}}}, "required": ["c"]})
    wrong, lacking = schema.violation(b'{"a/b": [1, "x"], "c": 1}'), schema.violation(b'{"a/b": [1]}')
    assert (wrong.path, wrong.message) == ("/a~1b/1", '"x" is not of type "integer"')
    assert (lacking.path, lacking.message) == ("", '"c" is a required property')


DOUBLING = {
    "$ref": "#/definitions/one",
    "definitions": {
        "one": {"anyOf": [{"$ref": "#/definitions/list"}, {"$ref": "#/definitions/list"}]},
        "list": {"type": "array", "items": {"$ref": "#/definitions/one"}},
    },
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"type": "string"}}, list(range(200_000))),
        ({"anyOf": [{"items": {"type": "string"}}]}, list(range(200_000))),
        ({"additionalProperties": {"anyOf": [{"const": n} for n in range(200)]}}, {f"k{n}": -1 for n in range(20_000)}),
        (DOUBLING, json.loads("[" * 60 + "1" + "]" * 60)),
    ],
    ids=["many items", "many items in an alternative", "many alternatives", "alternatives within each other"],
)
def test_why_a_value_does_not_fit_is_told_at_once_however_many_reasons_there_are(schema, value):
    text = json.dumps(value).encode()
    began = time.process_time()
    assert parse(schema).violation(text) is not None
    assert time.process_time() - began < 1


def test_a_value_among_alternatives_is_told_where_it_does_not_fit():
    optional = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema = parse({"items": {"properties": dict.fromkeys("abc", optional)}})
    rows = [dict.fromkeys("abc", "x") for _ in range(300)]
    assert schema.violation(json.dumps(rows).encode()) is None
    rows[298]["b"] = 7
    assert schema.violation(json.dumps(rows).encode()).path == "/298/b"
    assert schema.violation(json.dumps(rows * 10).encode()).message == UNEXPLAINED
    rows[298]["b"] = None
    assert schema.violation(json.dumps(rows * 10).encode()) is None


def test_a_schema_with_many_mistakes_is_refused_at_once():
    began = time.process_time()
    with pytest.raises(InvalidSchema, match="is not valid at #/properties/"):
        parse({"properties": {f"k{n}": 1 for n in range(50_000)}})
    assert time.process_time() - began < 1


@pytest.mark.parametrize("value", [b"", b"{", b"\xff", b'"\xff"', b"[" * 100_000])
def test_bytes_that_are_no_json_do_not_fit(value):
    violation = parse(True).violation(value)
    assert "not JSON" in violation.message


def test_a_hostile_pattern_takes_no_time():
    schema = parse({"pattern": "^(a|aa)+$", "patternProperties": {"^(?=(a+)+$)b": {}}})
    assert schema.violation(json.dumps("a" * 5000 + "b").encode()) is not None
    other = parse({"properties": {"a" * 3000 + "b": {"type": "string"}}})
    assert JSON.incompatibilities(schema, other)


def test_a_comparison_that_would_take_forever_is_given_up():
    def tangled(last):
        names = [f"n{at}" for at in range(12)]
        nodes = {
            name: {
                "anyOf": [
                    {"required": [other], "properties": {"x": {"$ref": f"#/definitions/{other}"}}} for other in names
                ]
            }
            for name in names
        }
        return {"$ref": "#/definitions/n0", "definitions": nodes | {"n11": {"type": last}}}

    found = JSON.incompatibilities(parse(tangled("string")), parse(tangled("integer")))
    assert found, "whatever cannot be shown to be compatible is refused"


def test_a_chain_of_references_of_any_length_is_compared_or_refused():
    def chain(last, length):
        links = {f"n{at}": {"properties": {"next": {"$ref": f"#/definitions/n{at + 1}"}}} for at in range(length)}
        return parse({"$ref": "#/definitions/n0", "definitions": {**links, f"n{length}": {"type": last}}})

    assert JSON.incompatibilities(chain("number", 40), chain("integer", 40)) == []
    assert [each.kind for each in JSON.incompatibilities(chain("string", 40), chain("integer", 40))] == ["TYPE_CHANGED"]
    assert [each.kind for each in JSON.incompatibilities(chain("number", 3000), chain("integer", 3000))] == [
        "SCHEMAS_TOO_COMPLEX"
    ]


def test_a_reason_has_a_path_into_the_schema_and_says_what_is_wrong():
    writer = parse({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}})
    reader = parse(
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "maxLength": 3}}}}
    )
    (reason,) = JSON.incompatibilities(reader, writer)
    assert reason.path == "#/properties/a/items/maxLength"
    assert reason.message == "the reader has maxLength 3, the writer has none"


KEYWORDS = [
    "type",
    "properties",
    "items",
    "prefixItems",
    "required",
    "enum",
    "const",
    "$ref",
    "$id",
    "id",
    "$schema",
    "$defs",
    "definitions",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "dependentRequired",
    "minimum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "contains",
    "$anchor",
    "unevaluatedProperties",
    "propertyNames",
]
SCRAPS = st.sampled_from(["string", "object", "#", "#/properties/a", "a", "other.json", "", *DRAFTS.values()])
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(allow_nan=False, allow_infinity=False), SCRAPS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(ANY_JSON, ANY_JSON)
def test_any_json_is_a_schema_or_refused_as_none(document, other):
    try:
        schema = parse(document, {"other.json": other})
    except InvalidSchema:
        return
    assert JSON.incompatibilities(schema, schema) == []
    assert isinstance(JSON.incompatibilities(schema, parse({"type": ["object", "array"]})), list)
    assert isinstance(JSON.incompatibilities(parse({"properties": {"a": {"minimum": 1}}}), schema), list)
    assert isinstance(schema.violation(b'{"a": [1]}'), Violation | None)
