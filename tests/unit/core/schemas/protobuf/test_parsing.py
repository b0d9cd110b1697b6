"""Which texts are Protobuf schemas, what is said about those that are not, and the one form of those that are."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.schemas.protobuf.payload import MessageReader
from goqueue.errors import InvalidSchema, SchemaTooLarge
from tests.unit.core.schemas.protobuf.protos import PROTOBUF, proto2, proto3

EVERYTHING = r"""
// A comment.
import "google/protobuf/descriptor.proto";
import "google/protobuf/timestamp.proto";
option java_package = "com.shop";
extend google.protobuf.FieldOptions {
  optional string note = 50000; optional X deep = 50001; repeated int32 few = 50002;
}
message X { optional int32 q = 1; optional X x = 2; }
message M {
  option deprecated = true;
  required int32 a_b = 1 [(note) = "h\"i\303\244", (deep) = { q: 4 x { q: 3 } }, (few) = 1, (few) = 2, default = -4];
  optional group G = 2 { optional string s = 1 [default = "a\n\"b"]; }
  oneof c { int32 d = 3; string e = 4; group H = 5 {} }
  map<string, X> m = 6;
  repeated int64 r = 7 [packed = true];
  optional E en = 12 [default = B];
  optional bytes by = 13 [default = "\001\377"];
  optional double db = 14 [default = inf];
  optional bool bo = 15 [default = true, json_name = "foo"];
  optional google.protobuf.Timestamp t = 16;
  enum N { Z = 0; }
  extend M { optional int32 ex = 101; }
  extensions 100 to 199, 500 to max;
  reserved 8, 9 to 11;
  reserved "aa", "zz";
}
enum E {
  option allow_alias = true; A = 1; B = 2; C = 2 [deprecated = true]; reserved -5 to -2, 100 to max; reserved "q";
}
service S { rpc Go(M) returns (stream X) { option deprecated = true; } }
"""


DESCRIPTOR = proto2(EVERYTHING).file.SerializeToString()


def test_the_one_form_of_a_schema_means_the_same_and_is_its_own_form():
    schema = proto2(EVERYTHING)
    text = PROTOBUF.canonical(schema)
    again = PROTOBUF.parse(text, {})
    assert PROTOBUF.canonical(again) == text
    assert again.file == schema.file


@pytest.mark.parametrize(
    "same",
    [
        "message M { int32 a = 1; N n = 2; message N {} }  // a remark",
        "message M { N n = 2; int32 a = 1; message N {} }",
        "message M {\n\n message N {} int32 a = 0x1; shop.M.N n = 2; }",
        "message M { int32 a = 1 [json_name = 'a']; .shop.M.N n = 2; message N {}; }",
    ],
)
def test_schemas_that_mean_the_same_have_one_form(same):
    assert PROTOBUF.canonical(proto3(same)) == PROTOBUF.canonical(proto3("message M { int32 a=1; N n=2; message N{} }"))


def test_the_order_of_messages_counts_because_records_refer_to_it():
    assert PROTOBUF.canonical(proto3("message A {} message B {}")) != PROTOBUF.canonical(
        proto3("message B {} message A {}")
    )


def test_a_serialized_descriptor_is_as_good_as_the_text():
    schema = proto3("message M { optional int32 a = 1; map<string, M> b = 2; }")
    assert PROTOBUF.canonical(PROTOBUF.parse(schema.serialized(), {})) == PROTOBUF.canonical(schema)


def test_a_reference_may_be_a_serialized_descriptor():
    part = proto3("message P {}").serialized()
    schema = proto3('import "part.proto"; message M { P p = 1; }', {"part.proto": part})
    assert [file.name for file in schema.imports] == ["part.proto"]


def test_well_known_types_need_no_registration_and_cannot_be_replaced():
    text = 'import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp t = 1; }'
    forged = 'syntax = "proto3"; package google.protobuf; message Timestamp { string forged = 1; }'
    assert proto3(text) == proto3(text, {"google/protobuf/timestamp.proto": forged})


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("message M { int32 a = 1;\n int32 b = 1; }", "line 4, column 12: Field number 1 has already been used"),
        ("message M { Unknown a = 1; }", 'line 3, column 13: "Unknown" is not defined'),
        ("message M {", "Reached end of input in message definition"),
        ("enum E { A = 1; }", "The first enum value must be zero"),
        ('import "missing.proto";', 'Import "missing.proto" was not found'),
    ],
)
def test_a_mistake_is_reported_with_its_place(text, where):
    with pytest.raises(InvalidSchema) as refusal:
        proto3(text)
    assert where in refusal.value.message
    assert "/tmp" not in refusal.value.message


def test_a_mistake_in_a_reference_names_the_reference():
    with pytest.raises(InvalidSchema, match=r"part\.proto, line 1, column 28"):
        proto3('import "part.proto";', {"part.proto": 'syntax = "proto3"; message {}'})


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("", {}),
        ("   ", {}),
        ("\ud800", {}),
        ("{}", {}),
        ("\x00", {}),
        ('edition = "2023"; message M {}', {}),
        (base64.b64encode(b"\xff\xff\xff").decode(), {}),
        (base64.b64encode(b"hello, this is text").decode(), {}),
        ('syntax = "proto3";' + "message A {" * 500 + "}" * 500, {}),
        ('syntax = "proto3"; import "schema.proto";', {}),
        ('syntax = "proto3";', {"../up.proto": ""}),
        ('syntax = "proto3";', {"/etc/passwd": "x"}),
        ('syntax = "proto3";', {"a//b.proto": "x"}),
        ('syntax = "proto3";', {"-Ix": "x"}),
        ('syntax = "proto3";', {"a.proto": 'syntax = "proto3";', "a.proto/b": 'syntax = "proto3";'}),
        ('syntax = "proto3";', {"": "x"}),
    ],
)
def test_whatever_is_no_schema_is_refused_as_such(text, references):
    with pytest.raises(InvalidSchema):
        PROTOBUF.parse(text, references)


@pytest.mark.parametrize("way", ["{}", "../../../../../../../../..{}", "/{}", "./{}", "//{}", "a/../..{}"])
def test_no_import_reads_a_file_that_is_not_registered(way, tmp_path):
    secret = tmp_path / "secret.proto"
    secret.write_text('syntax = "proto3"; message Secret {}')
    with pytest.raises(InvalidSchema, match="was not found"):
        proto3(f'import "{way.format(secret)}"; message M {{ Secret s = 1; }}')


def test_large_schemas_are_refused():
    with pytest.raises(SchemaTooLarge):
        proto3("//" + "x" * (1 << 20))
    with pytest.raises(SchemaTooLarge):
        proto3("message M {}", {f"p{at}.proto": 'syntax = "proto3";' for at in range(1001)})


def test_bytes_are_checked_against_a_message():
    reader = MessageReader(proto2("message M { required int32 a = 1; optional N n = 2; } message N {}"))
    assert reader.problem("shop.M", b"\x08\x05") is None
    assert reader.problem("shop.M", b"\x08\x05\x48\x01") is None, "unknown fields are how Protobuf evolves"
    assert "lacks required fields: a" in reader.problem("shop.M", b"")
    assert "not a message shop.M" in reader.problem("shop.M", b"\x08")
    assert "not a message shop.N" in reader.problem("shop.N", b"\xff\xff")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_descriptor_is_still_one_or_refused(damages):
    data = bytearray(DESCRIPTOR)
    for place, byte in damages:
        data[place % len(data)] = byte
    try:
        schema = PROTOBUF.parse(base64.b64encode(data).decode(), {})
    except InvalidSchema:
        return
    assert PROTOBUF.canonical(PROTOBUF.parse(PROTOBUF.canonical(schema), {})) == PROTOBUF.canonical(schema)


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("google/type/money.proto", "google.type.Money"),
        ("google/type/datetime.proto", "google.type.DateTime"),
        ("confluent/type/decimal.proto", "confluent.type.Decimal"),
        ("confluent/types/decimal.proto", "confluent.type.Decimal"),
    ],
)
def test_types_that_every_registry_knows_can_be_imported(file, kind):
    parsed = proto3(f'import "{file}";\nmessage Order {{ {kind} of = 1; }}')
    assert file in [each.name for each in parsed.imports]
    assert f".{kind} of = 1;" in PROTOBUF.canonical(parsed)


def test_annotations_of_registries_can_be_imported():
    text = 'import "confluent/meta.proto";\nmessage A { string a = 1 [(confluent.field_meta).tags = "PII"]; }'
    assert '[(.confluent.field_meta) = { tags: "PII" }]' in PROTOBUF.canonical(proto3(text))


def test_nothing_else_that_is_installed_can_be_imported():
    with pytest.raises(InvalidSchema, match="not found"):
        proto3('import "google/api/annotations.proto";')
