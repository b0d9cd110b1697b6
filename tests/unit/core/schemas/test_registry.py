"""Registering schemas, finding them again, and referring to them."""

import json
import time

import pytest

from goqueue.core.schemas import registering
from goqueue.core.schemas.avro.format import AvroFormat
from goqueue.core.schemas.events import Registered
from goqueue.core.schemas.identity import identity_of
from goqueue.core.schemas.policies import Config, Level
from goqueue.core.schemas.registry import Registry
from goqueue.core.schemas.schema import LATEST, Schema, lightly_canonical, parse_version
from goqueue.errors import (
    IncompatibleSchema,
    InvalidRequest,
    InvalidSchema,
    InvalidSubject,
    InvalidVersion,
    SchemaTooLarge,
    UnknownSchema,
    UnknownSubject,
    UnknownVersion,
)
from tests.unit.core.schemas.scene import FORMATS, OTHER, V1, V2, V3, Scene, avro

COLOUR = {"type": "enum", "name": "shop.Colour", "symbols": ["RED"]}
CAR = {"type": "record", "name": "shop.Car", "fields": [{"name": "colour", "type": "Colour"}]}
LOT = {"type": "array", "items": "shop.Car"}


def test_versions_count_for_each_subject_and_ids_for_all():
    scene = Scene()
    assert scene.register("a", V1) == (1, 1)
    assert scene.register("a", V2) == (2, 2)
    assert scene.register("b", OTHER) == (3, 1)


def test_a_schema_is_registered_once_for_a_subject_and_shares_its_id_with_others():
    scene = Scene()
    scene.register("a", V1)
    scene.register("a", V2)
    assert scene.register("a", V1) == (1, 1)
    assert scene.register("b", V2) == (2, 1)
    assert len(scene.history) == 3
    assert scene.registry.view.places(2) == [("a", 2), ("b", 1)]


def test_layout_makes_no_other_schema_but_the_order_of_attributes_does():
    scene = Scene()
    scene.register("a", "int")
    assert scene.registry.register("a", Schema("AVRO", ' "int"\n')).id == 1
    assert scene.registry.register("a", Schema("AVRO", '{"type": "int"}')).id == 1
    assert scene.registry.register("b", Schema("AVRO", '{"type": "int"}')).id == 1
    scene.register("a", {"type": "long", "b": 1, "a": 2})
    assert scene.registry.register("a", avro({"b": 1, "type": "long", "a": 2})).id == 3


def identity(schema):
    return identity_of(Schema(schema.type, lightly_canonical(schema.type, schema.text)))


SAME = {
    "AVRO": (
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", {"type": "array", "items": "int"}]}]},
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": [{"type": "null"}, {"type": {"type": "array", "items": {"type": "int"}}}]}
            ],
        },
    ),
    "JSON": ({"title": "é", "type": "object"}, '{ "title" : "\\u00e9", "type" : "object" }'),
    "PROTOBUF": (
        'syntax = "proto3"; message A { string a = 1; /* b */ repeated int32 n = 2 [packed=true]; } // " end',
        'syntax="proto3";\n// "begin\nmessage A{\n\tstring a=1;repeated   int32 n = 2[packed = true];}',
    ),
}


@pytest.mark.parametrize("kind", SAME)
def test_schemas_that_differ_in_how_they_are_written_are_the_same(kind):
    one, other = (
        Schema(kind, text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)) for text in SAME[kind]
    )
    assert identity(one) == identity(other)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("PROTOBUF", 'option a = "x // y";', 'option a = "x";'),
        ("PROTOBUF", "int32 ab = 1;", "int32 a b = 1;"),
        ("PROTOBUF", 'option a = "x  y";', 'option a = "x y";'),
        ("PROTOBUF", 'option a = "\\"/*";b*/', 'option a = "\\"";'),
        ("AVRO", '{"type": "int", "logicalType": "date"}', '"int"'),
        ("AVRO", '["int", "null"]', '["null", "int"]'),
        ("JSON", '{"type": "integer"}', '{"type": ["integer"]}'),
    ],
)
def test_schemas_that_differ_in_what_they_say_are_not_the_same(kind, one, other):
    assert identity(Schema(kind, one)) != identity(Schema(kind, other))


def test_comments_that_do_not_end_are_read_once():
    began = time.process_time()
    for text in ("/*" * 20_000, "/**" * 20_000, '"' * 50_000, "'\\" * 20_000, "/" * 50_000):
        identity_of(Schema("PROTOBUF", text))
    assert time.process_time() - began < 2


def test_variants_that_had_ids_of_their_own_keep_them():
    scene = Scene()
    for number, text in enumerate(('"int"', '{"type":"int"}'), 1):
        scene.do(Registered("a", number, number, Schema("AVRO", text)))
    assert scene.registry.find("a", Schema("AVRO", '"int"')).id == 1
    assert scene.registry.find("a", Schema("AVRO", '{"type": "int"}')).id == 2
    assert scene.register("b", "int") == (1, 1)
    scene.do(scene.registry.delete_version("a", 2))
    scene.do(scene.registry.delete_version("a", 2, permanent=True))
    assert scene.registry.find("a", Schema("AVRO", '{"type": "int"}')).id == 1


def test_a_schema_that_means_the_same_is_found_however_it_was_written():
    scene = Scene()
    scene.register("a", {"type": "int", "b": 1, "a": 2})
    scene.register("a", "long")
    other = avro({"b": 1, "a": 2, "type": "int"})
    assert scene.registry.register("a", other, normalize=True).version == 1
    assert scene.registry.find("a", other, normalize=True).id == 1
    with pytest.raises(UnknownSchema):
        scene.registry.find("a", other)


def test_a_subject_can_be_set_to_normalize():
    scene = Scene()
    scene.do(scene.registry.policies.set_config("a", Config(normalize=True)))
    assert scene.register("a", {"fields": [], "name": "R", "namespace": "n", "type": "record"}) == (1, 1)
    assert scene.registry.view.schema(1).text == '{"name":"n.R","type":"record","fields":[]}'
    assert scene.register("a", {"type": "record", "name": "n.R", "fields": []}) == (1, 1)


def test_deciding_changes_nothing():
    scene = Scene()
    scene.register("a", V1)
    before = scene.registry.snapshot()
    scene.registry.register("a", avro(V2))
    scene.registry.delete_subject("a")
    assert scene.registry.snapshot() == before


def test_a_schema_is_found_by_its_content():
    scene = Scene()
    scene.register("a", V1)
    scene.register("a", V2)
    scene.register("b", OTHER)
    found = scene.registry.find("a", avro(V2))
    assert (found.subject, found.version, found.id) == ("a", 2, 2)
    with pytest.raises(UnknownSchema):
        scene.registry.find("a", avro(OTHER))
    with pytest.raises(UnknownSubject):
        scene.registry.find("c", avro(V1))
    with pytest.raises(InvalidSchema):
        scene.registry.find("a", Schema("AVRO", "{"))


def test_subjects_and_versions_are_listed_and_asked_for():
    scene = Scene()
    for subject in ("orders-value", "orders-key", "bills-value"):
        scene.register(subject, V1)
    scene.register("orders-value", V2)
    view = scene.registry.view
    assert view.subjects() == ["bills-value", "orders-key", "orders-value"]
    assert view.subjects(prefix="orders") == ["orders-key", "orders-value"]
    assert view.versions("orders-value") == [1, 2]
    assert view.version("orders-value", LATEST).version == 2
    assert view.version("orders-value", 1).id == 1
    assert [(v.subject, v.version) for v in view.schemas(prefix="orders", latest_only=True)] == [
        ("orders-key", 1),
        ("orders-value", 2),
    ]
    with pytest.raises(UnknownSubject):
        view.versions("none")
    with pytest.raises(UnknownSubject):
        view.version("none", LATEST)
    with pytest.raises(UnknownVersion):
        view.version("orders-key", 2)
    with pytest.raises(UnknownSchema):
        view.schema(9)


def test_what_does_not_fit_is_refused_with_all_reasons():
    scene = Scene()
    scene.register("a", V1)
    with pytest.raises(IncompatibleSchema) as refused:
        scene.register("a", {**V1, "name": "Bill", "fields": [{"name": "id", "type": "string"}]})
    assert [reason.split(":")[0] for reason in refused.value.reasons] == [
        "NAME_MISMATCH at /name",
        "TYPE_MISMATCH at /fields/0/type",
    ]
    assert "version 1" in refused.value.reasons[0]


NEW_FIELD = {**V1, "fields": [*V1["fields"], {"name": "b", "type": "int"}]}
FITS = {
    # level: (V2 after V1, V3 after V1, a new field without default after V1)
    Level.NONE: (True, True, True),
    Level.BACKWARD: (True, True, False),
    Level.FORWARD: (True, False, True),
    Level.FULL: (True, False, False),
}


@pytest.mark.parametrize("level", FITS)
def test_each_level_lets_pass_what_it_promises(level):
    scene = Scene()
    scene.register("a", V1)
    scene.do(scene.registry.policies.set_config(None, Config(level)))
    for schema, fits in zip((V2, V3, NEW_FIELD), FITS[level], strict=True):
        assert (scene.registry.incompatibilities("a", avro(schema)) == []) is fits


@pytest.mark.parametrize("level", [Level.BACKWARD, Level.FORWARD, Level.FULL])
def test_transitive_levels_look_at_all_versions_and_others_at_the_latest(level):
    """The field goes and comes again with another type: only the first version minds."""
    first = {**V1, "fields": [{"name": "x", "type": "int", "default": 0}]}
    last = {**V1, "fields": [{"name": "x", "type": "string", "default": ""}]}
    scene = Scene()
    scene.register("a", first)
    scene.register("a", {**V1, "fields": []})
    scene.do(scene.registry.policies.set_config("a", Config(level)))
    assert scene.registry.incompatibilities("a", avro(last)) == []
    assert scene.registry.incompatibilities("a", avro(last), version=1) != []
    scene.do(scene.registry.policies.set_config("a", Config(Level(f"{level}_TRANSITIVE"))))
    (*_, reason) = scene.registry.incompatibilities("a", avro(last))
    assert "version 1" in reason
    scene.delete("a", 1)
    assert scene.registry.incompatibilities("a", avro(last)) == []


def test_compatibility_can_be_asked_for_before_there_is_a_subject():
    scene = Scene()
    assert scene.registry.incompatibilities("a", avro(V1)) == []
    assert scene.registry.incompatibilities("a", avro(V1), version=LATEST) == []
    with pytest.raises(UnknownVersion):
        scene.registry.incompatibilities("a", avro(V1), version=1)


def test_another_type_of_schema_cannot_follow_unless_anything_may():
    class Twin(AvroFormat):
        name = "JSON"

    scene = Scene({**FORMATS, "JSON": Twin()})
    scene.register("a", "int")
    with pytest.raises(IncompatibleSchema, match="DIFFERENT_TYPE"):
        scene.registry.register("a", Schema("JSON", '"long"'))
    scene.do(scene.registry.policies.set_config("a", Config(Level.NONE)))
    assert scene.registry.register("a", Schema("JSON", '"int"')).id == 2


def test_references_are_followed_to_the_end():
    scene = Scene()
    scene.register("colour", COLOUR)
    scene.register("car", CAR, ("shop.Colour", "colour", 1))
    assert scene.register("lot", LOT, ("shop.Car", "car", 1)) == (3, 1)
    assert scene.registry.view.referrers("colour", 1) == [2]
    assert scene.registry.view.referrers("car", LATEST) == [3]
    assert "Car" in str(scene.registry.parsed(3)[1].named)


def test_the_latest_version_of_a_reference_is_the_one_of_that_time():
    scene = Scene()
    scene.register("colour", COLOUR)
    scene.register("car", CAR, ("shop.Colour", "colour", LATEST))
    scene.register("colour", {**COLOUR, "symbols": ["RED", "BLUE"]})
    (reference,) = scene.registry.view.schema(2).references
    assert reference.version == 1


def test_the_same_text_with_other_references_is_another_schema():
    scene = Scene()
    scene.register("colour", COLOUR)
    scene.register("colour", {**COLOUR, "symbols": ["RED", "BLUE"]})
    assert scene.register("car", CAR, ("shop.Colour", "colour", 1)) == (3, 1)
    assert scene.register("car", CAR, ("shop.Colour", "colour", 2)) == (4, 2)


@pytest.mark.parametrize(
    ("references", "says"),
    [
        ([("c", "nowhere", 1)], "there is none"),
        ([("c", "colour", 7)], "there is none"),
        ([("c", "colour", 0)], "there is none"),
        ([("c", "colour", 1), ("c", "colour", 1)], "same name"),
        ([("", "colour", 1)], "not the name of a reference"),
        ([(f"c{n}", "colour", 1) for n in range(101)], "may have 100"),
        ([], "no type 'Colour'"),
    ],
)
def test_references_that_lead_nowhere_are_refused(references, says):
    scene = Scene()
    scene.register("colour", COLOUR)
    with pytest.raises(InvalidSchema, match=says):
        scene.register("car", CAR, *references)


def test_a_long_chain_of_references_ends_in_an_error():
    scene = Scene()
    scene.register("s0", {"type": "record", "name": "T0", "fields": []})
    with pytest.raises(InvalidSchema, match="too many"):
        for number in range(1, 1100):
            scene.register(f"s{number}", "int", (f"T{number - 1}", f"s{number - 1}", 1))
    assert number == 1001


def test_one_name_cannot_lead_to_two_schemas():
    scene = Scene()
    scene.register("colour", COLOUR)
    scene.register("colour", {**COLOUR, "symbols": ["RED", "BLUE"]})
    scene.register("car", CAR, ("shop.Colour", "colour", 1))
    with pytest.raises(InvalidSchema, match="version 2 of 'colour' and to version 1"):
        scene.register("lot", LOT, ("shop.Colour", "colour", 2), ("shop.Car", "car", 1))


@pytest.mark.parametrize("name", ["", "x" * 250, "a\nb", "\x00", "\ud800"])
def test_a_subject_has_a_printable_name_of_up_to_249_characters(name):
    with pytest.raises(InvalidSubject):
        Scene().register(name)
    Scene().register("x" * 249)
    Scene().register("Straße/ü:.value 1")


@pytest.mark.parametrize(
    ("schema", "kind", "says"),
    [
        (Schema("AVRO", " "), InvalidSchema, "empty"),
        (Schema("AVRO", '"\ud800"'), InvalidSchema, "half a character"),
        (Schema("AVRO", '"' + "x" * 2**20 + '"'), SchemaTooLarge, "1048576"),
        (Schema("THRIFT", "struct"), InvalidSchema, "no schema type 'THRIFT'"),
    ],
)
def test_what_is_no_schema_is_refused(schema, kind, says):
    with pytest.raises(kind, match=says) as refused:
        Registry(FORMATS).register("a", schema)
    assert refused.value.hint


def test_the_registry_is_full_at_its_limits(monkeypatch):
    scene = Scene()
    scene.register("a", V1)
    scene.register("a", V2)
    monkeypatch.setattr(registering, "MOST_VERSIONS", 2)
    with pytest.raises(InvalidRequest, match="can have no more"):
        scene.register("a", V3)
    assert scene.register("a", V1) == (1, 1)
    monkeypatch.setattr(registering, "MOST_SCHEMAS", 2)
    with pytest.raises(InvalidRequest, match="2 schemas"):
        scene.register("b", V3)
    monkeypatch.setattr(registering, "MOST_SCHEMAS", 9)
    monkeypatch.setattr(registering, "MOST_CHARACTERS", 9)
    with pytest.raises(InvalidRequest, match="too large"):
        scene.register("b", V3)


@pytest.mark.parametrize(("text", "version"), [("latest", LATEST), ("-1", LATEST), ("1", 1), ("2147483647", 2**31 - 1)])
def test_a_version_is_a_number_or_the_latest(text, version):
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "0", "-2", "x", "1.5", "2147483648", "9" * 5000, "²", "٣", "LATEST"])
def test_anything_else_is_not_a_version(text):
    with pytest.raises(InvalidVersion):
        parse_version(text)


def test_nothing_is_parsed_before_something_is_compared_and_then_only_once():
    class Counting(AvroFormat):
        parsed = 0

        def parse(self, text, references):
            Counting.parsed += 1
            return super().parse(text, references)

    scene = Scene()
    for number in range(200):
        scene.register(f"s{number}", V1 if number % 2 else OTHER)
    registry = Registry({"AVRO": Counting()})
    registry.restore(scene.registry.snapshot())
    assert registry.register("s1", avro(V1)).version == 1
    assert registry.find("s1", avro(V1)).id == 2
    assert registry.register("new", avro(V1)).id == 2
    assert Counting.parsed == 0
    registry.incompatibilities("s1", avro(V2))
    registry.incompatibilities("s1", avro(V2))
    assert Counting.parsed == 2


def test_what_takes_long_can_be_parsed_ahead():
    scene = Scene()
    scene.register("colour", COLOUR)
    scene.register("car", CAR, ("shop.Colour", "colour", 1))
    registry = scene.restored()
    other = avro({**CAR, "doc": "new"}, ("shop.Colour", "colour", 1))
    jobs = registry.unparsed("car", other)
    assert [job.references.keys() for job in jobs] == [{"shop.Colour"}, {"shop.Colour"}]
    for job in jobs:
        registry.keep(job, job.run())
    assert registry.unparsed("car", other) == []
    assert registry.register("car", other).version == 2
    known = avro(COLOUR)
    assert registry.unparsed("colour", known) == []
    assert len(registry.unparsed("colour", known, also_known=True)) == 1
    assert len(registry.unparsed("colour", known, normalize=True)) == 1


def test_what_was_parsed_ahead_is_not_used_when_its_references_have_changed():
    scene = Scene()
    scene.register("colour", COLOUR)
    (job,) = scene.registry.unparsed("car", avro(CAR, ("shop.Colour", "colour", 1)))
    parsed = job.run()
    scene.delete("colour")
    scene.delete("colour", permanent=True)
    scene.registry.keep(job, parsed)
    with pytest.raises(InvalidSchema, match="there is none"):
        scene.register("car", CAR, ("shop.Colour", "colour", 1))
