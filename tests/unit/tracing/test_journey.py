"""Where is my message? Whatever became of it, and whether it was traced or not."""

import pytest

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.groups import commit_offsets
from goqueue.engine.queue import settle
from goqueue.engine.tracing.journey import journey_of, journey_of_id, journey_of_key
from goqueue.engine.transactions import ending
from goqueue.errors import UnknownRecord
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.record_id import with_id
from tests.unit.tracing.scene import CONTEXT, GROUP, ORDERS, TRACE, lease, made, publish, records, take
from tests.unit.tracing.test_spans import begun

NS_PER_MS = 1_000_000


@pytest.fixture(params=["traced", "not traced", "off"])
async def any_broker(request, open_broker):
    """The log and the queues know as much in each case."""
    settings = {"traced": {}, "not traced": {"rate": 0.0}, "off": {"enabled": False}}[request.param]
    async with open_broker(**settings) as opened:
        yield opened


def stand(journey, group=GROUP):
    (found,) = [one for one in journey.groups if one.group == group]
    return found


async def test_a_record_waits_is_in_flight_rests_and_is_done(any_broker, clock):
    broker = any_broker
    await made(broker, visibility_timeout_ms=30_000, retry_backoff_ms=1000)
    await publish(broker, *records(b"a", b"b"))
    before = await journey_of(broker, ORDERS, 0, 1)
    assert (before.found, before.groups, before.record.value) == ("there", [], b"b")
    await take(broker, 1)
    assert stand(await journey_of(broker, ORDERS, 0, 1)).state == "waiting"

    (part,) = await take(broker, 1)
    here = stand(await journey_of(broker, ORDERS, 0, 1))
    assert (here.state, here.member, here.deliveries) == ("in_flight", "worker", 1)
    assert here.until_ns == clock.now_ns() + 30_000 * NS_PER_MS

    await settle.nack(broker, lease(part), reason="busy")
    here = stand(await journey_of(broker, ORDERS, 0, 1))
    assert (here.state, here.failures, here.last_failure) == ("retrying", 1, "busy")
    assert here.until_ns == clock.now_ns() + 1000 * NS_PER_MS
    clock.advance_ms(1001)
    assert stand(await journey_of(broker, ORDERS, 0, 1)).state == "waiting"

    (part,) = await take(broker, 1)
    assert stand(await journey_of(broker, ORDERS, 0, 1)).deliveries == 2
    await settle.acknowledge(broker, lease(part))
    assert stand(await journey_of(broker, ORDERS, 0, 1)).state == "done"


async def test_a_dead_letter_is_found_also_by_a_broker_that_noted_nothing(any_broker):
    broker = any_broker
    await made(broker)
    await publish(broker, *records(b"a", b"b"))
    (part,) = await take(broker)
    await settle.reject(broker, lease(part, 0), reason="never")
    await settle.reject(broker, lease(part, 1), reason="never")
    here = stand(await journey_of(broker, ORDERS, 0, 1))
    assert (here.state, here.dead_letter) == ("dead_lettered", f"{ORDERS}.dlq/0/1")


async def test_groups_that_read_by_offsets_have_read_it_or_not(any_broker):
    broker = any_broker
    await made(broker)
    await publish(broker, *records(b"a", b"b"))
    await commit_offsets(broker, "readers", {LogId(ORDERS, 0): OffsetAndMetadata(1)}, None, None)
    assert stand(await journey_of(broker, ORDERS, 0, 0), "readers").state == "read"
    assert stand(await journey_of(broker, ORDERS, 0, 1), "readers").state == "unread"


async def test_a_delay_and_an_expiry_are_told(any_broker, clock):
    broker = any_broker
    await made(broker)
    due = clock.now_ns() + 10 * NS_PER_MS
    expires = Record(value=b"x", headers=(("goqueue-expires", b"%d" % (clock.now_ns() + NS_PER_MS)),))
    await publish(broker, expires, *records(b"y"), dues=[0, due])
    late = await journey_of(broker, ORDERS, 0, 1)
    assert (late.delay.value, late.delayed_until_ns) == ("pending", due)
    assert not (await journey_of(broker, ORDERS, 0, 0)).is_expired
    clock.advance_ms(2)
    assert (await journey_of(broker, ORDERS, 0, 0)).is_expired
    await take(broker)
    assert stand(await journey_of(broker, ORDERS, 0, 1)).state == "delayed"
    assert stand(await journey_of(broker, ORDERS, 0, 0)).state == "done"


async def test_a_record_of_a_transaction_is_open_and_then_aborted(any_broker):
    broker = any_broker
    await made(broker)
    ref = await begun(broker)
    await publish(broker, *records(b"a"), transaction=ref)
    assert (await journey_of(broker, ORDERS, 0, 0)).transaction == "open"
    await ending.abort(broker, *ref)
    assert (await journey_of(broker, ORDERS, 0, 0)).transaction == "aborted"


@pytest.mark.parametrize("window", [0, 600_000])
async def test_a_record_is_found_by_its_id_also_when_ids_are_not_remembered(broker, window):
    await made(broker, partitions=2, dedup_window_ms=window)
    await publish(broker, *records(b"x"), partition=1)
    await publish(broker, with_id(records(b"y")[0], "o-7"), partition=1, ids=["o-7"])
    found = await journey_of_id(broker, ORDERS, "o-7")
    assert (found.partition, found.offset, found.record.value) == (1, 1, b"y")
    with pytest.raises(UnknownRecord):
        await journey_of_id(broker, ORDERS, "o-8")


async def test_the_newest_record_of_a_key_is_found_wherever_it_lies(broker):
    await made(broker, partitions=3)
    for partition in range(3):
        await publish(broker, Record(value=b"v", key=b"other"), partition=partition)
    await publish(broker, Record(value=b"1", key=b"k"), Record(value=b"2", key=b"k"), partition=2)
    await publish(broker, *[Record(value=b"v", key=b"other")] * 5000, partition=2)
    found = await journey_of_key(broker, ORDERS, b"k")
    assert (found.partition, found.record.value) == (2, b"2")
    with pytest.raises(UnknownRecord):
        await journey_of_key(broker, ORDERS, b"nobody")
    with pytest.raises(UnknownRecord):
        await journey_of_key(broker, ORDERS, b"k", 0)


async def test_the_spans_of_its_trace_come_with_it(broker):
    await made(broker, max_attempts=1)
    await publish(broker, *records(b"a", headers=(CONTEXT,)), *records(b"b"))
    (part,) = await take(broker)
    await settle.nack(broker, lease(part, 0, 1))
    carried = await journey_of(broker, ORDERS, 0, 0)
    assert carried.trace_id == TRACE
    own = await journey_of(broker, ORDERS, 0, 1)
    for one in (carried, own):
        assert [str(span.run.operation) for span in one.spans] == ["publish", "publish", "consume", "nack", "dlq"]
        assert {span.trace_id for span in one.spans} == {one.trace_id}


async def test_a_record_that_is_gone_is_said_to_be(broker):
    await made(broker)
    await publish(broker, Record(value=b"a", key=b"k"))
    await publish(broker, Record(value=b"b"))
    partition = broker.partition(ORDERS, 0)
    partition.log.drop(tuple(segment.base_offset for segment in partition.log.segments))
    partition.forget_dropped()
    for gone in (await journey_of(broker, ORDERS, 0, 0), await journey_of_key(broker, ORDERS, b"k")):
        assert (gone.found, gone.record, gone.offset) == ("removed", None, 0)
        assert [str(span.run.operation) for span in gone.spans] == ["publish"]


async def test_a_record_that_never_was_is_refused(broker):
    await made(broker)
    with pytest.raises(UnknownRecord):
        await journey_of(broker, ORDERS, 0, 0)
