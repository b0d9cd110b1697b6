"""Transactions of the client library against a real broker: all of it counts, or nothing does."""

import asyncio
import pickle
import time

import pytest

from goqueue.client import Admin, Consumer, LogId, Producer, TopicConfig, Worker, sync
from goqueue.errors import (
    AlreadyDecided,
    BrokerUnreachable,
    ClientClosed,
    GoQueueError,
    InvalidRequest,
    NotTransactional,
    ProducerFenced,
    TransactionConflict,
    TransactionEnded,
    UnknownReceipt,
    UnknownTopic,
)
from goqueue.wire.native.frames import Opcode
from tests.behaviour.serving import name_of
from tests.integration.cutting import cutter

JOBS = [b"%d" % number for number in range(6)]


class Oops(Exception):
    """What an application raises."""


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
async def admin(broker):
    async with Admin(broker) as made:
        yield made


@pytest.fixture
async def topic(admin, request):
    name = name_of(request.node.nodeid)[-150:]
    await admin.create_topic(name, 2)
    return name


@pytest.fixture
async def jobs_topic(admin, broker, topic):
    """Another topic, with jobs in it."""
    name = f"{topic}-jobs"
    await admin.create_topic(name, 1, TopicConfig(visibility_timeout_ms=60_000, max_attempts=5, retry_backoff_ms=1))
    async with Producer(broker) as producer:
        await producer.send_many(name, JOBS)
    return name


@pytest.fixture
async def worker(broker, jobs_topic):
    async with Worker(jobs_topic, group=jobs_topic, bootstrap=broker) as made:
        yield made


def producer_of(broker, topic, **settings):
    return Producer(broker, transactional_id=topic, **settings)


async def seen(broker, topic, **settings):
    """The values of all records, in any order."""
    found = []
    async with Consumer(topic, bootstrap=broker, **settings) as consumer:
        while some := await consumer.poll(wait_ms=0, limit=10_000):
            found += [one.value for one in some]
    return sorted(found)


# Commit and abort.


async def test_records_of_several_partitions_are_seen_together_when_they_are_committed(broker, topic):
    async with producer_of(broker, topic) as producer:
        async with producer.transaction():
            for number in range(10):
                await producer.send(topic, b"%d" % number, partition=number % 2)
            await producer.flush()
            assert await seen(broker, topic) == []
            assert len(await seen(broker, topic, isolation="read_uncommitted")) == 10
        assert await seen(broker, topic) == [b"%d" % number for number in range(10)]


async def test_an_exception_aborts_and_goes_on(broker, topic):
    async with producer_of(broker, topic) as producer:
        with pytest.raises(Oops):
            async with producer.transaction():
                await producer.send_many(topic, [b"1", b"2"])
                raise Oops
        async with producer.transaction():
            await producer.send(topic, b"3")
    assert await seen(broker, topic) == [b"3"]
    assert await seen(broker, topic, isolation="read_uncommitted") == [b"1", b"2", b"3"]


async def test_what_was_never_sent_when_it_is_aborted_fails_and_the_next_transaction_is_whole(broker, topic):
    async with producer_of(broker, topic, linger_ms=60_000) as producer:
        for _ in range(3):
            async with producer.transaction() as transaction:
                lost = await producer.send(topic, b"lost", partition=0)
                await transaction.abort()
            with pytest.raises(TransactionEnded):
                await lost
            async with producer.transaction():
                await producer.send(topic, b"kept", partition=0)
    assert await seen(broker, topic) == [b"kept"] * 3


async def test_an_abort_while_records_are_under_way_leaves_nothing_of_them(broker, topic):
    async with producer_of(broker, topic, linger_ms=0, buffer_records=30, when_full="error") as producer:
        for number in range(20):
            async with producer.transaction() as transaction:
                for _ in range(number):
                    await producer.send(topic, b"lost", partition=0)
                    await asyncio.sleep(0)
                await transaction.abort()
            async with producer.transaction():
                await producer.send_many(topic, [b"kept"] * 3, partition=0)
    assert await seen(broker, topic) == [b"kept"] * 60


async def test_a_transaction_may_be_ended_by_hand_and_ends_once(broker, topic):
    async with producer_of(broker, topic) as producer:
        async with producer.transaction() as transaction:
            await producer.send(topic, b"1")
            await transaction.commit()
            assert await seen(broker, topic) == [b"1"]
            await transaction.commit()
            with pytest.raises(TransactionEnded):
                await transaction.abort()
            with pytest.raises(TransactionEnded):
                await producer.send(topic, b"2")
        with pytest.raises(InvalidRequest):
            async with transaction:
                pass
    assert await seen(broker, topic) == [b"1"]


async def test_an_empty_transaction_commits(broker, topic):
    async with producer_of(broker, topic) as producer:
        for _ in range(3):
            async with producer.transaction():
                pass


async def test_many_transactions_keep_the_order_and_every_record(broker, topic):
    async with producer_of(broker, topic, batch_records=3) as producer:
        for number in range(30):
            async with producer.transaction():
                for step in range(7):
                    await producer.send(topic, b"%03d" % (7 * number + step), partition=0)
    async with Consumer(topic, bootstrap=broker) as consumer:
        found = []
        while some := await consumer.poll(wait_ms=0, limit=1000):
            found += [one.value for one in some]
    assert found == [b"%03d" % number for number in range(210)]


# What is refused.


async def test_sending_outside_of_a_transaction_is_refused_and_says_what_to_do(broker, topic):
    async with producer_of(broker, topic) as producer:
        for send in (
            lambda: producer.send(topic, b"1"),
            lambda: producer.send_many(topic, [b"1"]),
            lambda: producer.send_batch(topic, 0, b"", 1),
        ):
            with pytest.raises(TransactionConflict) as refused:
                await send()
            assert "producer.transaction()" in refused.value.hint
    assert await seen(broker, topic, isolation="read_uncommitted") == []


async def test_records_with_ids_are_refused_in_a_transaction(broker, topic):
    async with producer_of(broker, topic) as producer, producer.transaction():
        with pytest.raises(InvalidRequest):
            await producer.send(topic, b"1", id="one")
        with pytest.raises(InvalidRequest):
            await producer.send_many(topic, [b"1"], ids=["one"])
        await producer.send(topic, b"2")
    assert await seen(broker, topic) == [b"2"]


async def test_there_is_one_transaction_at_a_time(broker, topic):
    async with producer_of(broker, topic) as producer, producer.transaction():
        with pytest.raises(TransactionConflict):
            async with producer.transaction():
                pass
        await producer.send(topic, b"1")
    assert await seen(broker, topic) == [b"1"]


@pytest.mark.parametrize("settings", [{"acks": "none"}, {"idempotent": False}, {"transaction_timeout_ms": -5}])
async def test_settings_that_do_not_go_with_transactions_are_refused(broker, topic, settings):
    with pytest.raises(InvalidRequest):
        async with producer_of(broker, topic, **settings) as producer, producer.transaction():
            pass


async def test_a_producer_without_a_transactional_id_has_no_transactions(broker):
    async with Producer(broker) as producer:
        with pytest.raises(NotTransactional):
            producer.transaction()


async def test_a_send_that_fails_makes_the_commit_fail_though_nobody_looked(broker, admin, topic):
    async with producer_of(broker, topic) as producer:
        gone = f"{topic}-gone"
        await admin.create_topic(gone, 1)
        async with producer.transaction():
            await producer.send(gone, b"1")
        await admin.delete_topic(gone)
        with pytest.raises(TransactionEnded):
            async with producer.transaction():
                await producer.send(topic, b"2")
                failing = await producer.send(gone, b"3")
        with pytest.raises(UnknownTopic):
            await failing
        async with producer.transaction():
            await producer.send(topic, b"4")
    assert await seen(broker, topic) == [b"4"]


async def test_closing_the_producer_aborts_what_is_open(broker, admin, topic):
    producer = producer_of(broker, topic)
    transaction = await producer.transaction().__aenter__()
    await producer.send_many(topic, [b"1"])
    await producer.close()
    assert (await admin.describe_transaction(transaction.number)).state == "aborted"
    with pytest.raises(ClientClosed):
        await producer.transaction().__aenter__()


# Fencing and time.


async def test_a_second_instance_fences_the_first_for_good(broker, topic):
    async with producer_of(broker, topic) as old, producer_of(broker, topic) as new:
        async with old.transaction():
            await old.send(topic, b"1")
        with pytest.raises(ProducerFenced):
            async with old.transaction():
                await old.send_many(topic, [b"old"])
                async with new.transaction():
                    await new.send(topic, b"2")
        with pytest.raises(ProducerFenced):
            async with old.transaction():
                pass
        async with new.transaction():
            await new.send(topic, b"3")
    assert await seen(broker, topic) == [b"1", b"2", b"3"]


async def test_a_fenced_instance_that_lost_its_connection_does_not_take_the_id_back(broker, topic):
    async with cutter(broker) as way, producer_of(way.address, topic) as old, producer_of(broker, topic) as new:
        with pytest.raises(GoQueueError):
            async with old.transaction() as transaction:
                await old.send_many(topic, [b"old"])
                async with new.transaction():
                    await new.send(topic, b"1")
                way.hang_up()
                await transaction.add_offsets("some-group", {LogId(topic, 0): 0})
        with pytest.raises(ProducerFenced):
            async with old.transaction():
                pass
        async with new.transaction():
            await new.send(topic, b"2")
    assert await seen(broker, topic) == [b"1", b"2"]


async def test_a_transaction_that_takes_too_long_is_aborted(broker, topic):
    async with producer_of(broker, topic, transaction_timeout_ms=300) as producer:
        began = time.monotonic()
        with pytest.raises(TransactionEnded):
            async with producer.transaction():
                await producer.send_many(topic, [b"1"])
                while await seen(broker, topic, isolation="read_uncommitted") and time.monotonic() < began + 0.4:
                    await asyncio.sleep(0.02)
        async with producer.transaction():
            await producer.send(topic, b"2")
    assert await seen(broker, topic) == [b"2"]


# Acknowledgements.


async def test_jobs_are_done_when_the_transaction_commits_and_not_before(broker, admin, topic, worker, jobs_topic):
    async with producer_of(broker, topic) as producer:
        jobs = await worker.take(3)
        async with producer.transaction() as transaction:
            await producer.send_many(topic, [job.value for job in jobs])
            await transaction.ack(*jobs)
            assert await admin.committed_offsets(jobs_topic) in ({}, {LogId(jobs_topic, 0): 0})
        assert await admin.committed_offsets(jobs_topic) == {LogId(jobs_topic, 0): 3}
    assert await seen(broker, topic) == JOBS[:3]


async def test_jobs_of_an_aborted_transaction_are_still_leased_and_may_be_done_in_another(broker, admin, topic, worker):
    async with producer_of(broker, topic) as producer:
        jobs = await worker.take(2)
        with pytest.raises(Oops):
            async with producer.transaction() as transaction:
                await transaction.ack(*jobs)
                raise Oops
        async with producer.transaction() as transaction:
            await transaction.ack(*jobs)
    assert [job.value for job in await worker.take(wait_ms=0)] == JOBS[2:]


async def test_a_rejected_job_is_among_the_dead_letters_only_after_the_commit(broker, admin, topic, worker, jobs_topic):
    async with producer_of(broker, topic) as producer:
        (job,) = await worker.take(1)
        with pytest.raises(Oops):
            async with producer.transaction() as transaction:
                assert await transaction.reject(job, reason="bad") == 1
                raise Oops
        assert (await admin.dead_letters(jobs_topic)).letters == ()
        async with producer.transaction() as transaction:
            await transaction.reject(job, reason="bad")
            assert (await admin.dead_letters(jobs_topic)).letters == ()
        (letter,) = (await admin.dead_letters(jobs_topic)).letters
        assert (letter.value, letter.origin.reason) == (job.value, "bad")


async def test_a_job_that_is_given_back_in_a_transaction_comes_again_after_the_commit(broker, topic, worker):
    async with producer_of(broker, topic) as producer:
        jobs = await worker.take(len(JOBS))
        async with producer.transaction() as transaction:
            assert await transaction.nack(jobs[0], reason="later", delay_ms=0) == 0
            await transaction.ack(*jobs[1:])
            assert await worker.take(wait_ms=0) == []
        (again,) = await worker.take(wait_ms=5000)
        assert (again.value, again.deliveries, again.failures) == (JOBS[0], 2, 1)


async def test_a_job_that_is_not_ours_any_more_fails_the_transaction(broker, topic, worker):
    async with producer_of(broker, topic) as producer:
        (job,) = await worker.take(1)
        await worker.ack(job)
        with pytest.raises(TransactionEnded):
            async with producer.transaction() as transaction:
                await producer.send(topic, b"1")
                with pytest.raises(UnknownReceipt):
                    await transaction.ack(job)
    assert await seen(broker, topic) == []


# Offsets.


async def test_offsets_of_a_consumer_are_committed_with_the_transaction(broker, admin, topic, jobs_topic):
    settings = {"group": topic, "bootstrap": broker, "auto_commit_ms": None}
    log = LogId(jobs_topic, 0)
    async with producer_of(broker, topic) as producer, Consumer(jobs_topic, **settings) as consumer:
        assert len(await consumer.poll(wait_ms=5000, limit=4)) == 4
        with pytest.raises(Oops):
            async with producer.transaction() as transaction:
                await transaction.add_offsets(consumer)
                raise Oops
        assert await admin.committed_offsets(topic) == {}
        async with producer.transaction() as transaction:
            await transaction.add_offsets(consumer)
            assert await admin.committed_offsets(topic) == {}
        assert await admin.committed_offsets(topic) == {log: 4}
        async with producer.transaction() as transaction:
            await transaction.add_offsets(consumer, {log: 2})
        assert await admin.committed_offsets(topic) == {log: 2}


async def test_a_consumer_that_goes_back_after_an_abort_does_not_commit_what_it_had_polled(
    broker, admin, topic, jobs_topic
):
    settings = {"group": topic, "bootstrap": broker, "auto_commit_ms": None}
    log = LogId(jobs_topic, 0)
    async with producer_of(broker, topic) as producer, Consumer(jobs_topic, **settings) as consumer:
        assert len(await consumer.poll(wait_ms=5000)) == 6
        with pytest.raises(Oops):
            async with producer.transaction() as transaction:
                await transaction.add_offsets(consumer)
                raise Oops
        consumer.seek(log, 1)
        async with producer.transaction() as transaction:
            await transaction.add_offsets(consumer)
        assert await admin.committed_offsets(topic) == {log: 1}
        assert [one.value for one in await consumer.poll(wait_ms=5000, limit=2)] == JOBS[1:3]
        async with producer.transaction() as transaction:
            await transaction.add_offsets(consumer)
        assert await admin.committed_offsets(topic) == {log: 3}


async def test_offsets_of_a_member_that_has_lost_the_partition_fail_the_commit(broker, admin, topic, jobs_topic):
    settings = {"group": topic, "bootstrap": broker, "auto_commit_ms": None}
    async with producer_of(broker, topic) as producer, Consumer(jobs_topic, **settings) as consumer:
        assert len(await consumer.poll(wait_ms=5000)) == 6
        transaction = await producer.transaction().__aenter__()
        await producer.send(topic, b"1")
        await transaction.add_offsets(consumer)
        await consumer.close()
        with pytest.raises(GoQueueError):
            await transaction.commit()
    assert await seen(broker, topic) == []
    assert await admin.committed_offsets(topic) == {}


async def test_a_consumer_that_commits_by_itself_is_refused(broker, topic, jobs_topic):
    async with producer_of(broker, topic) as producer, Consumer(jobs_topic, group=topic, bootstrap=broker) as consumer:
        with pytest.raises(InvalidRequest) as refused:
            async with producer.transaction() as transaction:
                await transaction.add_offsets(consumer)
        assert "auto_commit_ms=None" in refused.value.hint


async def test_a_group_by_its_name_needs_offsets(broker, admin, topic):
    async with producer_of(broker, topic) as producer, producer.transaction() as transaction:
        with pytest.raises(InvalidRequest):
            await transaction.add_offsets(topic)
        await transaction.add_offsets(topic, {LogId(topic, 1): 0})
    assert await admin.committed_offsets(topic) == {LogId(topic, 1): 0}


# Connections that get lost.


@pytest.mark.parametrize("where", ["asked", "answered"])
async def test_a_commit_is_said_again_when_the_connection_is_lost(broker, topic, where):
    async with cutter(broker) as way, producer_of(way.address, topic) as producer:
        for number in range(3):
            way.cut(where, Opcode.COMMIT_TRANSACTION)
            async with producer.transaction():
                await producer.send(topic, b"%d" % number)
        assert way.happened == 3
    assert await seen(broker, topic) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("where", ["asked", "answered"])
@pytest.mark.parametrize("opcode", [Opcode.INIT_TRANSACTIONS, Opcode.BEGIN_TRANSACTION, Opcode.PUBLISH])
async def test_beginning_and_sending_go_on_when_the_connection_is_lost(broker, topic, where, opcode):
    async with cutter(broker) as way, producer_of(way.address, topic) as producer:
        for number in range(4):
            if number != 1:
                way.cut(where, opcode)
            async with producer.transaction():
                await producer.send(topic, b"%d" % number, partition=0)
                await producer.send(topic, b"%d" % number, partition=1)
    assert await seen(broker, topic) == sorted(2 * [b"0", b"1", b"2", b"3"])


@pytest.mark.parametrize("where", ["asked", "answered"])
async def test_an_identity_that_was_renewed_without_an_answer_is_still_ours(broker, topic, where):
    async with cutter(broker) as way, producer_of(way.address, topic, linger_ms=60_000) as producer:
        for number in range(3):
            async with producer.transaction() as transaction:
                await transaction.add_offsets(topic, {LogId(topic, 0): 0})
                way.hang_up()
                with pytest.raises(BrokerUnreachable):
                    await transaction.add_offsets(topic, {LogId(topic, 0): 0})
                await transaction.abort()
            way.cut(where, Opcode.INIT_TRANSACTIONS)
            async with producer.transaction():
                await producer.send(topic, b"%d" % number)
        assert way.happened == 3
    assert await seen(broker, topic) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("where", ["asked", "answered"])
@pytest.mark.parametrize("opcode", [Opcode.ADD_ACKS, Opcode.ADD_OFFSETS])
async def test_a_loss_while_acknowledging_fails_the_transaction(broker, topic, worker, where, opcode):
    async with cutter(broker) as way, producer_of(way.address, topic) as producer:
        jobs = await worker.take(1)
        way.cut(where, opcode)
        with pytest.raises(BrokerUnreachable):
            async with producer.transaction() as transaction:
                await producer.send(topic, b"lost")
                await transaction.add_offsets(topic, {LogId(topic, 0): 0})
                await transaction.ack(*jobs)
        async with producer.transaction() as transaction:
            await producer.send(topic, b"kept")
            await transaction.ack(*jobs)
    assert await seen(broker, topic) == [b"kept"]


@pytest.mark.parametrize("where", ["asked", "answered"])
async def test_an_abort_that_was_not_heard_is_made_up_for_by_the_next_transaction(broker, topic, where):
    async with cutter(broker) as way, producer_of(way.address, topic) as producer:
        way.cut(where, Opcode.ABORT_TRANSACTION)
        with pytest.raises(Oops):
            async with producer.transaction():
                await producer.send_many(topic, [b"lost"])
                raise Oops
        async with producer.transaction():
            await producer.send(topic, b"kept")
    assert await seen(broker, topic) == [b"kept"]


async def test_a_broker_that_is_killed_aborts_what_was_open_and_the_producer_goes_on(server):
    async with Admin(server.native) as admin, producer_of(server.native, "shop") as producer:
        await admin.create_topic("killed", 1)
        async with producer.transaction():
            await producer.send("killed", b"1")
        with pytest.raises(TransactionEnded):
            async with producer.transaction():
                await producer.send_many("killed", [b"2"])
                await asyncio.to_thread(server.crash_and_restart)
                await producer.send("killed", b"3")
        async with producer.transaction():
            await producer.send("killed", b"4")
    assert await seen(server.native, "killed") == [b"1", b"4"]


# Parts of larger transactions.


async def test_parts_count_when_they_are_named_in_the_decision(broker, admin, topic):
    tokens = []
    for number in range(4):
        async with admin.part(topic) as part:
            await part.send(topic, b"%d" % number, partition=0)
            await part.send_many(topic, [b"%d" % number], partition=1)
            tokens.append(pickle.loads(pickle.dumps(await part.prepare())))
    assert await seen(broker, topic) == []
    decided = await admin.decide(topic, [tokens[0], tokens[2]])
    assert decided.committed == (tokens[0], tokens[2])
    assert decided.aborted == (tokens[1], tokens[3])
    assert await admin.decide(topic, [tokens[0], tokens[2]]) == decided
    assert await seen(broker, topic) == sorted(2 * [b"0", b"2"])
    with pytest.raises(AlreadyDecided):
        await admin.decide(topic, tokens)
    with pytest.raises(AlreadyDecided):
        async with admin.part(topic):
            pass


async def test_a_part_that_was_not_prepared_or_failed_afterwards_is_aborted(broker, admin, topic):
    async with admin.part(topic) as part:
        await part.send_many(topic, [b"left"])
    with pytest.raises(Oops):
        async with admin.part(topic) as part:
            await part.send_many(topic, [b"failed"])
            token = await part.prepare()
            raise Oops
    with pytest.raises(GoQueueError):
        await admin.decide(topic, [token])
    assert (await admin.decide(topic, [])).committed == ()
    assert await seen(broker, topic) == []


async def test_a_part_that_has_not_begun_takes_nothing(broker, admin, topic):
    part = admin.part(topic)
    for attempt in (lambda: part.send(topic, b"1"), part.prepare, part.abort):
        with pytest.raises(InvalidRequest):
            await attempt()
    await part.close()


async def test_nothing_is_added_to_a_part_that_is_prepared(broker, admin, topic):
    async with admin.part(topic) as part:
        await part.send(topic, b"1")
        token = await part.prepare()
        with pytest.raises(TransactionEnded):
            await part.send(topic, b"2")
        with pytest.raises(TransactionEnded):
            await part.prepare()
    await admin.decide(topic, [token])
    assert await seen(broker, topic) == [b"1"]


@pytest.mark.parametrize("where", ["asked", "answered"])
@pytest.mark.parametrize("opcode", [Opcode.BEGIN_PART, Opcode.PREPARE_PART, Opcode.DECIDE_PARTS])
async def test_parts_go_on_when_the_connection_is_lost(broker, topic, where, opcode):
    async with cutter(broker) as way, Admin(way.address) as admin:
        way.cut(where, opcode)
        async with admin.part(topic) as part:
            await part.send(topic, b"1")
            token = await part.prepare()
        assert (await admin.decide(topic, [token])).committed == (token,)
        assert way.happened == 1
    assert await seen(broker, topic) == [b"1"]


async def test_a_prepared_part_that_waits_too_long_is_aborted_and_cannot_be_chosen(broker, admin, topic):
    async with admin.part(topic, timeout_ms=200) as part:
        await part.send(topic, b"1")
        late = await part.prepare()
    async with admin.part(topic) as part:
        await part.send(topic, b"2")
        token = await part.prepare()
    async with asyncio.timeout(10):
        while (await admin.describe_transaction(late)).state != "aborted":
            await asyncio.sleep(0.05)
    with pytest.raises(TransactionEnded):
        await admin.decide(topic, [token, late])
    assert await seen(broker, topic) == []
    await admin.decide(topic, [token])
    assert await seen(broker, topic) == [b"2"]


async def test_jobs_may_be_done_in_a_part(broker, admin, topic, worker, jobs_topic):
    jobs = await worker.take(2)
    async with admin.part(topic) as part:
        await part.ack(*jobs)
        token = await part.prepare()
    await admin.decide(topic, [token])
    assert await admin.committed_offsets(jobs_topic) == {LogId(jobs_topic, 0): 2}


# Without asyncio.


async def test_the_blocking_face_commits_aborts_acknowledges_and_fences(broker, topic, jobs_topic):
    def run():
        with (
            sync.Producer(broker, transactional_id=topic) as producer,
            sync.Worker(jobs_topic, group=jobs_topic, bootstrap=broker) as worker,
        ):
            with pytest.raises(TransactionConflict):
                producer.send(topic, b"outside")
            jobs = worker.take(2)
            with producer.transaction() as transaction:
                for job in jobs:
                    producer.send(topic, job.value)
                transaction.ack(*jobs)
            with pytest.raises(Oops), producer.transaction() as transaction:
                producer.send(topic, b"lost")
                transaction.reject(*worker.take(1))
                raise Oops
            with producer.transaction() as transaction:
                producer.send(topic, b"by hand")
                transaction.commit()
            with sync.Producer(broker, transactional_id=topic) as other:
                with other.transaction():
                    other.send(topic, b"other")
                with pytest.raises(ProducerFenced), producer.transaction():
                    pass

    await asyncio.to_thread(run)
    assert await seen(broker, topic) == [b"0", b"1", b"by hand", b"other"]


async def test_the_blocking_face_has_offsets_and_parts(broker, admin, topic, jobs_topic):
    def run():
        settings = {"group": topic, "bootstrap": broker, "auto_commit_ms": None}
        with sync.Producer(broker, transactional_id=topic) as producer, sync.Consumer(jobs_topic, **settings) as reader:
            assert len(reader.poll(wait_ms=5000, limit=3)) == 3
            with producer.transaction() as transaction:
                transaction.add_offsets(reader)
                transaction.add_offsets(f"{topic}-other", {LogId(topic, 0): 0})
        with sync.Admin(broker) as admin:
            with admin.part(topic) as part:
                part.send(topic, b"1")
                part.send_many(topic, [b"2"])
                token = part.prepare()
            with admin.part(topic) as left:
                left.send(topic, b"3")
            by_hand = admin.part(topic)
            by_hand.begin()
            by_hand.send(topic, b"4")
            tokens = [token, by_hand.prepare()]
            by_hand.close()
            assert admin.decide(topic, tokens).committed == tuple(tokens)

    await asyncio.to_thread(run)
    assert await admin.committed_offsets(topic) == {LogId(jobs_topic, 0): 3}
    assert await admin.committed_offsets(f"{topic}-other") == {LogId(topic, 0): 0}
    assert await seen(broker, topic) == [b"1", b"2", b"4"]
