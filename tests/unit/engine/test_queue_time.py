"""What time does to the records of a queue: leases end, retries fall due, and nobody looks more often than needed."""

import asyncio

import pytest

from goqueue.engine.groups import pause_group
from goqueue.engine.queue import settle
from goqueue.engine.queue.take import TakeRequest
from goqueue.engine.queue.take import take as take_as
from goqueue.errors import DiskFull, UnknownReceipt
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import GROUP, LOG, lease, made_topic, published, steps, still_waiting, take, values


async def test_a_lease_ends_at_its_deadline_and_not_a_moment_earlier(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (first,) = await take(broker)
        assert first.attempts == {}
        clock.advance_ms(29_999)
        assert await settle.return_overdue(broker) == 0
        assert await take(broker) == []
        clock.advance_ms(1)
        assert await settle.return_overdue(broker) == 1
        (second,) = await take(broker)
        assert second.attempts[0][:2] == (2, 1)
        with pytest.raises(UnknownReceipt):
            await settle.acknowledge(broker, lease(first))
        await settle.acknowledge(broker, lease(second))


async def test_the_visibility_of_the_poll_counts_and_else_that_of_the_topic(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two", visibility_timeout_ms=5000)
        (short,) = await take(broker, 1, visibility_ms=100)
        (usual,) = await take(broker, 1)
        assert (short.deadline - clock.now_ns(), usual.deadline - clock.now_ns()) == (100_000_000, 5_000_000_000)
        clock.advance_ms(100)
        assert await settle.return_overdue(broker) == 1


async def test_an_extension_counts_from_now_and_keeps_the_record(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two")
        (part,) = await take(broker)
        clock.advance_ms(20_000)
        await settle.extend(broker, lease(part, 1), 60_000)
        clock.advance_ms(59_999)
        assert await settle.return_overdue(broker) == 1
        assert values(await take(broker)) == [b"one"]
        clock.advance_ms(1)
        assert await settle.return_overdue(broker) == 1
        assert values(await take(broker)) == [b"two"]


async def test_an_extension_in_the_moment_of_the_sweep_is_kept(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        clock.advance_ms(30_000)
        state = broker.queues.get(GROUP, LOG)
        await state.lock.acquire()
        extending = asyncio.create_task(settle.extend(broker, lease(part), 1000))
        await steps(3)
        sweeping = asyncio.create_task(settle.return_overdue(broker))
        await steps(3)
        state.lock.release()
        await extending
        assert await sweeping == 0
        await settle.acknowledge(broker, lease(part))


async def test_a_nacked_record_rests_for_its_pause_which_doubles(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one", max_attempts=9)
        for pause_ms in (1000, 2000, 4000, 8000):
            (part,) = await take(broker)
            nacked = await settle.nack(broker, lease(part), reason="broken")
            assert nacked.visible_at == {0: clock.now_ns() + pause_ms * 1_000_000}
            clock.advance_ms(pause_ms - 1)
            assert await take(broker) == []
            clock.advance_ms(1)


async def test_a_waiting_poll_wakes_when_a_retry_falls_due(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        await settle.nack(broker, lease(part))
        waiting = asyncio.create_task(take(broker, wait_ms=30_000))
        assert await still_waiting(waiting)
        clock.advance_ms(999)
        assert await still_waiting(waiting)
        clock.advance_ms(1)
        async with asyncio.timeout(5):
            (again,) = await waiting
        assert again.attempts[0][:2] == (2, 1)


async def test_a_nack_without_a_pause_wakes_a_waiting_poll(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        waiting = asyncio.create_task(take(broker, consumer="other", wait_ms=30_000))
        assert await still_waiting(waiting)
        await settle.nack(broker, lease(part), pause_ms=0)
        async with asyncio.timeout(5):
            assert values(await waiting) == [b"one"]


async def test_a_waiting_poll_wakes_when_a_lease_has_ended(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        await take(broker)
        waiting = asyncio.create_task(take(broker, consumer="other", wait_ms=30_000))
        assert await still_waiting(waiting)
        clock.advance_ms(30_000)
        await settle.return_overdue(broker)
        async with asyncio.timeout(5):
            assert values(await waiting) == [b"one"]


async def test_a_poll_that_may_not_have_a_record_that_is_due_does_not_ask_again_and_again(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        await settle.nack(broker, lease(part), pause_ms=0)
        asked = []
        request = TakeRequest(GROUP, "worker", [LOG], wait_ms=30_000)
        waiting = asyncio.create_task(take_as(broker, request, lambda log: bool(asked.append(log))))
        assert await still_waiting(waiting)
        assert len(asked) <= 2
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_a_worker_that_has_all_it_may_have_waits_for_an_ack_and_does_not_look_before(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=b"%d" % number) for number in range(1001)])
        (part,) = await take(broker, 1000)
        (more,) = await take(broker, 1, consumer="other")
        await settle.nack(broker, lease(more), pause_ms=0)
        turns = next(broker.fetch_turns)
        waiting = asyncio.create_task(take(broker, wait_ms=30_000))
        assert await still_waiting(waiting)
        assert next(broker.fetch_turns) <= turns + 3
        await settle.acknowledge(broker, lease(part, 0))
        async with asyncio.timeout(5):
            assert values(await waiting) == [b"1000"]


async def test_a_waiting_poll_goes_on_when_its_group_is_resumed(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        await settle.give_back(broker, lease(part))
        await pause_group(broker, GROUP, paused=True)
        waiting = asyncio.create_task(take(broker, wait_ms=30_000))
        assert await still_waiting(waiting)
        await pause_group(broker, GROUP, paused=False)
        async with asyncio.timeout(5):
            assert values(await waiting) == [b"one"]


async def test_one_queue_that_cannot_take_back_its_leases_does_not_hold_up_the_others(open_broker, clock, monkeypatch):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two", max_attempts=1)
        await take(broker, 1, group="first")
        await take(broker, 1, group="second")
        move = settle.DeadLetters.move

        async def fails(letters, *given):
            if letters._state.group == "first":
                raise DiskFull("no room")
            return await move(letters, *given)

        monkeypatch.setattr(settle.DeadLetters, "move", fails)
        clock.advance_ms(30_000)
        with pytest.raises(DiskFull):
            await settle.return_overdue(broker)
        assert broker.queues.get("first", LOG).delivery.leased_count == 1
        assert broker.queues.get("second", LOG).delivery.leased_count == 0
        monkeypatch.undo()
        assert await settle.return_overdue(broker) == 1
