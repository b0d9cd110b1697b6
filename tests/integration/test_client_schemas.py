"""Our serializers beside Confluent's, through a real broker: either side reads what the other wrote."""

import asyncio
import importlib
import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc_tools
import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, avro, json_schema, protobuf
from confluent_kafka.serialization import MessageField, SerializationContext
from grpc_tools import protoc

from goqueue.client import Consumer, Producer, Worker
from goqueue.client import sync as sync_client
from goqueue.client.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Reference,
    Registry,
    Schema,
    sync,
    topic_name,
)
from goqueue.client.schemas.http import CODE_BY_NUMBER
from goqueue.errors import (
    BrokerUnreachable,
    DecodingLimit,
    IncompatibleSchema,
    InvalidRequest,
    SchemaMismatch,
    UnknownSchema,
    UnknownSubject,
)
from goqueue.gateways.http.api.schemas.dialect import NUMBER_BY_CODE

MONEY = """
syntax = "proto3";
package goqueue_stall;
message Money { int64 cents = 1; string currency = 2; }
"""
ORDER = """
syntax = "proto3";
package goqueue_stall;
import "goqueue_stall/money.proto";
import "google/protobuf/timestamp.proto";
message Line { string article = 1; message Note { string text = 1; } }
message Order { int32 id = 1; Money price = 2; google.protobuf.Timestamp at = 3; repeated Line lines = 4; }
"""
NEWER_ORDER = ORDER.replace("goqueue_stall", "goqueue_newer_stall").replace(
    "Line lines = 4;", "Line lines = 4; string note = 5;"
)


def record(*fields, name="Order"):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t, **more} for n, t, more in fields]}


ID, NOTE, COUNT = ("id", "int", {}), ("note", "string", {"default": "none"}), ("count", "long", {"default": 1})
FLAT = record(ID)
JSON_ORDER = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """Modules that protoc makes of the texts above: money and order, of two versions."""
    folder = tmp_path_factory.mktemp("protos")
    names = []
    for package, order in (("goqueue_stall", ORDER), ("goqueue_newer_stall", NEWER_ORDER)):
        (folder / package).mkdir()
        (folder / package / "money.proto").write_text(MONEY.replace("goqueue_stall", package))
        (folder / package / "order.proto").write_text(order)
        names += [f"{package}/money.proto", f"{package}/order.proto"]
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    assert protoc.main(["protoc", f"-I{folder}", f"-I{well_known}", f"--python_out={folder}", *names]) == 0
    sys.path.insert(0, str(folder))
    try:
        yield {
            name[:-6].replace("/", "."): importlib.import_module(name[:-6].replace("/", ".") + "_pb2") for name in names
        }
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
def order_type(messages):
    return messages["goqueue_stall.order"].Order


@pytest.fixture
def an_order(messages, order_type):
    made = order_type(id=5, price=messages["goqueue_stall.money"].Money(cents=-4, currency="EUR"))
    made.at.FromSeconds(1_000_000_000)
    made.lines.add(article="x")
    return made


@pytest.fixture
def url(shared_server) -> str:
    return f"http://{shared_server.http}/schemas"


@pytest.fixture
def registry(url) -> Registry:
    return Registry(url, retries=0)


@pytest.fixture
def theirs(url) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": url, "max.retries": 0}) as opened:
        yield opened


class Counting:
    """A door to a registry that counts who comes through, and can be shut."""

    def __init__(self, behind: str) -> None:
        self.asked: list[str] = []
        self.answers_503 = 0
        host, _, self.path = behind.removeprefix("http://").partition("/")
        door = self

        class Handler(BaseHTTPRequestHandler):
            def _pass_on(self) -> None:
                door.asked.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if door.answers_503:
                    door.answers_503 -= 1
                    self._answer(503, b'{"error_code": 50301, "message": "not yet"}')
                    return
                connection = HTTPConnection(host, timeout=30)
                connection.request(self.command, self.path, body, {"Content-Type": "application/json"})
                reply = connection.getresponse()
                self._answer(reply.status, reply.read())
                connection.close()

            def _answer(self, status: int, text: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/{self.path}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def door(url) -> Iterator[Counting]:
    opened = Counting(url)
    yield opened
    opened.close()


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


async def through(server, topic: str, *values: bytes | None) -> list[bytes | None]:
    """What a consumer finds in the topic after a producer has sent these."""
    async with Producer(server.native) as producer:
        for value in values:
            await producer.send(topic, value, key=b"k")
    async with Consumer(topic, bootstrap=server.native) as consumer:
        found: list[bytes | None] = []
        while len(found) < len(values):
            found += [message.value for message in await consumer.poll()]
        return found


# Ours and theirs


async def test_avro_of_ours_is_read_by_theirs_and_the_other_way_round(shared_server, registry, theirs, topic):
    value = {"id": 5, "note": "ü", "count": 2**40}
    schema = record(ID, NOTE, COUNT)
    ours = AvroSerializer(registry, schema)
    sent = await ours.encode(topic, value)
    other = avro.AvroSerializer(theirs, json.dumps(schema))(value, context(topic))
    assert sent == other
    first, second = await through(shared_server, topic, sent, other)
    assert avro.AvroDeserializer(theirs)(first, context(topic)) == value
    assert await AvroDeserializer(registry).decode(second) == value


async def test_json_of_ours_is_read_by_theirs_and_the_other_way_round(shared_server, registry, theirs, topic):
    value = {"id": 5, "more": ["ü", None, 1.5]}
    sent = await JsonSerializer(registry, JSON_ORDER).encode(topic, value)
    other = json_schema.JSONSerializer(json.dumps(JSON_ORDER), theirs)(value, context(topic))
    assert sent[:5] == other[:5]
    first, second = await through(shared_server, topic, sent, other)
    assert (
        json_schema.JSONDeserializer(json.dumps(JSON_ORDER), schema_registry_client=theirs)(first, context(topic))
        == value
    )
    assert await JsonDeserializer(registry).decode(second) == value


async def test_protobuf_of_ours_is_read_by_theirs_and_the_other_way_round(
    shared_server, registry, theirs, topic, order_type, an_order
):
    sent = await ProtobufSerializer(registry, order_type).encode(topic, an_order)
    other = protobuf.ProtobufSerializer(order_type, theirs)(an_order, context(topic))
    assert sent == other
    first, second = await through(shared_server, topic, sent, other)
    assert protobuf.ProtobufDeserializer(order_type, {}, theirs)(first, context(topic)) == an_order
    assert await ProtobufDeserializer(registry, order_type).decode(second) == an_order


async def test_nested_messages_are_framed_like_theirs(registry, theirs, topic, messages):
    kind = messages["goqueue_stall.order"].Line.Note
    sent = await ProtobufSerializer(registry, kind).encode(topic, kind(text="x"))
    assert sent == protobuf.ProtobufSerializer(kind, theirs)(kind(text="x"), context(topic))
    assert await ProtobufDeserializer(registry, kind).decode(sent) == kind(text="x")
    # The first message of a file has the short path.
    first = messages["goqueue_stall.order"].Line
    sent = await ProtobufSerializer(registry, first).encode(topic, first(article="x"))
    assert sent == protobuf.ProtobufSerializer(first, theirs)(first(article="x"), context(topic))


@pytest.mark.parametrize(
    ("schema", "value"),
    [('"string"', "x"), ('"bytes"', b"\x00x"), ('["null", "long"]', 7), ('{"type": "array", "items": "int"}', [1, 2])],
)
async def test_avro_that_is_no_record_is_written_like_theirs(registry, theirs, topic, schema, value):
    sent = await AvroSerializer(registry, schema).encode(topic, value)
    assert sent[5:] == avro.AvroSerializer(theirs, schema)(value, context(topic))[5:]
    assert await AvroDeserializer(registry).decode(sent) == value
    assert avro.AvroDeserializer(theirs)(sent, context(topic)) == value


async def test_avro_bytes_are_read_as_a_string_by_a_reader_that_wants_one(registry, topic):
    sent = await AvroSerializer(registry, '"bytes"').encode(topic, b"\x02abc")
    assert await AvroDeserializer(registry, '"string"').decode(sent) == "\x02abc"


async def test_schemas_with_references_are_read_by_both(registry, theirs, topic):
    money, amount = record(("cents", "long", {}), name="shop.Money"), {"type": "integer"}
    await registry.register(f"{topic}-money", Schema(json.dumps(money)))
    await registry.register(f"{topic}-amount", Schema(json.dumps(amount), "JSON"))
    text = json.dumps(record(ID, ("price", "shop.Money", {})))
    schema = Schema(text, references=(Reference("shop.Money", f"{topic}-money", 1),))
    value = {"id": 5, "price": {"cents": 7}}
    sent = await AvroSerializer(registry, schema).encode(topic, value)
    assert await AvroDeserializer(registry, schema).decode(sent) == value
    assert avro.AvroDeserializer(theirs)(sent, context(topic)) == value
    text = json.dumps({"type": "object", "properties": {"amount": {"$ref": "amount.json"}}})
    schema = Schema(text, "JSON", (Reference("amount.json", f"{topic}-amount", 1),))
    orders = JsonSerializer(registry, schema)
    sent = await orders.encode(f"{topic}-j", {"amount": 7})
    assert await JsonDeserializer(registry).decode(sent) == {"amount": 7}
    assert json_schema.JSONDeserializer(None, schema_registry_client=theirs)(sent, context(topic)) == {"amount": 7}
    with pytest.raises(SchemaMismatch, match="/amount"):
        await orders.encode(f"{topic}-j", {"amount": "seven"})


# Evolution


async def test_avro_is_read_into_newer_and_older_schemas(registry, topic):
    older, newer = record(ID, COUNT), record(("number", "long", {"aliases": ["id"]}), NOTE)
    early = await AvroSerializer(registry, older).encode(topic, {"id": 5, "count": 2})
    assert await AvroDeserializer(registry, newer).decode(early) == {"number": 5, "note": "none"}
    newest = record(ID, NOTE)
    late = await AvroSerializer(registry, newest).encode(topic, {"id": 6, "note": "x"})
    assert await AvroDeserializer(registry, older).decode(late) == {"id": 6, "count": 1}
    as_written = AvroDeserializer(registry)
    assert [await as_written.decode(one) for one in (early, late)] == [{"id": 5, "count": 2}, {"id": 6, "note": "x"}]


async def test_protobuf_is_read_by_newer_and_older_classes(registry, topic, messages, order_type, an_order):
    newer_type = messages["goqueue_newer_stall.order"].Order
    early = await ProtobufSerializer(registry, order_type).encode(topic, an_order)
    assert (await ProtobufDeserializer(registry, newer_type).decode(early)).note == ""
    late = await ProtobufSerializer(registry, newer_type).encode(f"{topic}-2", newer_type(id=6, note="x"))
    older = await ProtobufDeserializer(registry, order_type).decode(late)
    assert older.id == 6
    # What it does not know is not lost.
    assert newer_type.FromString(older.SerializeToString()).note == "x"


async def test_json_is_checked_against_the_readers_schema(registry, topic):
    sent = await JsonSerializer(registry, JSON_ORDER).encode(topic, {"id": 5})
    newer = {"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}}
    assert await JsonDeserializer(registry, newer).decode(sent) == {"id": 5}
    strict = JsonDeserializer(registry, {"type": "object", "properties": {"id": {"type": "string"}}})
    with pytest.raises(SchemaMismatch, match=f"at /id.*{topic}-value version 1.*not registered") as caught:
        await strict.decode(sent)
    assert caught.value.path == "/id"


async def test_a_reader_that_does_not_fit_is_told_both_versions_and_the_path(registry, topic):
    subject = f"{topic}-value"
    nested = record(ID, ("price", record(("cents", "long", {}), name="Money"), {}))
    wrong = record(ID, ("price", record(("cents", "string", {}), name="Money"), {}))
    sent = await AvroSerializer(registry, nested).encode(topic, {"id": 5, "price": {"cents": 7}})
    await registry.set_config(subject, compatibility="NONE")
    second = await registry.register(subject, Schema(json.dumps(wrong)))
    with pytest.raises(SchemaMismatch) as caught:
        await AvroDeserializer(registry, wrong).decode(sent)
    assert caught.value.path == "/price/cents"
    first = int.from_bytes(sent[1:5])
    assert f"written with schema {first}, {subject} version 1" in caught.value.message
    assert f"read with schema {second}, {subject} version 2" in caught.value.message
    with pytest.raises(SchemaMismatch, match="at /more: the writer has no such field"):
        await AvroDeserializer(registry, record(ID, ("more", "int", {}))).decode(sent)


# What is wrong


async def test_bytes_that_end_too_early_are_refused_in_words_and_with_their_field(registry, topic):
    schema = record(("id", "int", {}), ("paid", "boolean", {}), ("note", "string", {}), ("price", "double", {}))
    value = {"id": 7, "paid": True, "note": "x", "price": 1.5}
    data = await AvroSerializer(registry, schema).encode(topic, value)
    for kept, field in ((5, "id"), (6, "paid"), (7, "note"), (9, "price")):
        with pytest.raises(SchemaMismatch, match="written with schema") as caught:
            await AvroDeserializer(registry).decode(data[:kept])
        assert (caught.value.path, "the value is cut off" in caught.value.message) == (f"/{field}", True)
        assert not re.search("Error|index|BytesIO|range", caught.value.message), caught.value.message


async def test_a_schema_that_breaks_readers_is_refused_when_it_is_first_used(registry, topic):
    await AvroSerializer(registry, FLAT).encode(topic, {"id": 5})
    with pytest.raises(IncompatibleSchema, match="READER_FIELD_MISSING_DEFAULT_VALUE at"):
        await AvroSerializer(registry, record(ID, ("more", "int", {}))).encode(topic, {"id": 5, "more": 1})


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"id": "x"}, "id"),
        ({"id": 1.5}, "id"),
        ({"id": 2**40}, "id"),
        ({}, "id"),
        ({"id": 1, "unknown": 2}, "unknown"),
        (5, "schema"),
    ],
)
async def test_avro_values_that_do_not_fit_are_refused_before_they_are_sent(registry, topic, value, where):
    with pytest.raises(SchemaMismatch, match=where) as caught:
        await AvroSerializer(registry, FLAT).encode(topic, value)
    assert f"{topic}-value" in caught.value.message


async def test_json_and_protobuf_values_that_do_not_fit_are_refused_before_they_are_sent(
    registry, topic, messages, order_type
):
    orders = JsonSerializer(registry, JSON_ORDER)
    for value in ({"id": "x"}, {}, {"id": 1, "x": float("nan")}, {"id": 1, "x": b"bytes"}, {"id": 1, "x": {1, 2}}):
        with pytest.raises(SchemaMismatch):
            await orders.encode(topic, value)
    with pytest.raises(SchemaMismatch, match=r"goqueue_stall.Order"):
        await ProtobufSerializer(registry, order_type).encode(f"{topic}-p", messages["goqueue_stall.order"].Line())


async def test_bytes_that_are_not_what_they_say_are_an_error_of_ours(registry, topic, messages, order_type, an_order):
    flat = await AvroSerializer(registry, record(ID, NOTE)).encode(topic, {"id": 5, "note": "x"})
    text = await JsonSerializer(registry, JSON_ORDER).encode(f"{topic}-j", {"id": 5})
    message = await ProtobufSerializer(registry, order_type).encode(f"{topic}-p", an_order)
    readers = {
        AvroDeserializer(registry): flat,
        AvroDeserializer(registry, record(NOTE)): flat,
        JsonDeserializer(registry): text,
        ProtobufDeserializer(registry, order_type): message,
    }
    for reader, good in readers.items():
        assert await reader.decode(None) is None
        for bad in (b"", b"hello", good[:5], good[:-1], good[:5] + b"\xff" * 9, b"\x01" + good[1:]):
            with pytest.raises(SchemaMismatch):
                await reader.decode(bad)
        for other in {flat, text, message} - {good}:
            with pytest.raises(SchemaMismatch, match="is read here"):
                await reader.decode(other)
    line = ProtobufDeserializer(registry, messages["goqueue_stall.order"].Line)
    with pytest.raises(
        SchemaMismatch, match=r"a message Order, and Line is read here.*the message class goqueue_stall.Line"
    ):
        await line.decode(message)
    with pytest.raises(SchemaMismatch, match="by 3 bytes"):
        await AvroDeserializer(registry).decode(flat + b"abc")


async def test_a_few_bytes_cannot_stand_for_billions_of_items(registry, topic):
    schema_id = await registry.register(topic, Schema('{"type": "array", "items": "null"}'))
    head = b"\0" + schema_id.to_bytes(4)
    assert await AvroDeserializer(registry).decode(head + b"\x06\0") == [None, None, None]
    with pytest.raises(DecodingLimit, match=r"more than 256 MiB of memory.*written with schema"):
        await AvroDeserializer(registry).decode(head + b"\xfe\xff\xff\xff\x0f\x00")


async def test_a_value_that_leads_ever_deeper_is_refused(registry, topic):
    nested = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    head = (await AvroSerializer(registry, nested).encode(topic, {"next": {"next": None}}))[:5]
    reader = AvroDeserializer(registry)
    assert await reader.decode(head + b"\2\0") == {"next": {"next": None}}
    assert await reader.decode(head + b"\2" * 99 + b"\0")
    for depth in (100, 300_000):
        with pytest.raises(DecodingLimit, match="records are nested more than 100 deep"):
            await reader.decode(head + b"\2" * depth + b"\0")


async def test_an_unknown_id_is_named(registry, url):
    with pytest.raises(UnknownSchema, match=f"schema 2000000000, which the registry at {url}"):
        await AvroDeserializer(registry).decode(b"\0" + (2_000_000_000).to_bytes(4) + b"\2")


async def test_a_serializer_that_may_not_register_needs_its_schema_in_the_subject(
    registry, topic, order_type, an_order
):
    only_look = AvroSerializer(registry, FLAT, auto_register=False)
    with pytest.raises(UnknownSubject):
        await only_look.encode(topic, {"id": 5})
    await registry.register(f"{topic}-value", Schema(json.dumps(record(ID, NOTE))))
    with pytest.raises(UnknownSchema):
        await only_look.encode(topic, {"id": 5})
    known = await registry.register(f"{topic}-value", Schema(json.dumps(FLAT)))
    # What was refused is asked for anew.
    assert await only_look.encode(topic, {"id": 5}) == b"\0" + known.to_bytes(4) + b"\x0a"
    framed = await ProtobufSerializer(registry, order_type).encode(f"{topic}-p", an_order)
    looking = ProtobufSerializer(Registry(registry.url), order_type, auto_register=False)
    assert await looking.encode(f"{topic}-p", an_order) == framed


async def test_subjects_follow_the_strategy(registry, topic):
    for strategy, subject in ((topic_name, topic), (lambda name: f"team.{name}", f"team.{topic}")):
        await AvroSerializer(registry, FLAT, subject_strategy=strategy).encode(topic, {"id": 5})
        assert await registry.subjects(prefix=subject) == [subject]


def test_errors_of_the_registry_are_known_by_their_numbers():
    known = {number: code for code, number in NUMBER_BY_CODE.items() if number < 50000}
    assert known == CODE_BY_NUMBER


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1:8080", "ftp://a/", "http://a:b@c/", "http://a:99999/", "http://a?x"]
)
def test_addresses_that_are_none_are_refused(address):
    with pytest.raises(InvalidRequest):
        Registry(address)


# How often the registry is asked


async def test_the_registry_is_asked_once_however_many_ask(door, topic):
    registry = Registry(door.url)
    writer, reader = AvroSerializer(registry, FLAT), AvroDeserializer(registry, record(ID, NOTE))
    sent = await asyncio.gather(*(writer.encode(topic, {"id": number}) for number in range(50)))
    assert len(door.asked) == 1
    got = await asyncio.gather(*(reader.decode(one) for one in sent))
    assert [one["id"] for one in got] == list(range(50))
    assert len(door.asked) == 2
    assert await AvroSerializer(registry, FLAT).encode(topic, {"id": 5})
    assert await AvroDeserializer(registry).decode(sent[0])
    assert len(door.asked) == 2


async def test_a_registry_that_is_away_for_a_moment_is_asked_again(door, topic):
    door.answers_503 = 2
    assert await AvroSerializer(Registry(door.url), FLAT).encode(topic, {"id": 5})
    assert len(door.asked) == 3


async def test_a_registry_that_stays_away_is_an_error_with_its_address():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/schemas"
        serializer = AvroSerializer(Registry(url, retries=1), FLAT)
        with pytest.raises(BrokerUnreachable, match=url):
            await serializer.encode("orders", {"id": 5})
        nobody.listen()
        with pytest.raises(BrokerUnreachable, match="timed out"):
            await AvroSerializer(Registry(url, retries=0, timeout_s=0.1), FLAT).encode("orders", {"id": 5})


async def test_what_is_known_is_read_and_written_while_the_registry_is_away(door, topic):
    registry = Registry(door.url, retries=0)
    writer, reader = JsonSerializer(registry, JSON_ORDER), JsonDeserializer(registry)
    assert await reader.decode(await writer.encode(topic, {"id": 5})) == {"id": 5}
    door.answers_503 = 1000
    assert await reader.decode(await writer.encode(topic, {"id": 6})) == {"id": 6}
    with pytest.raises(BrokerUnreachable, match="not yet"):
        await writer.encode(f"{topic}-other", {"id": 7})
    # A value that cannot be read is told of all the same.
    bad = (await writer.encode(topic, {"id": 6}))[:-1]
    with pytest.raises(SchemaMismatch, match=r"not JSON.*written with schema"):
        await reader.decode(bad)


async def test_what_answers_but_is_no_registry_is_named_so(shared_server):
    with pytest.raises(BrokerUnreachable, match="no schema registry"):
        await Registry(f"http://{shared_server.http}", retries=0).subjects()
    with pytest.raises(BrokerUnreachable, match="no schema registry"):
        await Registry(f"http://{shared_server.http}", retries=0).latest()


# With clients


async def test_serializers_go_with_lists_transactions_and_workers(shared_server, registry, topic):
    orders = AvroSerializer(registry, FLAT)
    read = AvroDeserializer(registry, FLAT)
    async with Producer(shared_server.native, transactional_id=topic) as producer, producer.transaction():
        await producer.send(topic, await orders.encode(topic, {"id": 0}))
        await producer.send_many(topic, [await orders.encode(topic, {"id": number}) for number in range(1, 4)])
    found = []
    async with Worker(topic, group="schemas", bootstrap=shared_server.native) as worker:
        while len(found) < 4:
            jobs = await worker.take()
            found += [(await read.decode(job.value))["id"] for job in jobs]
            await worker.ack(*jobs)
    assert sorted(found) == [0, 1, 2, 3]


def test_the_face_without_asyncio_does_the_same(shared_server, url, theirs, topic, order_type, an_order):
    registry = sync.Registry(url, retries=0)
    pairs = [
        (sync.AvroSerializer(registry, FLAT), sync.AvroDeserializer(registry), {"id": 5}),
        (sync.JsonSerializer(registry, JSON_ORDER), sync.JsonDeserializer(registry), {"id": 5}),
        (sync.ProtobufSerializer(registry, order_type), sync.ProtobufDeserializer(registry, order_type), an_order),
    ]
    with sync_client.Producer(shared_server.native) as producer:
        for number, (writer, _, value) in enumerate(pairs):
            assert writer.encode(topic, None) is None
            producer.send(topic, writer.encode(f"{topic}{number}", value), partition=0)
    with sync_client.Consumer(topic, bootstrap=shared_server.native) as consumer:
        for (_, reader, value), message in zip(pairs, consumer, strict=False):
            assert reader.decode(message.value) == value
    assert pairs[0][1].decode(None) is None
    with pytest.raises(SchemaMismatch, match="is read here"):
        pairs[1][1].decode(pairs[0][0].encode(f"{topic}0", {"id": 5}))
    with pytest.raises(SchemaMismatch, match="written with schema"):
        pairs[0][1].decode(pairs[0][0].encode(f"{topic}0", {"id": 5}) + b"x")


async def test_the_registry_is_administered(registry, theirs, topic):
    subject = f"{topic}/größe value"
    first = await registry.register(subject, Schema(json.dumps(FLAT)))
    newer, breaking = Schema(json.dumps(record(ID, NOTE))), Schema(json.dumps(record(ID, ("more", "int", {}))))
    assert (await registry.check(subject, newer)).is_compatible
    refused = await registry.check(subject, breaking, version=1)
    assert not refused.is_compatible
    assert "/fields/1" in refused.messages[0]
    second = await registry.register(subject, newer)
    assert await registry.versions(subject) == [1, 2]
    latest = await registry.version(subject)
    assert (latest.version, latest.id, json.loads(latest.schema.text)) == (2, second, record(ID, NOTE))
    assert (await registry.look_up(subject, newer)).version == 2
    assert (await registry.version(subject, 1)).id == first
    assert (subject, 2) in await registry.places(second)
    assert [one.subject for one in await registry.latest(prefix=topic)] == [subject]
    assert theirs.get_latest_version(subject).schema_id == second
    assert await registry.config(subject) == {"compatibility": "BACKWARD", "normalize": False}
    await registry.set_config(subject, compatibility="FULL", normalize=True)
    assert await registry.config(subject, in_effect=False) == {"compatibility": "FULL", "normalize": True}
    await registry.reset_config(subject)
    assert (await registry.config(subject))["compatibility"] == "BACKWARD"
    await registry.set_mode("READONLY", subject)
    assert await registry.mode(subject) == "READONLY"
    await registry.reset_mode(subject)
    assert await registry.mode(subject) == "READWRITE"
    assert await registry.delete(subject, 1) == [1]
    assert await registry.versions(subject, deleted=True) == [1, 2]
    assert await registry.delete(subject) == [2]
    assert await registry.delete(subject, permanent=True) == [1, 2]
    with pytest.raises(UnknownSubject):
        await registry.versions(subject)


async def test_theirs_and_ours_share_ids_of_the_same_schema(registry, theirs, topic):
    ours = await registry.register(topic, Schema(json.dumps(FLAT)))
    assert theirs.register_schema(topic, TheirSchema(json.dumps(FLAT, indent=2), "AVRO")) == ours
