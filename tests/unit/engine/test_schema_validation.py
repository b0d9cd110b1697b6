"""What is published fits a schema of its topic, on whichever way it comes; and what does not fit leaves no trace."""

import asyncio
import io
import json

import fastavro
import pytest

from goqueue import codec
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.adapters.schemas.protoc import compile_files
from goqueue.codec.compression import compressor
from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch
from goqueue.core.schemas.policies import Config, Level
from goqueue.core.schemas.schema import Reference, Schema
from goqueue.engine.broker import Broker
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.placement import Placement
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.publish_records import Outgoing, Placed, publish_in_transaction, publish_records
from goqueue.engine.schedules import change_schedule, create_schedule, fire_due
from goqueue.engine.schemas.changing import delete_subject, delete_version, register_schema, set_config
from goqueue.engine.topics import amend_topic, create_topic
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.mending import Edit
from goqueue.engine.workbench.redrive import Orders, redrive
from goqueue.engine.workbench.search import Wanted
from goqueue.errors import SchemaViolation
from goqueue.model.record import Record
from goqueue.model.topic import SchemaValidation, TopicConfig, TopicName
from goqueue.testing import SeededEntropy
from goqueue.testing.clock import FakeClock
from tests.unit.engine.support import values_from
from tests.unit.engine.transaction_scene import begun, committed, written
from tests.unit.workbench.scene import dead

ORDERS = TopicName("orders")
ORDER = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
JSON_ORDER = Schema("JSON", json.dumps(ORDER))
AVRO_ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
PROTO_ORDER = 'syntax = "proto2"; message Other { optional int32 x = 1; } message Order { required int32 id = 1; }'
GOOD, BAD = b'{"id": 1}', b'{"id": "one"}'


@pytest.fixture
async def broker(clock):
    async with Broker(MemoryStore(MemoryDisk()), clock, SeededEntropy(), MemoryIdIndex(), compile_files) as opened:
        await create_topic(opened, ORDERS, 2, TopicConfig())
        yield opened


@pytest.fixture
def clock():
    return FakeClock()


def framed(schema_id, payload):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


async def registered(broker, schema, subject="orders"):
    return (await register_schema(broker, subject, schema)).id


async def sent(broker, *values, compress=None, **more):
    records = [Record(value=value) for value in values]
    if compress is not None:
        records = [compressor(compress)(record) for record in records]
    return await publish_and_wait(broker, PublishBatch(ORDERS, 0, bytearray(codec.encode(records)), **more))


async def set_topic(broker, **changes):
    await amend_topic(broker, ORDERS, lambda config: TopicConfig(**{**_fields(config), **changes}))


def _fields(config):
    return {name: getattr(config, name) for name in config.__struct_fields__}


def kept(broker, number=0):
    return values_from(broker.partition(ORDERS, number))


async def test_without_a_schema_anything_may_be_published(broker):
    await sent(broker, b"anything", BAD, None)
    await registered(broker, JSON_ORDER, "others")
    await sent(broker, b"anything")
    assert len(kept(broker)) == 4


async def test_from_the_first_schema_on_values_have_to_fit_and_a_refusal_says_where_and_why(broker):
    number = await registered(broker, JSON_ORDER)
    await sent(broker, GOOD, framed(number, GOOD), None)
    with pytest.raises(SchemaViolation) as refusal:
        await sent(broker, GOOD, GOOD, BAD, b"not JSON")
    assert (
        refusal.value.message
        == f'record 2: at /id: "one" is not of type "integer" (schema {number} of the subject orders)'
    )
    assert refusal.value.code == "schema_violation"
    assert len(kept(broker)) == 3


async def test_with_on_nothing_but_tombstones_passes_while_there_is_no_schema_and_with_off_everything_always(broker):
    await set_topic(broker, schema_validation=SchemaValidation.ON)
    with pytest.raises(SchemaViolation, match="record 0: the subject orders has no schema"):
        await sent(broker, GOOD)
    with pytest.raises(SchemaViolation, match="schema 1 is none of the subject orders"):
        await sent(broker, framed(1, GOOD))
    await sent(broker, None)
    await registered(broker, JSON_ORDER)
    await sent(broker, GOOD)
    await set_topic(broker, schema_validation=SchemaValidation.OFF)
    await sent(broker, BAD)
    assert kept(broker) == [None, GOOD, BAD]


async def test_a_topic_may_have_another_subject(broker):
    await set_topic(broker, schema_subject="orders-value")
    await registered(broker, JSON_ORDER)
    await sent(broker, BAD)
    await registered(broker, JSON_ORDER, "orders-value")
    with pytest.raises(SchemaViolation, match="of the subject orders-value"):
        await sent(broker, BAD)


async def test_each_version_may_be_used_until_it_is_deleted(broker):
    await set_config(broker, None, Config(Level.NONE))
    first = await registered(broker, JSON_ORDER)
    second = await registered(broker, Schema("JSON", '{"type": "string"}'))
    await sent(broker, framed(first, GOOD), framed(second, b'"text"'), b'"plain ones have to fit the newest"')
    for value in (framed(first, b'"text"'), framed(second, GOOD), GOOD):
        with pytest.raises(SchemaViolation, match="record 0: "):
            await sent(broker, value)
    await delete_version(broker, "orders", 2)
    await sent(broker, GOOD)
    with pytest.raises(SchemaViolation, match=f"schema {second} is none of the subject"):
        await sent(broker, framed(second, b'"text"'))
    await delete_subject(broker, "orders")
    await sent(broker, b"anything")


async def test_a_schema_of_another_subject_is_none_of_this_one_also_when_it_is_the_same_text(broker):
    await registered(broker, JSON_ORDER)
    other = await registered(broker, Schema("JSON", "{}"), "others")
    for number in (other, 77, (1 << 32) - 1):
        with pytest.raises(SchemaViolation, match=f"schema {number} is none of the subject orders"):
            await sent(broker, framed(number, GOOD))
    assert kept(broker) == []


async def test_avro_has_to_be_framed_and_to_be_read_to_its_end(broker):
    number = await registered(broker, Schema("AVRO", json.dumps(AVRO_ORDER)))
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, AVRO_ORDER, {"id": 12345})
    await sent(broker, framed(number, buffer.getvalue()))
    for value, reason in (
        (buffer.getvalue(), "names no schema"),
        (b"", "names no schema"),
        (framed(number, b""), "at /id: the value is cut off"),
        (framed(number, buffer.getvalue() + b"x"), "ends at byte"),
    ):
        with pytest.raises(SchemaViolation, match=reason):
            await sent(broker, value)
    assert len(kept(broker)) == 1


async def test_protobuf_says_which_message_it_is(broker):
    number = await registered(broker, Schema("PROTOBUF", PROTO_ORDER))
    await sent(broker, framed(number, b"\x02\x02\x08\x01"), framed(number, b"\0"))
    for value, reason in (
        (b"\x08\x01", "names no schema"),
        (framed(number, b"\x02\x02"), "lacks required fields: id"),
        (framed(number, b"\x02\x02\x0f"), "not a message Order"),
        (framed(number, b"\x02\x08\x08\x01"), "no message at the path"),
        (framed(number, b""), "cut off"),
    ):
        with pytest.raises(SchemaViolation, match=reason):
            await sent(broker, value)
    assert len(kept(broker)) == 2


@pytest.mark.parametrize("method", ["zstd", "lz4"])
async def test_compressed_values_are_looked_into(broker, method):
    await registered(broker, JSON_ORDER)
    long = {"id": 1, "text": "x" * 500}
    await sent(broker, json.dumps(long).encode(), compress=method)
    with pytest.raises(SchemaViolation, match="record 1: at /id"):
        await sent(broker, GOOD, json.dumps(long | {"id": "x"}).encode(), compress=method)
    batch = codec.encode([Record(value=b"\x01\0\0\0\x09no frame", flags=1)])
    with pytest.raises(SchemaViolation, match="compressed value cannot be read"):
        await publish_and_wait(broker, PublishBatch(ORDERS, 0, bytearray(batch)))


async def test_a_refused_batch_burns_no_sequence_and_a_repeated_one_is_known_whatever_the_schemas_are_now(broker):
    await registered(broker, JSON_ORDER)
    producer = broker.producer_ids.next()
    broker.producer_ids.apply(producer)
    first = ProducerBatch(producer.producer_id, producer.epoch, 0)
    with pytest.raises(SchemaViolation):
        await sent(broker, BAD, producer=first)
    written_at = await sent(broker, GOOD, producer=first)
    await set_config(broker, None, Config(Level.NONE))
    await registered(broker, Schema("JSON", "false"))
    repeated = await sent(broker, GOOD, producer=first)
    assert (written_at.duplicate, repeated.duplicate, repeated.base_offset) == (False, True, written_at.base_offset)


async def test_batches_stay_in_order_when_one_takes_long_to_check(broker):
    """The first waits for its schema to be parsed, others are checked in many slices; some are refused."""
    await registered(broker, JSON_ORDER)
    large = [b'{"id": %d}' % number for number in range(5000)]
    batches = [[*large, BAD] if step % 3 == 2 else large if step % 3 == 1 else [GOOD] for step in range(9)]
    outcomes = await asyncio.gather(*(sent(broker, *batch) for batch in batches), return_exceptions=True)
    refused = [isinstance(one, SchemaViolation) for one in outcomes]
    assert refused == [step % 3 == 2 for step in range(9)]
    assert "record 5000: " in outcomes[2].message
    assert kept(broker) == [value for step, batch in enumerate(batches) if step % 3 < 2 for value in batch]


async def test_values_that_name_a_schema_may_stand_among_those_that_do_not(broker):
    number = await registered(broker, JSON_ORDER)
    some = [GOOD if step % 7 else None if step % 5 else framed(number, GOOD) for step in range(3000)]
    await sent(broker, *some)
    await sent(broker, *some, json.dumps({"id": 1, "text": "x" * 500}).encode(), compress="lz4")
    for wrong in (BAD, framed(number, BAD), framed(number + 1, GOOD)):
        with pytest.raises(SchemaViolation, match="record 2000: "):
            await sent(broker, *some[:2000], wrong, *some)
    assert len(kept(broker)) == 6001


def long_order(size=200_000, number="1"):
    return b'{"id": %s, "text": "%s"}' % (number.encode(), b"x" * size)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize("compress", [None, "lz4"])
async def test_large_values_may_stand_among_small_ones_and_are_refused_by_their_number(broker, place, compress):
    number = await registered(broker, JSON_ORDER)
    good = [GOOD, GOOD, GOOD]
    good.insert(place, long_order())
    await sent(broker, *good, framed(number, long_order()), compress=compress)
    assert kept(broker)[place] is not None
    assert len(kept(broker)) == 5
    for wrong in (long_order(number='"1"'), framed(number, long_order(number='"1"')), framed(number + 1, long_order())):
        bad = [GOOD, long_order(), GOOD]
        bad.insert(place, wrong)
        with pytest.raises(SchemaViolation, match=f"record {place}: "):
            await sent(broker, *bad, compress=compress)
    assert len(kept(broker)) == 5


async def test_batches_stay_in_order_behind_one_with_a_large_value(broker):
    await registered(broker, JSON_ORDER)
    batches = [[long_order(), GOOD], [GOOD], [GOOD, long_order(number="null")], [b'{"id": 2}'], [long_order()]]
    outcomes = await asyncio.gather(*(sent(broker, *batch) for batch in batches), return_exceptions=True)
    assert [isinstance(one, SchemaViolation) for one in outcomes] == [False, False, True, False, False]
    assert kept(broker) == [value for batch in (*batches[:2], *batches[3:]) for value in batch]


async def test_small_avro_values_are_checked_right_while_a_large_one_is_checked_in_a_thread(broker):
    schema = {"type": "array", "items": "int"}
    number = await registered(broker, Schema("AVRO", json.dumps(schema)))

    def array(*numbers):
        written = io.BytesIO()
        fastavro.schemaless_writer(written, schema, list(numbers))
        return framed(number, written.getvalue())

    large = asyncio.ensure_future(sent(broker, array(*range(200_000))))
    for step in range(50):
        with pytest.raises(SchemaViolation):
            await publish_and_wait(
                broker, PublishBatch(ORDERS, 1, bytearray(codec.encode([Record(value=array(step)[:-1])])))
            )
        record = Record(value=array(step, step))
        await publish_and_wait(broker, PublishBatch(ORDERS, 1, bytearray(codec.encode([record]))))
    await large
    assert len(kept(broker)) == 1
    assert len(kept(broker, 1)) == 50


async def test_others_have_their_turn_while_a_large_batch_is_checked(broker):
    await registered(broker, JSON_ORDER)
    await sent(broker, GOOD)
    loop, partition = asyncio.get_running_loop(), broker.partition(ORDERS, 0)
    turns = 0

    def others():
        nonlocal turns
        # What follows the check does not count: it leaves room for others by itself.
        if partition.next_offset == 1:
            turns += 1
            loop.call_soon(others)

    loop.call_soon(others)
    await sent(broker, *[GOOD] * 20_000)
    assert turns > 10


async def test_records_that_come_singly_fail_one_by_one(broker):
    await registered(broker, JSON_ORDER)
    records = [Outgoing(Record(value=value), 0, id=f"r{n}") for n, value in enumerate((GOOD, BAD, b"{}", None))]
    placed = await publish_records(broker, Placement(), ORDERS, records)
    assert [type(one) for one in placed] == [Placed, SchemaViolation, SchemaViolation, Placed]
    assert placed[2].message.startswith('"id" is a required property')
    assert kept(broker) == [GOOD, None]


async def test_in_a_transaction_nothing_of_a_refused_request_is_written_and_it_can_still_commit(broker):
    await registered(broker, JSON_ORDER)
    ref = await begun(broker)
    await written(broker, ref, GOOD, topic=ORDERS)
    with pytest.raises(SchemaViolation, match="record 1: "):
        await written(broker, ref, GOOD, BAD, topic=ORDERS)
    some = [(ORDERS, Outgoing(Record(value=value), number)) for number, value in enumerate((GOOD, BAD))]
    with pytest.raises(SchemaViolation) as refusal:
        await publish_in_transaction(broker, Placement(), ref, some)
    assert refusal.value.message.startswith("record 1: at /id: ")
    await committed(broker, ref)
    assert kept(broker)[:1] == [GOOD]
    assert [partition.next_offset for partition in broker.partitions(ORDERS)] == [2, 0]


async def test_a_delayed_record_is_checked_when_it_comes(broker, clock):
    await registered(broker, JSON_ORDER)
    due = clock.now_ns() + 10**9
    with pytest.raises(SchemaViolation):
        await sent(broker, BAD, dues=[due])
    await sent(broker, GOOD, dues=[due])
    assert broker.partition(ORDERS, 0).next_offset == 1


async def test_a_schedule_is_checked_when_it_is_made_and_passes_over_what_does_not_fit_when_it_is_due(broker, clock):
    config = ScheduleConfig(id="s", topic="orders", value=GOOD, every_s=10)
    await registered(broker, JSON_ORDER)
    with pytest.raises(SchemaViolation):
        await create_schedule(broker, ScheduleConfig(id="s", topic="orders", value=BAD, every_s=10))
    await create_schedule(broker, config)
    with pytest.raises(SchemaViolation):
        await change_schedule(broker, "s", SchedulePatch(value=BAD))
    clock.advance_ms(10_000)
    assert await fire_due(broker, Placement()) == 1
    await set_config(broker, None, Config(Level.NONE))
    await registered(broker, Schema("JSON", '{"type": "string"}'))
    clock.advance_ms(10_000)
    await fire_due(broker, Placement())
    state = broker.schedules.state("s")
    assert [(entry.outcome.value, "is not of type" in (entry.reason or "")) for entry in state.history] in (
        [("fired", False), ("skipped", True)],
        [("skipped", True), ("fired", False)],
    )
    assert kept(broker) + kept(broker, 1) == [GOOD]


async def test_a_dead_letter_goes_back_only_when_it_fits(broker):
    await dead(broker, GOOD)
    await dead(broker, BAD)
    await registered(broker, JSON_ORDER)

    async def sent_back(**orders):
        report = await redrive(desk_of(broker, ORDERS), Orders(Wanted(), **orders))
        return report.done, [type(one.error) for one in report.failures]

    assert await sent_back(dry_run=True) == await sent_back() == (1, [SchemaViolation])
    assert await sent_back(edit=Edit(value=b"{}")) == (0, [SchemaViolation])
    assert await sent_back(edit=Edit(value=GOOD)) == (1, [])
    assert kept(broker) == [GOOD, BAD, GOOD, GOOD]


async def test_a_schema_that_went_for_good_and_came_again_under_the_same_name_counts_as_it_is_now(broker):
    await set_config(broker, None, Config(Level.NONE))
    shared = Reference("shared.json", "shared", 1)
    await registered(broker, Schema("JSON", '{"type": "integer"}'), "shared")
    await registered(broker, Schema("JSON", '{"$ref": "shared.json"}', (shared,)))
    await sent(broker, b"1")
    for subject in ("orders", "shared"):
        await delete_subject(broker, subject)
        await delete_subject(broker, subject, permanent=True)
    await sent(broker, b"anything")
    await registered(broker, Schema("JSON", '{"type": "string"}'))
    with pytest.raises(SchemaViolation):
        await sent(broker, b"1")
    await sent(broker, b'"1"')


async def test_after_a_restart_values_still_have_to_fit(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, ORDERS, 1, TopicConfig(schema_subject="orders-value"))
        await registered(broker, JSON_ORDER, "orders-value")
        await sent(broker, GOOD)
    async with open_broker() as broker:
        assert broker.catalog.topic(ORDERS).config.schema_subject == "orders-value"
        with pytest.raises(SchemaViolation):
            await sent(broker, BAD)
        await sent(broker, GOOD)
        assert kept(broker) == [GOOD, GOOD]
