"""Protobuf fields on the wire: type names, and the types that can read each other's bytes."""

from enum import Enum

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

__all__ = ["Family", "Kind", "family_of", "is_map_entry", "json_name_of", "kind_of", "label_of", "scalar_name"]

_F = FieldDescriptorProto


class Kind(Enum):
    SCALAR = "a scalar"
    MESSAGE = "a message"
    GROUP = "a group"
    MAP = "a map"


class Family(Enum):
    """Scalars of one family have the same encoding, so each reads what another wrote."""

    VARINT = "int32, int64, uint32, uint64, bool and enums"
    ZIGZAG = "sint32 and sint64"
    FIXED32 = "fixed32 and sfixed32"
    FIXED64 = "fixed64 and sfixed64"
    FLOAT = "float"
    DOUBLE = "double"
    TEXT = "string and bytes"


_FAMILIES: dict[int, Family] = {
    _F.TYPE_INT32: Family.VARINT,
    _F.TYPE_INT64: Family.VARINT,
    _F.TYPE_UINT32: Family.VARINT,
    _F.TYPE_UINT64: Family.VARINT,
    _F.TYPE_BOOL: Family.VARINT,
    _F.TYPE_ENUM: Family.VARINT,
    _F.TYPE_SINT32: Family.ZIGZAG,
    _F.TYPE_SINT64: Family.ZIGZAG,
    _F.TYPE_FIXED32: Family.FIXED32,
    _F.TYPE_SFIXED32: Family.FIXED32,
    _F.TYPE_FIXED64: Family.FIXED64,
    _F.TYPE_SFIXED64: Family.FIXED64,
    _F.TYPE_FLOAT: Family.FLOAT,
    _F.TYPE_DOUBLE: Family.DOUBLE,
    _F.TYPE_STRING: Family.TEXT,
    _F.TYPE_BYTES: Family.TEXT,
}


def family_of(field: FieldDescriptorProto) -> Family:
    return _FAMILIES[field.type]


def kind_of(field: FieldDescriptorProto, entry: DescriptorProto | None) -> Kind:
    """`entry` is the message type of the field, if it has one."""
    if field.type == _F.TYPE_GROUP:
        return Kind.GROUP
    if field.type != _F.TYPE_MESSAGE:
        return Kind.SCALAR
    return Kind.MAP if entry is not None and is_map_entry(entry) else Kind.MESSAGE


def is_map_entry(message: DescriptorProto) -> bool:
    return message.options.map_entry


def scalar_name(field: FieldDescriptorProto) -> str:
    return _F.Type.Name(field.type).removeprefix("TYPE_").lower()


def label_of(field: FieldDescriptorProto) -> str:
    """A field without a label is the same on the wire as an optional one."""
    return _F.Label.Name(field.label).removeprefix("LABEL_").lower()


def json_name_of(name: str) -> str:
    """The JSON name that protoc gives a field: without underscores, the letter after each in upper case."""
    letters = []
    raised = False
    for letter in name:
        if letter == "_":
            raised = True
        else:
            letters.append(letter.upper() if raised else letter)
            raised = False
    return "".join(letters)
