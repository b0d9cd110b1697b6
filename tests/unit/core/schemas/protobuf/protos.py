"""Short ways to write Protobuf schemas in tests."""

from goqueue.adapters.schemas.protoc import compile_files
from goqueue.core.schemas.protobuf.format import ProtobufFormat

__all__ = ["PROTOBUF", "kinds", "proto2", "proto3"]

PROTOBUF = ProtobufFormat(compile_files)


def proto3(body, references=None, *, package="shop"):
    return PROTOBUF.parse(f'syntax = "proto3";\npackage {package};\n{body}', references or {})


def proto2(body, references=None):
    return PROTOBUF.parse(f'syntax = "proto2";\npackage shop;\n{body}', references or {})


def kinds(reader, writer):
    return [(reason.kind, reason.path) for reason in PROTOBUF.incompatibilities(reader, writer)]
