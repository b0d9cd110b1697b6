"""Whatever JSON schemas are called compatible: every value that the writer's takes, the reader's takes as well.

Not generated, because registries call them compatible though they are not: required properties with a default, and
`oneOf` with alternatives that overlap.
"""

import itertools
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goqueue.core.schemas.json_schema.format import JsonSchemaFormat

JSON = JsonSchemaFormat()

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("a", "b", "ab")
PATTERNS = ("^a", "b$", "^a+$")

# Small values only: the fewer there are, the more often two rules meet in one of them.
SCALARS = [None, True, False, -1, 0, 1, 2, 3, 4, 6, 0.5, 1.5, 2.5, "", "a", "b", "ab", "aab", "abab"]
ITEMS = [1, 2.5, "a", "ab"]
ARRAYS = [list(each) for length in range(4) for each in itertools.product(ITEMS, repeat=length)]
MEMBERS = [1, 2.5, "ab", {"a": 1}]
OBJECTS = [
    dict(zip(names, each, strict=True))
    for length in range(4)
    for names in itertools.combinations((*NAMES, "c"), length)
    for each in itertools.product(MEMBERS, repeat=length)
]
NESTED = [{"a": each} for each in (*ARRAYS[:50], *OBJECTS[:80])] + [[each] for each in OBJECTS[:80]]
VALUES = [*SCALARS, *ARRAYS, *OBJECTS, *NESTED]

TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
small = st.integers(0, 3)
bound = st.sampled_from([-1, 0, 1, 1.5, 2, 3])


def schemas(depth, draft):
    if depth == 0:
        return st.one_of(leaves(draft), st.sampled_from([True, False, {}]), st.just({"$ref": "#/definitions/shared"}))
    return st.one_of(leaves(draft), objects(depth, draft), arrays(depth, draft), combined(depth, draft))


def some(**keywords):
    """A schema with any of these keywords."""
    names = {name.rstrip("_").replace("__", "$"): strategy for name, strategy in keywords.items()}
    return st.lists(st.sampled_from(sorted(names)), unique=True, max_size=4).flatmap(
        lambda chosen: st.fixed_dictionaries({name: names[name] for name in chosen})
    )


def types():
    return st.one_of(st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), unique=True, min_size=1, max_size=3))


def leaves(draft):
    return some(
        type=types(),
        enum=st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4, unique_by=json.dumps),
        const=st.sampled_from(SCALARS),
        minLength=small,
        maxLength=small,
        minimum=bound,
        maximum=bound,
        exclusiveMinimum=bound,
        exclusiveMaximum=bound,
        multipleOf=st.sampled_from([0.5, 1, 2, 3]),
        pattern=st.sampled_from(PATTERNS),
    )


def objects(depth, draft):
    inner = st.deferred(lambda: schemas(depth - 1, draft))
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
    needed = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), unique=True), max_size=1)
    keywords = {
        "type": st.just("object"),
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=1),
        "additionalProperties": st.one_of(st.just(False), inner),
        "required": st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
        "propertyNames": inner,
        "minProperties": small,
        "maxProperties": small,
    }
    if draft == DRAFT_2020:
        keywords |= {
            "dependentRequired": needed,
            "dependentSchemas": named,
            "unevaluatedProperties": st.one_of(st.just(False), inner),
        }
    else:
        keywords["dependencies"] = st.one_of(needed, named)
    return some(**keywords)


def arrays(depth, draft):
    inner = st.deferred(lambda: schemas(depth - 1, draft))
    several = st.lists(inner, min_size=1, max_size=2)
    keywords = {
        "type": st.just("array"),
        "contains": inner,
        "minItems": small,
        "maxItems": small,
        "uniqueItems": st.booleans(),
    }
    if draft == DRAFT_2020:
        keywords |= {
            "prefixItems": several,
            "items": inner,
            "minContains": small,
            "maxContains": small,
            "unevaluatedItems": st.one_of(st.just(False), inner),
        }
    else:
        keywords |= {"items": st.one_of(inner, several), "additionalItems": inner}
    return some(**keywords)


def combined(depth, draft):
    inner = st.deferred(lambda: schemas(depth - 1, draft))
    several = st.lists(inner, min_size=1, max_size=3)
    distinct = st.lists(st.sampled_from(["null", "string", "array", "number"]), unique=True, min_size=1, max_size=3)
    keywords = {
        "allOf": several,
        "anyOf": several,
        "oneOf": distinct.map(lambda names: [{"type": name} for name in names]),
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "type": types(),
        "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
        "unevaluatedProperties": st.booleans(),
    }
    return some(**keywords)


def places(schema):
    """All objects and lists within a schema where a change can be made without making alternatives overlap."""
    found, waiting = [], [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            found.append(each)
            inner = [part for name, part in each.items() if name != "oneOf"] if isinstance(each, dict) else each
            waiting.extend(inner)
    return found


@st.composite
def pairs(draw):
    draft = draw(st.sampled_from([DRAFT_7, DRAFT_2020]))
    shared = draw(schemas(1, draft))
    before = draw(schemas(2, draft))
    after = json.loads(json.dumps(before))
    for _ in range(draw(st.integers(0, 3))):
        _change(draw, draw(st.sampled_from(places(after))), draft) if isinstance(after, dict) else None
    return _whole(before, shared, draft), _whole(after, draw(st.sampled_from([shared, draw(schemas(1, draft))])), draft)


def _change(draw, place, draft):
    other = draw(schemas(1, draft))
    if isinstance(place, list) and place:
        place[draw(st.integers(0, len(place) - 1))] = draw(st.sampled_from([other, place[0]]))
    elif isinstance(place, dict):
        if place and draw(st.booleans()):
            del place[draw(st.sampled_from(sorted(place)))]
        elif isinstance(other, dict):
            place.update(other)


def _whole(schema, shared, draft):
    return {"$schema": draft, "allOf": [schema], "definitions": {"shared": shared}}


def parsed(schema):
    """None for what a change has made into something that is no schema any more."""
    try:
        return JSON.parse(json.dumps(schema), {})
    except Exception as reason:
        assert type(reason).__name__ in ("InvalidSchema", "SchemaTooLarge"), reason
        return None


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs())
def test_a_reader_takes_all_values_of_a_compatible_writer(pair):
    before, after = map(parsed, pair)
    if before is None or after is None:
        return
    for writer, reader in ((before, after), (after, before)):
        if JSON.incompatibilities(reader, writer):
            continue
        for value in VALUES:
            if writer.validator.is_valid(value):
                assert reader.validator.is_valid(value), (reader.document, writer.document, value)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs())
def test_a_schema_is_compatible_with_itself_under_another_title(pair):
    schema = parsed(pair[0])
    if schema is not None and "unevaluated" not in json.dumps(pair[0]):
        assert JSON.incompatibilities(parsed({"title": "other", **pair[0]}), schema) == []


def test_enough_pairs_are_compatible_for_this_to_prove_something():
    found = {True: 0, False: 0}

    @settings(max_examples=80, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(pairs())
    def count(pair):
        before, after = map(parsed, pair)
        if before is not None and after is not None and pair[0] != pair[1]:
            found[not JSON.incompatibilities(after, before)] += 1

    count()
    assert min(found.values()) > 10, found
