"""Clients that were written for Confluent's schema registry, unchanged, against this one."""

import importlib
import itertools
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc_tools
import httpx2
import pytest
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    ConfigCompatibilityLevel,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    ServerConfig,
)
from confluent_kafka.schema_registry.avro import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AvroDeserializer,
    AvroSerializer,
)
from confluent_kafka.schema_registry.json_schema import (
    AsyncJSONDeserializer,
    AsyncJSONSerializer,
    JSONDeserializer,
    JSONSerializer,
)
from confluent_kafka.schema_registry.protobuf import (
    AsyncProtobufDeserializer,
    AsyncProtobufSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
)
from confluent_kafka.serialization import MessageField, SerializationContext
from grpc_tools import protoc

from tests.behaviour.serving import Server, eventually, free_port, running_server

MONEY = """
syntax = "proto3";
package goqueue_shop;
message Money { int64 cents = 1; string currency = 2; }
"""
ORDER = """
syntax = "proto3";
package goqueue_shop;
import "goqueue_shop/money.proto";
import "google/protobuf/timestamp.proto";
message Line { string article = 1; }
message Order {
  int32 id = 1;
  Money price = 2;
  google.protobuf.Timestamp at = 3;
  repeated Line lines = 4;
  map<string, int32> counts = 5;
  optional string note = 6;
  oneof way { string post = 7; bool pick_up = 8; }
  message Box { enum Size { SMALL = 0; LARGE = 1; } Size size = 1; }
  Box box = 9;
}
"""
AVRO_MONEY = {"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}
AVRO_ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "price", "type": "shop.Money"}],
}
JSON_MONEY = {"$id": "money.json", "type": "object", "properties": {"cents": {"type": "integer"}}}
JSON_ORDER = {
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "price": {"$ref": "money.json"}},
    "required": ["id"],
}


def flat(*names, **defaults):
    fields = [{"name": name, "type": "int"} for name in names]
    fields += [{"name": name, "type": "int", "default": value} for name, value in defaults.items()]
    return Schema(json.dumps({"type": "record", "name": "Flat", "fields": fields}), "AVRO")


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """Modules that protoc makes of the texts above: money and order."""
    folder = tmp_path_factory.mktemp("protos")
    package = folder / "goqueue_shop"
    package.mkdir()
    (package / "money.proto").write_text(MONEY)
    (package / "order.proto").write_text(ORDER)
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    names = ["goqueue_shop/money.proto", "goqueue_shop/order.proto"]
    assert protoc.main(["protoc", f"-I{folder}", f"-I{well_known}", f"--python_out={folder}", *names]) == 0
    sys.path.insert(0, str(folder))
    try:
        yield [importlib.import_module(f"goqueue_shop.{name}_pb2") for name in ("money", "order")]
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def registry_server(tmp_path_factory) -> Iterator[tuple[Server, str]]:
    """A broker, and where its registry has a listener of its own."""
    address = f"127.0.0.1:{free_port()}"
    with running_server(tmp_path_factory.mktemp("registry") / "broker", flags=["--schemas", address]) as server:
        yield server, address


@pytest.fixture(params=["under /schemas", "at its own root"])
def url(registry_server, request) -> str:
    server, address = registry_server
    return f"http://{server.http}/schemas" if request.param == "under /schemas" else f"http://{address}"


@pytest.fixture
def client(url) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": url, "max.retries": 0}) as opened:
        yield opened


@pytest.fixture
def fresh(url) -> Iterator[SchemaRegistryClient]:
    """A client that has seen nothing yet."""
    with SchemaRegistryClient({"url": url, "max.retries": 0}) as opened:
        yield opened


@pytest.fixture
def topic(request) -> str:
    """Subjects of each test are its own."""
    return request.node.name


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def refused(call, *arguments, **more) -> tuple[int, int]:
    with pytest.raises(SchemaRegistryError) as caught:
        call(*arguments, **more)
    assert caught.value.error_message
    return caught.value.http_status_code, caught.value.error_code


def referred(client, topic, schema, kind, name) -> list[SchemaReference]:
    client.register_schema(f"{topic}-money", Schema(schema, kind))
    return [SchemaReference(name, f"{topic}-money", 1)]


def an_order(messages):
    money, order = messages
    made = order.Order(id=5, price=money.Money(cents=-4, currency="EUR"), lines=[order.Line(article="x")], note="")
    made.at.FromSeconds(1_000_000_000)
    made.counts["a"] = 1
    made.box.size = order.Order.Box.LARGE
    made.pick_up = True
    return made


# Serializers


def test_avro_goes_there_and_back(client, fresh, topic):
    references = referred(client, topic, json.dumps(AVRO_MONEY), "AVRO", "shop.Money")
    schema = Schema(json.dumps(AVRO_ORDER), "AVRO", references)
    value = {"id": 5, "price": {"cents": -4}}
    framed = AvroSerializer(client, schema)(value, context(topic))
    registered = client.get_latest_version(f"{topic}-value")
    assert framed[:5] == b"\x00" + registered.schema_id.to_bytes(4)
    assert AvroDeserializer(client)(framed, context(topic)) == value
    assert AvroDeserializer(fresh)(framed, context(topic)) == value


def test_json_goes_there_and_back(client, fresh, topic):
    references = referred(client, topic, json.dumps(JSON_MONEY), "JSON", "money.json")
    schema = Schema(json.dumps(JSON_ORDER), "JSON", references)
    value = {"id": 5, "price": {"cents": -4}}
    framed = JSONSerializer(schema, client)(value, context(topic))
    assert framed[5:] == json.dumps(value, separators=(",", ":")).encode()
    assert JSONDeserializer(None, schema_registry_client=fresh)(framed, context(topic)) == value


def test_protobuf_goes_there_and_back_with_what_it_imports(client, fresh, topic, messages):
    kind, value = messages[1].Order, an_order(messages)
    framed = ProtobufSerializer(kind, client)(value, context(topic))
    registered = client.get_latest_version(f"{topic}-value")
    assert framed[:5] == b"\x00" + registered.schema_id.to_bytes(4)
    # The second message of the file.
    assert framed[5:7] == b"\x02\x02"
    assert "message Order {" in registered.schema.schema_str
    assert [one.name for one in registered.schema.references] == ["goqueue_shop/money.proto"]
    assert ProtobufDeserializer(kind, {}, fresh)(framed, context(topic)) == value


def test_serializers_that_may_not_register_find_what_is_there(client, fresh, topic, messages):
    only_look = {"auto.register.schemas": False}
    avro = AvroSerializer(fresh, flat("a"), conf=only_look)
    with pytest.raises(SchemaRegistryError) as caught:
        avro({"a": 1}, context(topic))
    assert caught.value.error_code == 40401
    client.register_schema(f"{topic}-value", flat("a"))
    assert avro({"a": 1}, context(topic))[5:] == b"\x02"
    other = f"{topic}-proto"
    value = an_order(messages)
    framed = ProtobufSerializer(messages[1].Order, client)(value, context(other))
    assert ProtobufSerializer(messages[1].Order, fresh, only_look)(value, context(other)) == framed


def test_serializers_use_the_latest_version_when_told_to(client, topic, messages):
    latest = {"auto.register.schemas": False, "use.latest.version": True}
    client.register_schema(f"{topic}-value", flat("a"))
    client.register_schema(f"{topic}-value", flat("a", b=7))
    framed = AvroSerializer(client, None, conf=latest)({"a": 1, "b": 2}, context(topic))
    assert framed[5:] == b"\x02\x04"
    older = AvroDeserializer(client, flat("a").schema_str)
    assert older(framed, context(topic)) == {"a": 1}
    other = f"{topic}-proto"
    ProtobufSerializer(messages[1].Order, client)(an_order(messages), context(other))
    again = ProtobufSerializer(messages[1].Order, client, latest)(an_order(messages), context(other))
    assert ProtobufDeserializer(messages[1].Order, {}, client)(again, context(other)) == an_order(messages)


def test_a_reader_with_a_newer_schema_reads_what_was_written_with_an_older_one(client, topic):
    framed = AvroSerializer(client, flat("a"))({"a": 1}, context(topic))
    client.register_schema(f"{topic}-value", flat("a", b=7))
    newer = AvroDeserializer(client, flat("a", b=7).schema_str)
    assert newer(framed, context(topic)) == {"a": 1, "b": 7}


def test_what_would_break_readers_is_refused_to_the_serializer(client, topic):
    AvroSerializer(client, flat("a"))({"a": 1}, context(topic))
    with pytest.raises(SchemaRegistryError, match="READER_FIELD_MISSING_DEFAULT_VALUE") as caught:
        AvroSerializer(client, flat("a", "b"))({"a": 1, "b": 2}, context(topic))
    assert (caught.value.http_status_code, caught.value.error_code) == (409, 409)


# The rest of the API


def test_a_registry_is_administered(client, topic):
    subject = f"{topic}/größe value"
    assert client.register_schema(subject, flat("a")) == client.register_schema(subject, flat("a"))
    second = client.register_schema_full_response(subject, flat("a", b=1)).schema_id
    assert client.get_subjects(subject_prefix=topic) == [subject]
    assert client.get_versions(subject) == [1, 2]
    found = client.get_version(subject, 2)
    assert (found.schema_id, found.version, found.subject) == (second, 2, subject)
    assert client.lookup_schema(subject, flat("a", b=1)).version == 2
    assert json.loads(client.get_schema(second).schema_str) == json.loads(flat("a", b=1).schema_str)
    assert subject in client.get_subjects_by_schema_id(second)
    assert (subject, 2) in [(one.subject, one.version) for one in client.get_schema_versions(second)]
    assert sorted(client.get_schema_types()) == ["AVRO", "JSON", "PROTOBUF"]
    assert client.get_contexts() == ["."]
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    assert client.get_versions(subject, deleted=True) == [1, 2]
    assert client.get_versions(subject, deleted_only=True) == [1]
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.delete_subject(subject) == [2]
    assert client.get_subjects(subject_prefix=topic, deleted_only=True) == [subject]
    assert client.delete_subject(subject, permanent=True) == [2]
    assert client.get_subjects(subject_prefix=topic, deleted=True) == []


def test_compatibility_is_set_and_asked_for(client, topic):
    client.register_schema(topic, flat("a"))
    assert client.get_compatibility() == "BACKWARD"
    assert client.test_compatibility(topic, flat("a", b=1))
    assert not client.test_compatibility(topic, flat("a", "b"), verbose=True)
    assert not client.test_compatibility(topic, flat("a", "b"), version=1)
    assert not client.test_compatibility_all_versions(topic, flat("a", "b"))
    assert client.set_compatibility(topic, "forward_transitive") == {"compatibility": "FORWARD_TRANSITIVE"}
    assert client.get_compatibility(topic) == "FORWARD_TRANSITIVE"
    assert client.test_compatibility(topic, flat("a", "b"))
    client.set_config(topic, ServerConfig(compatibility=ConfigCompatibilityLevel.NONE))
    assert client.get_config(topic).compatibility_level == "NONE"
    assert client.register_schema(topic, flat("z")) > 0
    assert client.delete_config(topic).compatibility_level == "NONE"


def test_modes_are_set_and_asked_for(client, topic):
    assert client.get_global_mode() == "READWRITE"
    assert client.update_mode(topic, "READONLY") == "READONLY"
    assert client.get_mode(topic) == "READONLY"
    assert refused(client.register_schema, topic, flat("a")) == (422, 42205)
    assert client.delete_mode(topic) == "READONLY"
    assert client.register_schema(topic, flat("a")) > 0


def test_what_refers_to_a_schema_keeps_it(client, topic):
    references = referred(client, topic, json.dumps(AVRO_MONEY), "AVRO", "shop.Money")
    order = client.register_schema(topic, Schema(json.dumps(AVRO_ORDER), "AVRO", references))
    assert client.get_referenced_by(f"{topic}-money", 1) == [order]
    assert refused(client.delete_subject, f"{topic}-money") == (422, 42206)
    client.delete_subject(topic)
    assert client.delete_subject(f"{topic}-money") == [1]


def test_errors_are_those_that_the_client_knows(client, topic):
    unknown = Schema('{"type": "nothing"}', "AVRO")
    assert refused(client.get_latest_version, topic) == (404, 40401)
    assert refused(client.get_schema, 2_000_000_000) == (404, 40403)
    assert refused(client.register_schema, topic, unknown) == (422, 42201)
    assert refused(client.register_schema, topic, Schema("message", "PROTOBUF")) == (422, 42201)
    assert refused(client.register_schema, topic, Schema("{}", "YAML")) == (422, 42201)
    assert refused(client.get_compatibility, topic) == (404, 40408)
    assert refused(client.get_mode, topic) == (404, 40409)
    assert refused(client.update_mode, topic, "SLEEPY") == (422, 42204)
    assert refused(client.set_compatibility, topic, "SIDEWAYS") == (422, 42203)
    client.register_schema(topic, flat("a"))
    assert refused(client.get_version, topic, 7) == (404, 40402)
    assert refused(client.get_version, topic, 0) == (422, 42202)
    assert refused(client.lookup_schema, topic, flat("b")) == (404, 40403)
    assert refused(client.delete_version, topic, 1, permanent=True) == (404, 40407)
    assert refused(client.delete_subject, topic, permanent=True) == (404, 40405)
    client.delete_version(topic, 1)
    assert refused(client.delete_version, topic, 1) == (404, 40406)
    assert refused(client.delete_subject, topic) == (404, 40404)
    dangling = [SchemaReference("x", f"{topic}-none", 1)]
    assert refused(client.register_schema, topic, Schema('"x"', "AVRO", dangling)) == (422, 42201)


# Async


async def test_async_clients_do_the_same(url, topic, messages):
    async with AsyncSchemaRegistryClient({"url": url, "max.retries": 0}) as client:
        avro = await AsyncAvroSerializer(client, flat("a"))
        framed = await avro({"a": 1}, context(topic))
        assert await (await AsyncAvroDeserializer(client))(framed, context(topic)) == {"a": 1}
        schema, value = json.dumps(JSON_MONEY), {"cents": 5}
        framed = await (await AsyncJSONSerializer(schema, client))(value, context(f"{topic}-json"))
        reader = await AsyncJSONDeserializer(schema, schema_registry_client=client)
        assert await reader(framed, context(f"{topic}-json")) == value
        kind, order = messages[1].Order, an_order(messages)
        framed = await (await AsyncProtobufSerializer(kind, client))(order, context(f"{topic}-proto"))
        reader = await AsyncProtobufDeserializer(kind, {}, client)
        assert await reader(framed, context(f"{topic}-proto")) == order
        assert f"{topic}-value" in await client.get_subjects()
        with pytest.raises(SchemaRegistryError) as caught:
            await client.register_schema(f"{topic}-value", flat("a", "b"))
        assert caught.value.error_code == 409


# Kills


def test_ids_and_schemas_outlive_a_kill(server, messages):
    """Each time with a client that remembers nothing."""
    url, value, topic = f"http://{server.http}/schemas", an_order(messages), "orders"
    given: dict[str, int] = {}
    framed = b""
    for life in range(3):
        with SchemaRegistryClient({"url": url}) as client:
            for subject, schema_id in given.items():
                assert client.get_latest_version(subject).schema_id == schema_id
                assert client.register_schema(subject, flat(subject)) == schema_id
            assert given == {} or client.get_compatibility("compared") == "FULL"
            for number in range(5):
                subject = f"s{life}x{number}"
                given[subject] = client.register_schema(subject, flat(subject))
            client.set_compatibility("compared", "FULL")
            again = ProtobufSerializer(messages[1].Order, client)(value, context(topic))
            assert framed in (b"", again)
            framed = again
            gone = client.register_schema(f"gone{life}", flat("gone"))
            client.delete_subject(f"gone{life}")
            client.delete_subject(f"gone{life}", permanent=True)
            assert gone not in given.values()
        if life == 1:
            server.restart()
        else:
            server.crash_and_restart()
    assert len(set(given.values())) == len(given)
    with SchemaRegistryClient({"url": url}) as client:
        assert ProtobufDeserializer(messages[1].Order, {}, client)(framed, context(topic)) == value
        assert client.register_schema("last", flat("last")) > max(gone, *given.values())


def test_what_was_confirmed_outlives_a_kill_in_the_midst_of_registering(server):
    url = f"http://{server.http}/schemas"
    confirmed: dict[int, str] = {}

    def register(worker: str) -> None:
        with SchemaRegistryClient({"url": url, "max.retries": 0}) as client:
            for number in itertools.count():
                try:
                    schema_id = client.register_schema(f"{worker}x{number}", flat(f"{worker}x{number}"))
                except (httpx2.TransportError, SchemaRegistryError):
                    # The broker is gone, or on its way.
                    return
                assert schema_id not in confirmed
                confirmed[schema_id] = f"{worker}x{number}"

    for life in range(3):
        before = len(confirmed)
        with ThreadPoolExecutor(4) as pool:
            working = [pool.submit(register, f"life{life}worker{worker}") for worker in range(4)]
            eventually(lambda before=before: len(confirmed) >= before + 20)
            server.kill()
        for work in working:
            work.result()
        server.start()
        with SchemaRegistryClient({"url": url}) as client:
            for schema_id, name in confirmed.items():
                assert client.get_schema(schema_id).schema_str == flat(name).schema_str.replace(" ", "")


@pytest.mark.parametrize(
    ("ask", "number", "text"),
    [
        (lambda client, topic: client.get_versions("none"), 40401, "Subject 'none' not found."),
        (lambda client, topic: client.get_version(topic, 5), 40402, "Version 5 not found."),
        (lambda client, topic: client.get_schema(1_000_000), 40403, "Schema 1000000 not found"),
        (lambda client, topic: client.lookup_schema(topic, flat("other")), 40403, "Schema not found"),
    ],
    ids=("subject", "version", "schema", "content"),
)
def test_errors_have_the_texts_of_the_registry_that_clients_were_written_for(client, topic, ask, number, text):
    client.register_schema(topic, flat("id"))
    with pytest.raises(SchemaRegistryError) as caught:
        ask(client, topic)
    assert (caught.value.error_code, caught.value.error_message) == (number, text)


def test_layout_and_comments_do_not_make_another_schema(client, topic):
    one = 'syntax = "proto3"; message A { string a = 1; }'
    other = '// A comment.\nsyntax="proto3";\nmessage A {\n  string a = 1; /* its name */\n}\n'
    first = client.register_schema(topic, Schema(one, "PROTOBUF"))
    assert client.register_schema(topic, Schema(other, "PROTOBUF")) == first
    assert client.lookup_schema(topic, Schema(other, "PROTOBUF")).version == 1
    plain = client.register_schema(f"{topic}-avro", Schema('"int"', "AVRO"))
    assert client.register_schema(f"{topic}-avro", Schema('{"type": "int"}', "AVRO")) == plain


def test_a_message_with_the_types_that_registries_know_is_registered(client, topic):
    text = """syntax = "proto3";
import "google/type/money.proto";
import "confluent/type/decimal.proto";
import "confluent/meta.proto";
message Bill {
  google.type.Money total = 1;
  confluent.type.Decimal rate = 2 [(confluent.field_meta).doc = "per day"];
}
"""
    number = client.register_schema(topic, Schema(text, "PROTOBUF"))
    assert client.get_schema(number).schema_str == text.strip()
