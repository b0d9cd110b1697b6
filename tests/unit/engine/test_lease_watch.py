"""Which queues are looked at for leases that end."""

from goqueue.engine.queue import settle
from goqueue.engine.topics import delete_topic
from tests.unit.engine.queue_scene import GROUP, LOG, TOPIC, lease, made_topic, take


async def test_a_topic_that_is_deleted_with_leased_records_leaves_nothing_to_look_at(open_broker, clock):
    async with open_broker() as broker:
        for _ in range(200):
            await made_topic(broker, b"never acknowledged")
            assert len(await take(broker)) == 1
            await delete_topic(broker, TOPIC)
        assert len(broker.queues.leases) <= 100
        clock.advance_ms(60_000)
        assert await settle.return_overdue(broker) == 0
        assert broker.queues.leases.due(clock.now_ns()) == []
        assert len(broker.queues.leases) == 0


async def test_leases_of_a_topic_that_is_there_again_end_in_time(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"old")
        await take(broker)
        await delete_topic(broker, TOPIC)
        await made_topic(broker, b"new", visibility_timeout_ms=90_000)
        await take(broker)
        clock.advance_ms(89_000)
        assert await settle.return_overdue(broker) == 0
        clock.advance_ms(2_000)
        assert await settle.return_overdue(broker) == 1


async def test_each_queue_is_looked_at_once_however_often_its_deadline_moves(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, *(b"%d" % number for number in range(300)))
        for number in range(300):
            (part,) = await take(broker, 1, visibility_ms=300_000 - number * 500)
            await settle.acknowledge(broker, lease(part))
        assert broker.queues.get(GROUP, LOG) is not None
        assert len(broker.queues.leases) <= 65
