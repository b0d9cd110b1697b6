"""Groups of consumers: who reads what when members come, go, stop answering and come back."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack

import pytest

from goqueue.client import Admin, Consumer, LogId, Producer
from goqueue.errors import GoQueueError, InconsistentProtocol, MemberFenced, UnknownMember
from tests.behaviour.serving import name_of

PARTITIONS = 6
SESSION_MS = 900


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
async def admin(broker):
    async with Admin(broker) as opened:
        yield opened


@pytest.fixture
async def topic(admin, request):
    name = name_of(request.node.nodeid)
    await admin.create_topic(name, PARTITIONS)
    return name


@pytest.fixture
def member(broker, topic):
    """Makes members of one group."""

    def make(*topics, **settings):
        chosen = {"bootstrap": broker, "group": topic, "session_ms": SESSION_MS, "auto_commit_ms": None} | settings
        return Consumer(*(topics or (topic,)), **chosen)

    return make


async def until(holds, within_s=10.0):
    async with asyncio.timeout(within_s):
        while not (await holds() if asyncio.iscoroutinefunction(holds) else holds()):
            await asyncio.sleep(0.01)


def logs(topic, count=PARTITIONS):
    return frozenset(LogId(topic, number) for number in range(count))


def shared_evenly(topic, *consumers, count=PARTITIONS):
    """Every partition with exactly one of them, and nobody has much more than another."""
    shares = [one.assigned for one in consumers]
    sizes = sorted(map(len, shares))
    return frozenset().union(*shares) == logs(topic, count) and sum(sizes) == count and sizes[-1] - sizes[0] <= 1


class Reader:
    """Polls on in the background and keeps what it got, with the time."""

    def __init__(self, consumer):
        self.consumer = consumer
        self.seen = []
        self._task = asyncio.create_task(self._read())

    async def _read(self):
        while True:
            found = await self.consumer.poll(wait_ms=500, limit=20)
            self.seen += [(time.monotonic(), one) for one in found]
            if found:
                await self.consumer.commit()

    async def stop(self):
        """After a batch, as a program does that is asked to end."""
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()

    @property
    def places(self):
        return [(one.partition, one.offset) for _, one in self.seen]


@pytest.fixture
async def reader():
    """Makes readers, and stops them in the end."""
    made = []

    def make(consumer):
        made.append(Reader(consumer))
        return made[-1]

    yield make
    for one in made:
        await one.stop()


@pytest.fixture
async def traffic(broker, topic):
    """Records to every partition, a few each time, until the test ends; says how many there are."""
    sent = [0] * PARTITIONS

    async def send():
        async with Producer(broker, linger_ms=0) as producer:
            while True:
                deliveries = [await producer.send(topic, b"value", partition=number) for number in range(PARTITIONS)]
                for number, one in enumerate(deliveries):
                    await one
                    sent[number] += 1
                await asyncio.sleep(0.01)

    task = asyncio.create_task(send())
    yield sent
    task.cancel()
    await asyncio.wait([task])


# Coming and going.


@pytest.mark.parametrize("protocol", ["cooperative", "eager"])
async def test_members_share_the_partitions_as_they_come_and_go(topic, member, protocol):
    async with AsyncExitStack() as stack:
        members = []
        for _ in range(3):
            members.append(await stack.enter_async_context(member(protocol=protocol)))
            await until(lambda: shared_evenly(topic, *members))
        await members.pop(0).close()
        await until(lambda: shared_evenly(topic, *members))
        await members.pop(0).close()
        await until(lambda: shared_evenly(topic, *members))


async def test_many_members_that_come_at_once_all_get_their_share(topic, member):
    async with AsyncExitStack() as stack:
        members = await asyncio.gather(*(stack.enter_async_context(member()) for _ in range(6)))
        await until(lambda: shared_evenly(topic, *members))


async def test_a_member_without_a_partition_steps_in(topic, member, admin):
    name = f"{topic}-single"
    await admin.create_topic(name, 1)
    async with member(name) as first, member(name) as second:
        assert (len(first.assigned), len(second.assigned)) == (1, 0)
        assert await second.poll(wait_ms=50) == []
        await first.close()
        await until(lambda: len(second.assigned) == 1)


async def test_a_member_that_is_killed_is_replaced_when_its_session_ends(broker, topic, member, admin):
    code = """
import sys
from goqueue.client.sync import Consumer
with Consumer(sys.argv[2], bootstrap=sys.argv[1], group=sys.argv[2], session_ms=int(sys.argv[3])) as consumer:
    print("joined", flush=True)
    for message in consumer:
        pass
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, broker, topic, str(SESSION_MS)], stdout=subprocess.PIPE, start_new_session=True
    )
    with process:
        assert await asyncio.to_thread(process.stdout.readline) == b"joined\n"
        async with member() as survivor:
            await until(lambda: len(survivor.assigned) == PARTITIONS // 2)
            process.kill()
            await until(lambda: len(survivor.assigned) == PARTITIONS, SESSION_MS / 1000 + 5)
            assert len((await admin.describe_group(topic)).members) == 1


async def test_a_program_that_is_interrupted_leaves_its_group_at_once(broker, topic, admin):
    code = """
import sys
from goqueue.client.sync import Consumer
with Consumer(sys.argv[2], bootstrap=sys.argv[1], group=sys.argv[2]) as consumer:
    print("joined", flush=True)
    for message in consumer:
        pass
"""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, broker, topic], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert await asyncio.to_thread(process.stdout.readline) == b"joined\n"
        assert len((await admin.describe_group(topic)).members) == 1
        os.kill(process.pid, signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 20) == 130 or process.returncode in (1, -signal.SIGINT)
        assert (await admin.describe_group(topic)).members == ()
        assert process.stderr.read().strip().endswith(b"KeyboardInterrupt")


# No gap, no repetition.


async def test_partitions_that_do_not_move_are_read_without_a_gap(topic, member, reader, traffic):
    async with member() as first:
        one = reader(first)
        await until(lambda: len(one.seen) > 50)
        began = time.monotonic()
        async with member() as second:
            two = reader(second)
            await until(lambda: shared_evenly(topic, first, second))
            await until(lambda: len(two.seen) > 20)
            ended = time.monotonic()
            staying = {log.partition for log in first.assigned}
            await one.stop()
            await two.stop()
    assert len(staying) == PARTITIONS // 2
    for partition in staying:
        times = [at for at, message in one.seen if message.partition == partition]
        offsets = [message.offset for _, message in one.seen if message.partition == partition]
        assert offsets == list(range(len(offsets)))
        longest = max(
            after - before for before, after in itertools.pairwise(times) if after >= began and before <= ended
        )
        assert longest < 1.0, f"{partition} waited {longest:.2f} s of {ended - began:.2f} s"


async def test_with_commits_by_hand_no_record_is_read_twice_however_members_come_and_go(topic, member, reader, traffic):
    readers = []
    async with AsyncExitStack() as stack:
        members = []
        for _ in range(3):
            members.append(await stack.enter_async_context(member()))
            readers.append(reader(members[-1]))
            await until(lambda: shared_evenly(topic, *members))
        for _ in range(2):
            await until(lambda: len(readers[0].seen) > 30)
            leaving = members.pop(0)
            await readers[len(readers) - len(members) - 1].stop()
            await leaving.commit()
            await leaving.close()
            await until(lambda: shared_evenly(topic, *members))
        target = [count + 3 for count in traffic]

        def is_read():
            read = [0] * PARTITIONS
            for one in readers:
                for partition, _ in one.places:
                    read[partition] += 1
            return all(have >= want for have, want in zip(read, target, strict=True))

        await until(is_read)
        await readers[-1].stop()
    places = [place for one in readers for place in one.places]
    assert len(places) == len(set(places))
    for partition in range(PARTITIONS):
        offsets = sorted(offset for number, offset in places if number == partition)
        assert offsets == list(range(len(offsets)))


async def test_what_a_member_works_on_may_be_finished_and_committed_before_it_goes_to_another(topic, member, broker):
    async with Producer(broker) as producer:
        for number in range(PARTITIONS):
            await producer.send_many(topic, [b"value"] * 5, partition=number)
    async with member() as first:
        in_hand = []
        while len(in_hand) < 30:
            in_hand = await first.poll(wait_ms=2000, limit=100)
        async with member() as second:
            await until(lambda: len(first.assigned) == PARTITIONS // 2)
            await asyncio.sleep(2 * SESSION_MS / 1000)
            assert second.assigned == frozenset()
            await first.commit()
            await until(lambda: shared_evenly(topic, first, second))
            assert await second.poll(wait_ms=100) == []


async def test_where_there_is_traffic_nobody_waits_for_a_heartbeat_to_share(topic, member, reader, traffic):
    async with member(session_ms=30_000) as first:
        one = reader(first)
        await until(lambda: len(one.seen) > 20)
        async with member(session_ms=30_000) as second:
            await until(lambda: shared_evenly(topic, first, second), 2.5)
            await one.stop()


# Members with a place of their own.


async def test_a_static_member_that_restarts_in_time_keeps_its_partitions(topic, member, admin):
    async with member(instance_id="one", session_ms=10_000) as first:
        async with member(instance_id="two", session_ms=10_000) as second:
            await until(lambda: shared_evenly(topic, first, second))
            before = (first.assigned, second.assigned)
        generation = (await admin.describe_group(topic)).generation
        async with member(instance_id="two", session_ms=10_000) as again:
            assert (first.assigned, again.assigned) == before
            assert (await admin.describe_group(topic)).generation == generation


async def test_the_earlier_of_two_with_one_instance_id_is_told_to_stop(topic, member):
    async with member(instance_id="one") as first, member(instance_id="one") as second:
        with pytest.raises(MemberFenced):
            for _ in range(100):
                await first.poll(wait_ms=100)
        assert first.assigned == frozenset()
        assert second.assigned == logs(topic)
        assert await second.poll(wait_ms=50) == []


async def test_a_member_that_was_silent_for_too_long_is_refused_and_comes_back(broker, topic, member, admin):
    async with Producer(broker) as producer:
        await producer.send_many(topic, [b"value"] * 10, partition=0)
    async with member() as consumer:
        found = []
        while len(found) < 10:
            found += await consumer.poll(limit=10 - len(found))
        membership = consumer._group._membership
        task, membership._task = membership._task, None
        task.cancel()

        async def is_gone():
            return not (await admin.describe_group(topic)).members

        await until(is_gone)
        with pytest.raises(UnknownMember):
            await consumer.commit()
        assert await admin.committed_offsets(topic) == {}
        membership._task = asyncio.create_task(membership._stay())
        again = []
        async with asyncio.timeout(10):
            while len(again) < 10:
                again += await consumer.poll()
        assert again == found
        await consumer.commit()
    assert await admin.committed_offsets(topic) == {LogId(topic, 0): 10}


async def test_members_that_do_not_agree_are_refused(member):
    async with member(protocol="eager"):
        with pytest.raises(InconsistentProtocol):
            async with member(protocol="cooperative"):
                pass


# Topics that come and go.


async def test_a_pattern_takes_in_a_topic_that_is_made_later_and_lets_go_of_one_that_is_deleted(
    broker, topic, member, admin
):
    pattern = {"group": topic, "pattern": f"{topic}(-more)?"}
    consumer = Consumer(bootstrap=broker, session_ms=SESSION_MS, **pattern)
    async with consumer, Producer(broker) as producer:
        assert consumer.assigned == logs(topic)
        polling = asyncio.create_task(consumer.poll(wait_ms=20_000))
        await admin.create_topic(f"{topic}-more", 2)
        await producer.send(f"{topic}-more", b"new", partition=1)
        (found,) = await polling
        assert (found.topic, found.value) == (f"{topic}-more", b"new")
        await admin.delete_topic(f"{topic}-more")
        await producer.send(topic, b"old", partition=0)
        async with asyncio.timeout(10):
            while not (some := await consumer.poll(wait_ms=500)):
                pass
        assert [one.value for one in some] == [b"old"]
        await until(lambda: consumer.assigned == logs(topic))


async def test_a_group_may_wait_for_a_topic_that_is_not_there_yet(broker, topic, member, admin):
    async with member(f"{topic}-later") as consumer, Producer(broker) as producer:
        polling = asyncio.create_task(consumer.poll(wait_ms=20_000))
        await admin.create_topic(f"{topic}-later", 1)
        await producer.send(f"{topic}-later", b"there")
        assert [one.value for one in await polling] == [b"there"]


async def test_a_group_that_was_deleted_while_its_member_was_away_begins_anew(topic, member, admin):
    async with member() as consumer:
        membership = consumer._group._membership
        task, membership._task = membership._task, None
        task.cancel()

        async def is_deleted():
            try:
                await admin.delete_group(topic)
            except GoQueueError:
                return False
            return True

        await until(is_deleted)
        membership._task = asyncio.create_task(membership._stay())
        await until(lambda: membership.generation == 1 and consumer.assigned == logs(topic))
