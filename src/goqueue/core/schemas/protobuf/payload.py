"""Protobuf payloads: whether bytes are a message of a schema."""

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from goqueue.codec.values.limits import LARGEST_DECODED
from goqueue.codec.values.protobuf import ProtobufValues
from goqueue.core.schemas.protobuf.schema import ProtobufSchema

__all__ = ["MessageReader"]


class MessageReader:
    """Reads the messages of one schema; made once for each schema, because building the types is slow."""

    def __init__(self, schema: ProtobufSchema, *, most: int = LARGEST_DECODED) -> None:
        self._values: dict[str, ProtobufValues] = {}
        self._most = most
        self._pool = DescriptorPool()
        for file in (*schema.imports, schema.file):
            self._pool.AddSerializedFile(file.SerializeToString())

    def problem(self, name: str, data: bytes) -> str | None:
        """Why the bytes are not a message of this full name; None when they are. Raises DecodingLimit.

        Unknown fields are allowed: they are how Protobuf evolves.
        """
        try:
            message = self.read(name, data)
        except DecodeError as reason:
            return f"the bytes are not a message {name}: {reason}"
        missing = message.FindInitializationErrors()  # type: ignore[attr-defined]
        return f"the message {name} lacks required fields: {', '.join(missing[:10])}" if missing else None

    def read(self, name: str, data: bytes) -> Message:
        """The message of this full name. Raises DecodingLimit before it takes memory, DecodeError for invalid bytes."""
        kind: type[Message] = GetMessageClass(self._pool.FindMessageTypeByName(name))
        if name not in self._values:
            self._values[name] = ProtobufValues(kind, most=self._most)
        return self._values[name].decode(kind(), data)
