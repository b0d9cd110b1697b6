"""Whatever the quick check takes, the full one takes as well."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goqueue.core.schemas.json_schema.format import JsonSchemaFormat
from goqueue.core.schemas.json_schema.quick import quick_check
from tests.property.test_json_schema_compatibility import DRAFT_2020, NAMES, SCALARS, TYPES, VALUES, schemas

TEXTS = [json.dumps(value).encode() for value in VALUES]
BROKEN = [b"", b"{", b'{"a":1} 2', b'{"a": "\xff"}', b'{"\xff": 1}', b'"\\q"', b"[1,]", b"01", b"nan"]
SHARED = {"definitions": {"shared": {"type": "integer"}}, "$schema": DRAFT_2020}


def some(kind, **keywords):
    return st.fixed_dictionaries({"type": kind}, optional=keywords)


bound = st.sampled_from([-1, 0, 1, 1.5, 2, 2.0, 3])
size = st.integers(0, 3)
leaves = st.one_of(
    some(
        st.lists(st.sampled_from(TYPES[:5]), unique=True, min_size=1, max_size=3),
        minimum=bound,
        exclusiveMaximum=bound,
        maxLength=size,
        minLength=size,
        title=st.just("a title"),
    ),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4, unique_by=json.dumps)}),
    st.sampled_from([True, {}, {"const": 1}, {"const": "ab", "type": "string"}, {"type": "integer", "multipleOf": 2}]),
)
typed = st.recursive(
    leaves,
    lambda inner: st.one_of(
        some(st.just("array"), items=inner, minItems=size, maxItems=size),
        some(
            st.sampled_from(["object", ["object", "array"], ["object", "null"]]),
            properties=st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
            required=st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
            additionalProperties=st.one_of(st.booleans(), st.just({})),
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.one_of(typed, typed, schemas(2, DRAFT_2020)))
def test_what_the_quick_check_takes_fits_the_schema(schema):
    fits = quick_check(schema)
    if fits is None:
        return
    document = schema | SHARED if isinstance(schema, dict) else schema
    parsed = JsonSchemaFormat().parse(json.dumps(document), {})
    for text in [*TEXTS, *BROKEN]:
        if fits(text):
            assert parsed.violation(text) is None, text


def test_a_schema_as_people_write_them_has_a_quick_check_that_takes_what_fits():
    order = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "state": {"enum": ["open", "closed"]},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "note": {"type": ["string", "null"], "maxLength": 5},
            "total-amount": {"type": "number"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }
    fits = quick_check(order)
    assert fits is not None
    assert fits(b'{"id": 1}')
    assert fits(
        '{"id": 7, "state": "open", "lines": [{"sku": "a", "more": "ü"}], "note": null, "total-amount": 3}'.encode()
    )
    for wrong in (
        b"{}",
        b'{"id": 0}',
        b'{"id": 1, "x": 2}',
        b'{"id": 1, "note": "too long"}',
        b'{"id": 1, "state": "?"}',
    ):
        assert not fits(wrong), wrong
