"""Sending dead letters back, and purging them."""

import asyncio
import itertools

import pytest

from goqueue.codec.compression import compressor
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.poll import Poll, poll
from goqueue.engine.topics import amend_topic, create_topic, delete_topic
from goqueue.engine.workbench import redrive as redrive_module
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.mending import Edit
from goqueue.engine.workbench.redrive import Orders, purge, redrive
from goqueue.engine.workbench.search import Wanted, show
from goqueue.engine.workbench.stats import letter_stats
from goqueue.errors import DiskFull, InvalidRequest, OffsetOutOfRange, UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.record import Flag, Record
from goqueue.model.topic import TopicConfig, topic_name
from tests.unit.workbench.scene import (
    LETTERS,
    ORDERS,
    dead,
    made,
    published,
    records_of,
    rejected,
    values,
    values_of,
)

ALL = Wanted()


async def redriven(broker, wanted=ALL, name=ORDERS, **orders):
    return await redrive(desk_of(broker, topic_name(name)), Orders(wanted, **orders))


async def purged(broker, wanted=ALL, name=ORDERS, **orders):
    return await purge(desk_of(broker, topic_name(name)), Orders(wanted, **orders))


def but_for_the_trace(record):
    return tuple(header for header in record.headers if header[0] != "traceparent")


async def test_a_letter_goes_back_as_it_was_and_says_that_it_was_there_before(broker):
    await made(broker, partitions=3)
    await dead(broker, Record(b"v", b"k", (("h", b"1"), ("h", b"2")), priority=4), partition=2)
    report = await redriven(broker)
    assert (report.matched, report.done, report.failed, report.missing, report.last) == (1, 1, 0, 0, None)
    assert report.moves == [(2, 0, LogId("orders", 2), 1)]
    before, after = records_of(broker)
    assert (after.key, after.value, after.priority) == (before.key, before.value, before.priority)
    assert but_for_the_trace(after) == (("h", b"1"), ("h", b"2"), ("goqueue-redriven-from", b"orders.dlq/2/0"))
    assert broker.partition(ORDERS, 2).lanes.priority_of(1) == 4


async def test_every_group_of_the_topic_sees_it(broker):
    await made(broker)
    await dead(broker, b"a")
    await redriven(broker)
    for group in ("billing", "audit"):
        taken = await poll(broker, Poll(group, "worker", topics=["orders"], wait_ms=0))
        assert sum(len(part.records) > 0 for part in taken) == 1


async def test_a_letter_that_was_sent_back_is_not_there_any_more(broker):
    await made(broker)
    await dead(broker, b"a", b"b", b"c")
    await redriven(broker, Wanted(places=((0, 1),)))
    assert await values(broker) == [b"a", b"c"]
    assert (await letter_stats(desk_of(broker, ORDERS))).count == 2
    with pytest.raises(OffsetOutOfRange):
        await show(desk_of(broker, ORDERS), 0, 1)
    report = await redriven(broker, Wanted(places=((0, 1),)))
    assert (report.matched, report.done, report.missing) == (0, 0, 1)
    assert values_of(broker) == [b"a", b"b", b"c", b"b"]
    assert (await redriven(broker)).done == 2
    assert (await redriven(broker)).done == 0
    assert sorted(values_of(broker)) == [b"a", b"a", b"b", b"b", b"c", b"c"]


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_that_survives_a_restart(open_broker, checkpoint):
    async with open_broker() as broker:
        await made(broker)
        await dead(broker, b"a", b"b", b"c", b"d")
        await redriven(broker, Wanted(places=((0, 0), (0, 2))))
        await purged(broker, Wanted(places=((0, 3),)))
        if checkpoint:
            await Maintenance(broker, None, MaintenanceSettings()).checkpoint()
    async with open_broker() as broker:
        assert await values(broker) == [b"b"]
        assert (await redriven(broker)).done == 1
        assert values_of(broker) == [b"a", b"b", b"c", b"d", b"a", b"c", b"b"]


async def test_a_letter_that_dies_again_is_another_letter(broker):
    await made(broker)
    await dead(broker, b"a")
    await redriven(broker)
    await rejected(broker, reason="again")
    assert await values(broker) == [b"a"]
    assert (await redriven(broker)).moves == [(0, 1, LogId("orders", 0), 2)]
    assert but_for_the_trace(records_of(broker)[-1]) == (("goqueue-redriven-from", b"orders.dlq/0/1"),)


async def test_letters_that_come_meanwhile_are_left_for_the_next_time(broker, monkeypatch):
    """A worker that rejects everything at once must not keep a redrive busy for ever."""
    monkeypatch.setattr("goqueue.engine.workbench.redrive.PAGE", 1)
    await made(broker)
    await dead(broker, b"a", b"b")
    work = asyncio.create_task(redriven(broker))
    while not work.done():
        await rejected(broker)
        await asyncio.sleep(0)
    report = await work
    await rejected(broker)
    assert (report.done, report.last) == (2, None)
    assert await values(broker) == [b"a", b"b"]


async def test_two_redrives_at_once_send_each_letter_back_once(broker):
    await made(broker, partitions=2)
    for partition in range(2):
        await dead(broker, *(b"%d.%d" % (partition, number) for number in range(50)), partition=partition)
    reports = await asyncio.gather(*(redriven(broker) for _ in range(4)), purged(broker, Wanted(reason="nothing")))
    assert sum(report.done for report in reports) == 100
    found = values_of(broker)
    assert (len(found), len(set(found))) == (200, 100)


async def test_a_purge_beside_a_redrive_has_either_happen_to_each_letter(broker, monkeypatch):
    monkeypatch.setattr("goqueue.engine.workbench.redrive.PAGE", 3)
    await made(broker)
    await dead(broker, *(b"%d" % number for number in range(60)))
    sent, gone = await asyncio.gather(redriven(broker), purged(broker))
    assert sent.done + gone.done == 60
    assert len(values_of(broker)) == 60 + sent.done
    assert await values(broker) == []


async def test_a_dry_run_tells_what_would_happen_and_changes_nothing(broker):
    await made(broker, partitions=2)
    await dead(broker, b"a", partition=1)
    report = await redriven(broker, dry_run=True)
    assert (report.matched, report.done) == (1, 1)
    assert report.moves == [(1, 0, LogId("orders", 1), None)]
    assert (await purged(broker, dry_run=True)).done == 1
    assert (await values(broker), values_of(broker)) == ([b"a"], [b"a"])


async def test_a_purge_is_for_good(broker):
    await made(broker)
    await dead(broker, b"a", b"b", reason="old")
    await dead(broker, b"c", reason="new")
    report = await purged(broker, Wanted(reason="old"))
    assert (report.matched, report.done, report.last) == (2, 2, None)
    assert await values(broker) == [b"c"]
    assert values_of(broker) == [b"a", b"b", b"c"]


async def test_a_limit_is_kept_and_the_rest_done_later(broker):
    await made(broker)
    await dead(broker, *(b"%d" % number for number in range(10)))
    first = await redriven(broker, limit=4)
    assert (first.done, first.last is None) == (4, False)
    second = await redriven(broker, after=first.last, ends=first.ends)
    assert (second.done, second.last) == (6, None)
    assert await values(broker) == []


async def test_letters_are_changed_on_the_way(broker):
    await made(broker)
    await dead(broker, Record(b"wrong", b"k", (("h", b"1"),)))
    edit = Edit(value=b"right", key=b"other", headers=(("new", b"2"),), marks=(("new", b"3"), ("mark", b"4")))
    await redriven(broker, edit=edit)
    record = records_of(broker)[-1]
    assert (record.key, record.value) == (b"other", b"right")
    assert record.headers == (("new", b"2"), ("mark", b"4"), ("goqueue-redriven-from", b"orders.dlq/0/0"))


async def test_a_value_can_be_made_a_tombstone_and_a_key_be_taken(broker):
    await made(broker)
    await dead(broker, Record(b"v", b"k"))
    await redriven(broker, edit=Edit(value=None, key=None))
    record = records_of(broker)[-1]
    assert (record.key, record.value) == (None, None)


async def test_a_compressed_value_stays_as_it_is_unless_it_is_replaced(broker):
    await made(broker)
    squeezed = compressor("zstd")(Record(b"x" * 1000))
    await dead(broker, squeezed, squeezed)
    assert await values(broker) == [b"x" * 1000] * 2
    await redriven(broker, Wanted(places=((0, 0),)))
    await redriven(broker, edit=Edit(value=b"plain"))
    kept, replaced = records_of(broker)[-2:]
    assert (kept.value, kept.flags & Flag.COMPRESSED) == (squeezed.value, Flag.COMPRESSED)
    assert (replaced.value, replaced.flags & Flag.COMPRESSED) == (b"plain", 0)


async def test_letters_go_to_another_topic_by_their_keys(broker):
    await made(broker)
    await made(broker, "repair", partitions=4)
    await dead(broker, *(Record(b"%d" % number, b"key %d" % number) for number in range(20)))
    report = await redriven(broker, edit=Edit(topic=topic_name("repair")))
    assert report.done == 20
    assert len({move.target for move in report.moves}) > 1
    assert sorted(values_of(broker, "repair")) == sorted(b"%d" % number for number in range(20))
    for partition in broker.partitions(topic_name("repair")):
        assert partition.high_watermark == sum(move.target == partition.id for move in report.moves)
    assert values_of(broker) == [b"%d" % number for number in range(20)]


async def test_a_key_that_is_changed_decides_on_the_partition(broker):
    await made(broker, partitions=8)
    await dead(broker, Record(b"a", b"k"), partition=0)
    report = await redriven(broker, edit=Edit(key=b"k"))
    from goqueue.model.partitioning import KeyRanges

    assert report.moves[0].target.partition == KeyRanges(broker.catalog.topic(ORDERS).ranges).partition_of(b"k")


async def test_where_the_topic_has_fewer_partitions_now_the_key_decides(broker):
    await made(broker, partitions=4)
    await dead(broker, Record(b"a", b"k"), b"b", partition=3)
    await delete_topic(broker, ORDERS)
    await create_topic(broker, ORDERS, 2, TopicConfig())
    report = await redriven(broker)
    assert (report.done, report.failed) == (2, 0)
    assert sorted(values_of(broker)) == [b"a", b"b"]


async def test_letters_whose_topic_is_gone_stay_and_say_so(broker):
    await made(broker)
    await dead(broker, b"a")
    await delete_topic(broker, ORDERS)
    report = await redriven(broker)
    assert (report.matched, report.done, report.failed) == (1, 0, 1)
    assert isinstance(report.failures[0].error, UnknownTopic)
    assert (await redriven(broker, dry_run=True)).failed == 1
    assert await values(broker) == [b"a"]


async def test_one_that_cannot_go_back_does_not_keep_the_others(broker):
    await made(broker)
    await dead(broker, b"small", b"much larger", b"tiny")
    await amend_topic(broker, ORDERS, lambda _: TopicConfig(max_value_bytes=6))
    await published(broker, b"without origin", topic=LETTERS)
    report = await redriven(broker)
    assert (report.matched, report.done, report.failed) == (4, 2, 2)
    assert [failure.error.code for failure in report.failures] == ["record_too_large", "invalid_request"]
    assert await values(broker) == [b"much larger", b"without origin"]


async def test_letters_do_not_go_to_where_they_are_or_to_where_nothing_is(broker):
    await made(broker)
    await dead(broker, b"a")
    with pytest.raises(InvalidRequest):
        await redriven(broker, edit=Edit(topic=LETTERS))
    with pytest.raises(UnknownTopic):
        await redriven(broker, edit=Edit(topic=topic_name("nowhere")))


async def test_nothing_is_sent_back_while_the_disk_is_full(broker):
    await made(broker)
    await dead(broker, b"a")
    broker.guard.update(0.99)
    with pytest.raises(DiskFull):
        await redriven(broker)
    assert await values(broker) == [b"a"]


async def test_letters_are_sent_back_no_faster_than_allowed(broker, clock):
    await made(broker)
    await dead(broker, *(b"%d" % number for number in range(30)))
    work = asyncio.create_task(redriven(broker, per_second=20))
    seen = []
    for _ in range(20):
        # Until it waits for the clock.
        while not (work.done() or clock._sleepers):
            await asyncio.sleep(0)
        seen.append(len(values_of(broker)) - 30)
        clock.advance_ms(100)
    assert (await work).done == 30
    # Two each tenth of a second, and two at the beginning.
    assert seen[0] == 2
    assert all(after - before <= 2 for before, after in itertools.pairwise(seen))
    assert seen[-1] == 30


async def test_the_letters_of_a_deleted_topic_do_not_mark_those_of_the_next(broker):
    await made(broker)
    await dead(broker, b"a", b"b")
    await purged(broker)
    await delete_topic(broker, LETTERS)
    await dead(broker, b"c")
    assert await values(broker) == [b"c"]


async def test_the_group_of_the_workbench_is_nobody_elses(broker):
    await made(broker)
    await dead(broker, b"a")
    with pytest.raises(InvalidRequest):
        await poll(broker, Poll("__dlq", "worker", topics=["orders.dlq"], wait_ms=0))


async def test_a_record_with_an_id_that_the_topic_knows_goes_back_all_the_same(broker):
    from goqueue.engine.placement import Placement
    from goqueue.engine.publish_records import Outgoing, publish_records

    await made(broker)
    await publish_records(broker, Placement(), ORDERS, [Outgoing(Record(b"a"), id="order-17")])
    await rejected(broker)
    assert (await redriven(broker)).done == 1
    assert values_of(broker) == [b"a", b"a"]
    assert records_of(broker)[1].headers[0] == ("goqueue-id", b"order-17")


async def test_work_that_has_to_stop_tells_what_is_done_and_goes_on_later(broker, monkeypatch):
    monkeypatch.setattr(redrive_module, "PAGE", 2)
    await made(broker)
    await dead(broker, *(b"%d" % number for number in range(6)))
    gather = redrive_module.gather

    async def fill_the_disk(*arguments):
        found = await gather(*arguments)
        broker.guard.update(0.99)
        return found

    with monkeypatch.context() as context:
        context.setattr(redrive_module, "gather", fill_the_disk)
        report = await redriven(broker)
    assert (report.done, isinstance(report.stopped, DiskFull)) == (2, True)
    assert len(await values(broker)) == 4
    broker.guard.update(0.1)
    assert (await redriven(broker, after=report.last, ends=report.ends)).done == 4
    assert values_of(broker) == [b"%d" % number for number in range(6)] * 2
