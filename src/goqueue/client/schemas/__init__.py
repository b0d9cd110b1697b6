"""Values with schemas: serializers and deserializers for producers, consumers and workers, and the registry's client.

    from goqueue.client.schemas import AvroDeserializer, AvroSerializer, Registry

    registry = Registry("http://127.0.0.1:8080/schemas")
    orders = AvroSerializer(registry, schema)
    await producer.send("orders", await orders.encode("orders", {"id": 5}))

    orders = AvroDeserializer(registry, newer_schema)
    async for message in consumer:
        print(await orders.decode(message.value))

The bytes are those of Confluent's serializers, so that either side reads what the other wrote.
`goqueue.client.schemas.sync` has the same without asyncio.
"""

from goqueue.client.schemas.aio import Registry
from goqueue.client.schemas.avro import AvroReader, AvroWriter
from goqueue.client.schemas.deserializing import AsyncDecoding
from goqueue.client.schemas.json_schema import JsonReader, JsonWriter
from goqueue.client.schemas.protobuf import ProtobufReader, ProtobufWriter
from goqueue.client.schemas.registry import DEFAULT_REGISTRY, Compatibility
from goqueue.client.schemas.schema import Reference, Schema, Version, topic_key, topic_name, topic_value
from goqueue.client.schemas.serializing import AsyncEncoding

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


class AvroSerializer(AsyncEncoding, AvroWriter):
    """Dictionaries to Avro, with the id of their schema before them."""


class AvroDeserializer(AsyncDecoding, AvroReader):
    """Avro to dictionaries, as the schema given here says, whichever version they were written with."""


class JsonSerializer(AsyncEncoding, JsonWriter):
    """Values to JSON, checked, with the id of their schema before them."""


class JsonDeserializer(AsyncDecoding, JsonReader):
    """JSON to values, checked against the schema given here, or else the one they were written with."""


class ProtobufSerializer(AsyncEncoding, ProtobufWriter):
    """Messages of one class to bytes, with the id of their schema and the path to their message before them."""


class ProtobufDeserializer(AsyncDecoding, ProtobufReader):
    """Bytes to messages of one class, whichever version of it they were written with."""
