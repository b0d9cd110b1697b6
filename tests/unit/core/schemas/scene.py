"""A registry with Avro schemas, in which decisions take effect at once."""

import json

import msgspec

from goqueue.core.schemas.avro.format import AvroFormat
from goqueue.core.schemas.events import RegistryEvent
from goqueue.core.schemas.registry import Registry, RegistrySnapshot
from goqueue.core.schemas.schema import Reference, Schema

FORMATS = {"AVRO": AvroFormat()}

V1 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
V2 = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "a", "type": "int", "default": 0}],
}
V3 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
OTHER = {"type": "record", "name": "Other", "fields": [{"name": "x", "type": "string"}]}


def avro(schema, *references):
    return Schema("AVRO", json.dumps(schema), tuple(Reference(*reference) for reference in references))


class Scene:
    def __init__(self, formats=FORMATS):
        self.registry = Registry(formats)
        self.history = []

    def do(self, event):
        """Through the bytes that a journal would hold."""
        self.history.append(msgspec.msgpack.encode(event))
        self.registry.apply(msgspec.msgpack.decode(self.history[-1], type=RegistryEvent))
        return event

    def register(self, subject, schema=V1, *references, **options):
        decided = self.registry.register(subject, avro(schema, *references), **options)
        if isinstance(decided, RegistryEvent):
            self.do(decided)
        return decided.id, decided.version

    def delete(self, subject, version=None, *, permanent=False):
        if version is None:
            return list(self.do(self.registry.delete_subject(subject, permanent=permanent)).versions)
        return self.do(self.registry.delete_version(subject, version, permanent=permanent)).version

    def mode(self, subject, mode, **options):
        for event in self.registry.set_mode(subject, mode, **options):
            self.do(event)

    def replayed(self):
        registry = Registry(FORMATS)
        for event in self.history:
            registry.apply(msgspec.msgpack.decode(event, type=RegistryEvent))
        return registry

    def restored(self):
        stored = msgspec.msgpack.encode(self.registry.snapshot())
        registry = Registry(FORMATS)
        registry.restore(msgspec.msgpack.decode(stored, type=RegistrySnapshot))
        return registry
