"""Which changes of a Protobuf schema are refused, in which direction, where, and under which name."""

import pytest

from goqueue.core.schemas.protobuf.reservations import reused_reservations
from tests.unit.core.schemas.protobuf.protos import PROTOBUF, kinds, proto2, proto3

SCALARS = {
    "varint": ["int32", "int64", "uint32", "uint64", "bool", "Color"],
    "zigzag": ["sint32", "sint64"],
    "fixed32": ["fixed32", "sfixed32"],
    "fixed64": ["fixed64", "sfixed64"],
    "float": ["float"],
    "double": ["double"],
    "text": ["string", "bytes"],
}
FAMILY_OF = {scalar: family for family, scalars in SCALARS.items() for scalar in scalars}


def test_scalars_that_are_written_alike_may_be_exchanged_and_no_others():
    # One message for each pair of types, so that two schemas say it all.
    pairs = [(before, after) for before in FAMILY_OF for after in FAMILY_OF]
    color = "enum Color { RED = 0; }"
    writer = proto3(color + "".join(f"message M{at} {{ {before} f = 1; }}" for at, (before, _) in enumerate(pairs)))
    reader = proto3(color + "".join(f"message M{at} {{ {after} f = 1; }}" for at, (_, after) in enumerate(pairs)))
    changed = [f"#/M{at}/1" for at, (before, after) in enumerate(pairs) if FAMILY_OF[before] != FAMILY_OF[after]]
    assert len(changed) > 100
    assert kinds(reader, writer) == [("FIELD_SCALAR_KIND_CHANGED", path) for path in changed][:100]


@pytest.mark.parametrize(
    ("name", "old", "new", "backward", "forward"),
    [
        ("a field is added", "message M { int32 a = 1; }", "message M { int32 a = 1; string b = 2; }", [], []),
        ("a field is renamed", "message M { int32 a = 1; }", "message M { int32 z = 1; }", [], []),
        (
            "a message is removed",
            "message M {} message N {}",
            "message M {}",
            [("MESSAGE_REMOVED", "#/N")],
            [],
        ),
        (
            "a nested message is removed",
            "message M { message N {} }",
            "message M {}",
            [("MESSAGE_REMOVED", "#/M/N")],
            [],
        ),
        ("messages change places", "message M {} message N {}", "message N {} message M {}", [], []),
        ("an enum loses a value", "enum E { A = 0; B = 1; }", "enum E { A = 0; }", [], []),
        ("an enum is removed", "enum E { A = 0; }", "message M {}", [], [("MESSAGE_REMOVED", "#/M")]),
        (
            "a scalar becomes a message",
            "message M { int32 a = 1; message N {} }",
            "message M { N a = 1; message N {} }",
            [("FIELD_KIND_CHANGED", "#/M/1")],
            [("FIELD_KIND_CHANGED", "#/M/1")],
        ),
        (
            "a message becomes a map",
            "message M { repeated N a = 1; message N {} }",
            "message M { map<string, N> a = 1; message N {} }",
            [("FIELD_KIND_CHANGED", "#/M/1")],
            [("FIELD_KIND_CHANGED", "#/M/1")],
        ),
        (
            "the value of a map changes",
            "message M { map<string, int32> a = 1; }",
            "message M { map<string, string> a = 1; }",
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/1/value")],
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/1/value")],
        ),
        (
            "the key of a map is widened",
            "message M { map<int32, int32> a = 1; }",
            "message M { map<int64, int32> a = 1; }",
            [],
            [],
        ),
        (
            "a field gets another message type",
            "message A {} message B {} message M { A a = 1; }",
            "message A {} message B {} message M { B a = 1; }",
            [("FIELD_NAMED_TYPE_CHANGED", "#/M/1")],
            [("FIELD_NAMED_TYPE_CHANGED", "#/M/1")],
        ),
        (
            "numbers become repeated",
            "message M { int32 a = 1; }",
            "message M { repeated int32 a = 1; }",
            [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/1")],
            [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/1")],
        ),
        ("texts become repeated", "message M { string a = 1; }", "message M { repeated string a = 1; }", [], []),
        ("presence is tracked", "message M { int32 a = 1; }", "message M { optional int32 a = 1; }", [], []),
        (
            "one field moves into a new oneof",
            "message M { int32 a = 1; }",
            "message M { oneof o { int32 a = 1; string b = 2; } }",
            [],
            [("ONEOF_FIELD_REMOVED", "#/M/o/2")],
        ),
        (
            "several fields move into a oneof",
            "message M { int32 a = 1; int32 b = 2; }",
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            [("MULTIPLE_FIELDS_MOVED_TO_ONEOF", "#/M/o")],
            [],
        ),
        (
            "a field moves into a oneof that is there",
            "message M { int32 a = 1; oneof o { int32 b = 2; } }",
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            [("FIELD_MOVED_TO_EXISTING_ONEOF", "#/M/o")],
            [],
        ),
        (
            "a oneof loses an alternative",
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "message M { oneof o { int32 a = 1; } }",
            [("ONEOF_FIELD_REMOVED", "#/M/o/2")],
            [],
        ),
        ("a oneof goes as a whole", "message M { oneof o { int32 a = 1; int32 b = 2; } }", "message M {}", [], []),
        (
            "a type changes within a oneof",
            "message M { oneof o { int32 a = 1; } }",
            "message M { oneof p { string a = 1; } }",
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/p/1")],
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/o/1")],
        ),
        (
            "a message that contains itself changes",
            "message M { M m = 1; int32 a = 2; }",
            "message M { M m = 1; string a = 2; }",
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/2")],
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/2")],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "{" not in value else "",
)
def test_a_change_is_judged_in_both_directions(name, old, new, backward, forward):
    assert kinds(proto3(new), proto3(old)) == backward
    assert kinds(proto3(old), proto3(new)) == forward


@pytest.mark.parametrize(
    ("old", "new", "backward", "forward"),
    [
        ("", "required int32 a = 1;", [("REQUIRED_FIELD_ADDED", "#/M/1")], [("REQUIRED_FIELD_REMOVED", "#/M/1")]),
        (
            "optional string a = 1;",
            "required string a = 1;",
            [("REQUIRED_FIELD_ADDED", "#/M/1")],
            [],
        ),
        (
            "optional group G = 1 {}",
            "optional G g = 1; message G {}",
            [("FIELD_KIND_CHANGED", "#/M/1")],
            [("FIELD_KIND_CHANGED", "#/M/1")],
        ),
        ("optional int32 a = 1 [default = 3];", "optional int32 a = 1 [default = 4];", [], []),
        ("extensions 100 to 200;", "", [], []),
    ],
)
def test_what_only_proto2_has_is_judged_too(old, new, backward, forward):
    before, after = proto2(f"message M {{ {old} }}"), proto2(f"message M {{ {new} }}")
    assert kinds(after, before) == backward
    assert kinds(before, after) == forward


def test_another_package_is_refused():
    assert kinds(proto3("message M {}", package="a"), proto3("message M {}", package="b")) == [
        ("PACKAGE_CHANGED", "#/")
    ]


def test_types_of_imports_are_compared_as_far_as_fields_lead_to_them():
    def order(field):
        parts = {
            "money.proto": f'syntax = "proto3"; package m; message Money {{ {field} Money change = 9; }}',
            "line.proto": 'syntax = "proto3"; package l; import "money.proto"; message Line { m.Money price = 1; }',
        }
        return proto3('import "line.proto"; message Order { repeated l.Line lines = 1; }', parts)

    assert kinds(order("int32 cents = 1;"), order("int32 cents = 1; string unit = 2;")) == []
    assert kinds(order("string cents = 1;"), order("int32 cents = 1;")) == [("FIELD_SCALAR_KIND_CHANGED", "#/Money/1")]


def test_a_long_chain_of_imported_messages_is_compared_to_its_end():
    def chain(last):
        links = "".join(f"message M{at} {{ M{at + 1} next = 1; }}" for at in range(3000))
        parts = {"chain.proto": f'syntax = "proto3"; {links} message M3000 {{ {last} }}'}
        return PROTOBUF.parse('syntax = "proto3"; import "chain.proto"; message R { M0 first = 1; }', parts)

    assert kinds(chain("bool a = 1;"), chain("float a = 1;")) == [("FIELD_SCALAR_KIND_CHANGED", "#/M3000/1")]


def test_a_reason_says_what_was_and_what_is():
    (reason,) = PROTOBUF.incompatibilities(proto3("message M { string a = 1; }"), proto3("message M { int32 b = 1; }"))
    assert reason.message == (
        "the field b was int32 and is string; "
        "on the wire, int32 is like int32, int64, uint32, uint64, bool and enums only"
    )


def test_numbers_and_names_set_aside_are_not_to_be_used_again():
    older = proto3('message M { reserved 2, 5 to 7; reserved "gone"; } enum E { A = 0; reserved 3; }')
    newer = proto3("message M { int32 gone = 1; int32 b = 6; } enum E { A = 0; B = 3; }")
    assert [(reason.kind, reason.path) for reason in reused_reservations(newer, older)] == [
        ("RESERVED_NUMBER_REUSED", "#/E/3"),
        ("RESERVED_NAME_REUSED", "#/M/1"),
        ("RESERVED_NUMBER_REUSED", "#/M/6"),
    ]
    assert kinds(newer, older) == [], "to remove a field and reserve its number is the same pair the other way round"
