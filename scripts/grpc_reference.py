"""Writes docs/reference/grpc.md from the protos and their comments."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from goqueue.errors import ERRORS_BY_CODE, GoQueueError
from goqueue.gateways.grpc.answering import STATUS_BY_CODE
from scripts.grpc_stubs import PROTOS
from scripts.references import DOCS, code, one_line, table

__all__ = ["PAGE", "page"]

PAGE = DOCS / "reference" / "grpc.md"
HEAD = """# gRPC

The package `goqueue.v1`, served on `listen.grpc` (port 7172) together with the standard health service and reflection.
This page is made from the protos (`make references`); they are in the wheel, in `goqueue/wire/grpc/proto`, and Python
stubs for them in `goqueue.wire.grpc.v1`. How to use them stands in the [guide](../guides/grpc.md).

Times are in nanoseconds since 1970 (`_ns`), durations in milliseconds (`_ms`). Fields marked *optional* can be left
out, which is not the same as 0 or empty.
"""
STATUSES = """## Statuses

Each error has a [code](errors.md) that never changes. It stands behind the answer in the metadata `goqueue-code`, and
in the details of the status (`grpc-status-details-bin`) as `ErrorDetail` with message and hint. The status itself
follows from the code. Beside these, the listener answers RESOURCE_EXHAUSTED (`server_busy`) when too many calls are
under way, and UNAVAILABLE (`not_ready`) when it stops; a message over `grpc.message_bytes` is RESOURCE_EXHAUSTED, and
a method that does not exist is UNIMPLEMENTED.
"""
PACKAGE = "goqueue.v1"
FIRST = ("publish", "consume", "queue", "groups", "offsets", "transactions", "topics")
MESSAGE, ENUM, SERVICE = 4, 5, 6
"""Numbers of fields in FileDescriptorProto, of which the paths of comments are made."""
FIELD, VALUE, METHOD = 2, 2, 2
SCALARS = {number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()}

Comments = Mapping[tuple[int, ...], str]


def page() -> str:
    files = sorted(_files(), key=lambda file: (_rank(file.name), file.name))
    lines = [HEAD, "## Services", ""]
    for file in files:
        comments = _comments(file)
        for number, service in enumerate(file.service):
            lines += _service(service, comments, (SERVICE, number))
    lines.append(STATUSES)
    lines += table(("Status", "Codes"), _statuses())
    lines += ["## Messages", ""]
    for file in files:
        comments = _comments(file)
        lines += [f"### {Path(file.name).name}", "", comments.get((), ""), ""]
        for number, message in enumerate(file.message_type):
            lines += _message(message, comments, (MESSAGE, number))
        for number, enum in enumerate(file.enum_type):
            lines += _enum(enum, comments, (ENUM, number))
    return "\n".join(lines).rstrip("\n") + "\n"


def _rank(name: str) -> int:
    stem = Path(name).stem
    return FIRST.index(stem) if stem in FIRST else len(FIRST)


def _files() -> Iterator[FileDescriptorProto]:
    with tempfile.TemporaryDirectory(prefix="goqueue-grpc-") as folder:
        made = Path(folder) / "set"
        sources = [str(path.relative_to(PROTOS)) for path in sorted(PROTOS.rglob("*.proto"))]
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS}", f"--descriptor_set_out={made}"]
        subprocess.run([*command, "--include_source_info", *sources], check=True)
        yield from FileDescriptorSet.FromString(made.read_bytes()).file


def _comments(file: FileDescriptorProto) -> Comments:
    """By the path of what they are about; that of the file stands before its first line."""
    found = {tuple(at.path): one_line(at.leading_comments) for at in file.source_code_info.location}
    syntax = next(at for at in file.source_code_info.location if list(at.path) == [12])
    return found | {(): one_line(syntax.leading_comments)}


def _service(service: ServiceDescriptorProto, comments: Comments, path: tuple[int, ...]) -> list[str]:
    rows = [
        (code(method.name), _link(method.input_type, method.client_streaming), *_answer(method, comments, path, number))
        for number, method in enumerate(service.method)
    ]
    titles = ("Method", "Request", "Answer", "What it does")
    return [f"### {service.name}", "", _comment(comments, path, service.name), "", *table(titles, rows)]


def _answer(method: MethodDescriptorProto, comments: Comments, path: tuple[int, ...], number: int) -> tuple[str, str]:
    text = _comment(comments, (*path, METHOD, number), method.name)
    return _link(method.output_type, method.server_streaming), text


def _message(message: DescriptorProto, comments: Comments, path: tuple[int, ...]) -> list[str]:
    lines = [f"#### {message.name}", "", _comment(comments, path, message.name), ""]
    rows = [
        (code(field.name), _type(message, field), _comment(comments, (*path, FIELD, number), field.name))
        for number, field in enumerate(message.field)
    ]
    return lines + (table(("Field", "Type", "Meaning"), rows) if rows else [])


def _enum(enum: EnumDescriptorProto, comments: Comments, path: tuple[int, ...]) -> list[str]:
    rows = [
        (code(value.name), str(value.number), _comment(comments, (*path, VALUE, number), value.name))
        for number, value in enumerate(enum.value)
    ]
    lines = [f"#### {enum.name}", "", _comment(comments, path, enum.name), ""]
    return [*lines, *table(("Value", "Number", "Meaning"), rows)]


def _comment(comments: Comments, path: tuple[int, ...], name: str) -> str:
    text = comments.get(path, "")
    assert text, f"{name} has no comment in its proto"
    return text


def _type(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    entry = next((one for one in message.nested_type if f".{one.name}" == field.type_name[-len(one.name) - 1 :]), None)
    if entry is not None and entry.options.map_entry:
        return f"map of {_name(entry.field[0])} to {_name(entry.field[1])}"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {_name(field)}"
    if field.proto3_optional:
        return f"optional {_name(field)}"
    if field.HasField("oneof_index"):
        return f"{_name(field)}, one of `{message.oneof_decl[field.oneof_index].name}`"
    return _name(field)


def _name(field: FieldDescriptorProto) -> str:
    return _link(field.type_name, streams=False) if field.type_name else code(SCALARS[field.type])


def _link(full_name: str, streams: bool) -> str:
    name = full_name.removeprefix(f".{PACKAGE}.")
    linked = f"[{name}](#{name.lower()})" if full_name.startswith(f".{PACKAGE}.") else code(name.lstrip("."))
    return f"stream of {linked}" if streams else linked


def _statuses() -> Iterator[tuple[str, str]]:
    by_status: dict[str, list[str]] = {}
    for one, kind in sorted(ERRORS_BY_CODE.items()):
        if kind is not GoQueueError:
            by_status.setdefault(STATUS_BY_CODE[one].name, []).append(code(one))
    for status, codes in sorted(by_status.items()):
        yield code(status), ", ".join(codes)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
