"""Serializers without asyncio: the same ones, with calls that block while the registry is asked.

from goqueue.client.schemas.sync import AvroSerializer, Registry

orders = AvroSerializer(Registry(), schema)
producer.send("orders", orders.encode("orders", {"id": 5}))
"""

from goqueue.client.schemas.avro import AvroReader, AvroWriter
from goqueue.client.schemas.deserializing import BlockingDecoding
from goqueue.client.schemas.json_schema import JsonReader, JsonWriter
from goqueue.client.schemas.protobuf import ProtobufReader, ProtobufWriter
from goqueue.client.schemas.registry import DEFAULT_REGISTRY, Compatibility, Registry
from goqueue.client.schemas.schema import Reference, Schema, Version, topic_key, topic_name, topic_value
from goqueue.client.schemas.serializing import BlockingEncoding

__all__ = [
    "DEFAULT_REGISTRY",
    "AvroDeserializer",
    "AvroSerializer",
    "Compatibility",
    "JsonDeserializer",
    "JsonSerializer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "Reference",
    "Registry",
    "Schema",
    "Version",
    "topic_key",
    "topic_name",
    "topic_value",
]


class AvroSerializer(BlockingEncoding, AvroWriter):
    """Dictionaries to Avro, with the id of their schema before them."""


class AvroDeserializer(BlockingDecoding, AvroReader):
    """Avro to dictionaries, as the schema given here says, whichever version they were written with."""


class JsonSerializer(BlockingEncoding, JsonWriter):
    """Values to JSON, checked, with the id of their schema before them."""


class JsonDeserializer(BlockingDecoding, JsonReader):
    """JSON to values, checked against the schema given here, or else the one they were written with."""


class ProtobufSerializer(BlockingEncoding, ProtobufWriter):
    """Messages of one class to bytes, with the id of their schema and the path to their message before them."""


class ProtobufDeserializer(BlockingDecoding, ProtobufReader):
    """Bytes to messages of one class, whichever version of it they were written with."""
