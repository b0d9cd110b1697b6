"""Schema formats by their API names; the library of each is imported with its first schema."""

from collections.abc import Callable, Iterator, Mapping

from goqueue.core.schemas.formats import SchemaFormat
from goqueue.engine.ports import CompileProto
from goqueue.errors import InvalidSchema

__all__ = ["no_protoc", "schema_formats"]


class _Formats(Mapping[str, SchemaFormat]):
    """Imports lazily: the libraries are large, and few brokers have schemas of every format."""

    def __init__(self, makers: Mapping[str, Callable[[], SchemaFormat]]) -> None:
        self._makers = makers
        self._made: dict[str, SchemaFormat] = {}

    def __getitem__(self, name: str) -> SchemaFormat:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def schema_formats(compile_proto: CompileProto) -> Mapping[str, SchemaFormat]:
    def protobuf() -> SchemaFormat:
        from goqueue.core.schemas.protobuf.format import ProtobufFormat

        return ProtobufFormat(compile_proto)

    return _Formats({"AVRO": _avro, "JSON": _json, "PROTOBUF": protobuf})


def _avro() -> SchemaFormat:
    from goqueue.core.schemas.avro.format import AvroFormat

    return AvroFormat()


def _json() -> SchemaFormat:
    from goqueue.core.schemas.json_schema.format import JsonSchemaFormat

    return JsonSchemaFormat()


def no_protoc(_: str, __: Mapping[str, str]) -> bytes:
    """The compiler of a broker without one."""
    raise InvalidSchema("this broker cannot compile Protobuf schemas", hint="it takes Avro and JSON schemas")
