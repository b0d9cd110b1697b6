"""Transactions over every path: everybody sees all of it after the commit, and nothing before it or without it."""

import asyncio
import time

import pytest

from goqueue.model.log import LogId
from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import PATHS, able, over, refused
from tests.behaviour.serving import running_server

UNCOMMITTED = "read_uncommitted"
WITHIN_S = 10.0

# Whoever has transactions writes, everybody reads.
writing_and_reading = pytest.mark.parametrize(
    ("path", "other"),
    [(writer, reader) for writer in able(Ability.TRANSACTIONS) for reader in able(Ability.RECORDS)],
    indirect=True,
)


def values(records):
    return [one.value for one in records]


async def worked(path, group, topic, count):
    """The values that a worker gets, all of which it acknowledges; it looks once more than it has to."""
    found = []
    deadline = time.monotonic() + WITHIN_S
    async with path.worker(group, topic) as worker:
        while len(found) < count:
            assert time.monotonic() < deadline, found
            lent = await worker.take(wait_ms=500)
            found += [one.record.value for one in lent]
            if lent:
                await worker.ack(*lent)
        found += [one.record.value for one in await worker.take()]
    return found


async def consumed(path, group, topic, count):
    """The values that a member of a group gets; it looks once more than it has to."""
    found = []
    deadline = time.monotonic() + WITHIN_S
    async with path.consumer(group, topic) as consumer:
        while len(found) < count:
            assert time.monotonic() < deadline, found
            found += values(await consumer.poll(wait_ms=500))
        found += values(await consumer.poll(wait_ms=100))
    return found


async def check_seen(path, topic, expected, look):
    """By every way to read that the path has, in groups that nobody had before."""
    assert values(await path.read(topic, 0)) == expected
    if Ability.QUEUE in path.abilities:
        assert await worked(path, f"{topic}-works-{look}", topic, len(expected)) == expected
    if Ability.CONSUMING in path.abilities:
        assert await consumed(path, f"{topic}-reads-{look}", topic, len(expected)) == expected


@writing_and_reading
async def test_nobody_sees_a_record_before_the_commit_and_everybody_does_after_it(path, other, topic):
    await path.publish(topic, [Out(b"before", partition=0)])
    begun = await path.begin_transaction(topic)
    await path.publish_in(begun, topic, 0, [b"a", b"b"])
    await path.publish(topic, [Out(b"behind", partition=0)])
    await check_seen(other, topic, [b"before"], "open")
    await path.publish_in(begun, topic, 0, [b"c"])
    await check_seen(other, topic, [b"before"], "still")
    await path.commit_transaction(begun)
    await check_seen(other, topic, [b"before", b"a", b"b", b"behind", b"c"], "committed")


@writing_and_reading
async def test_nobody_ever_sees_a_record_of_an_aborted_transaction(path, other, topic):
    begun = await path.begin_transaction(topic)
    await path.publish_in(begun, topic, 0, [b"a", b"b"])
    await path.publish(topic, [Out(b"behind", partition=0)])
    await path.abort_transaction(begun)
    await check_seen(other, topic, [b"behind"], "aborted")


@over(Ability.TRANSACTIONS, Ability.RECORDS)
async def test_whoever_asks_for_uncommitted_records_sees_them(path, topic):
    begun = await path.begin_transaction(topic)
    await path.publish_in(begun, topic, 0, [b"open"])
    aborted = await path.begin_transaction(f"{topic}-other")
    await path.publish_in(aborted, topic, 0, [b"aborted"])
    await path.abort_transaction(aborted)
    assert values(await path.read(topic, 0)) == []
    assert values(await path.read(topic, 0, isolation=UNCOMMITTED)) == [b"open", b"aborted"]
    await path.commit_transaction(begun)
    assert values(await path.read(topic, 0)) == [b"open"]
    assert values(await path.read(topic, 0, isolation=UNCOMMITTED)) == [b"open", b"aborted"]


@over(Ability.TRANSACTIONS, Ability.RECORDS)
async def test_one_transaction_writes_to_many_partitions_and_topics_and_each_gets_its_marker(path, topic):
    second = f"{topic}-2"
    await path.create_topic(second, 1)
    begun = await path.begin_transaction(topic)
    places = [(topic, 0), (topic, 1), (topic, 2), (second, 0)]
    for name, partition in places:
        await path.publish_in(begun, name, partition, [b"%d" % partition])
    for name, partition in places:
        assert values(await path.read(name, partition)) == []
    await path.commit_transaction(begun)
    for name, partition in places:
        assert values(await path.read(name, partition)) == [b"%d" % partition]
    ends = await path.ends(topic) + await path.ends(second)
    assert ends == [(0, 2)] * 4, "a record, and a marker that nobody asked for with a request of its own"


@over(Ability.TRANSACTIONS, Ability.RECORDS)
async def test_a_commit_may_be_said_again_and_cannot_be_turned_into_an_abort(path, topic):
    begun = await path.begin_transaction(topic)
    await path.publish_in(begun, topic, 0, [b"a"])
    await path.commit_transaction(begun)
    await path.commit_transaction(begun)
    with refused("transaction_ended"):
        await path.abort_transaction(begun)
    assert values(await path.read(topic, 0)) == [b"a"]
    assert (await path.ends(topic))[0] == (0, 2)


@over(Ability.TRANSACTIONS, Ability.RECORDS)
async def test_nothing_can_be_added_to_a_transaction_that_has_ended(path, topic):
    for end in (path.commit_transaction, path.abort_transaction):
        begun = await path.begin_transaction(topic)
        await end(begun)
        # A producer of the client library sends in whatever transaction it has open, and has none.
        with refused("transaction_ended", "transaction_conflict"):
            await path.publish_in(begun, topic, 0, [b"late"])
        with refused("transaction_ended"):
            await path.offsets_in(begun, topic, topic, 0, 0)
    assert values(await path.read(topic, 0, isolation=UNCOMMITTED)) == []


@over(Ability.TRANSACTIONS, Ability.RECORDS, Ability.QUEUE)
async def test_an_instance_that_was_taken_over_can_do_nothing_any_more(path, topic):
    await path.publish(topic, [Out(b"job", partition=0)])
    async with path.worker(topic, topic) as worker:
        [lent] = await worker.take(wait_ms=5000)
    attempts = {
        "publish": lambda old: path.publish_in(old, topic, 0, [b"more"]),
        "ack": lambda old: path.ack_in(old, lent),
        "offsets": lambda old: path.offsets_in(old, topic, topic, 0, 1),
        "commit": path.commit_transaction,
        "abort": path.abort_transaction,
    }
    for what, attempt in attempts.items():
        old = await path.begin_transaction(f"{topic}-{what}")
        await path.publish_in(old, topic, 0, [b"old"])
        new = await path.begin_transaction(f"{topic}-{what}")
        with refused("producer_fenced"):
            await attempt(old)
        await path.publish_in(new, topic, 0, [what.encode()])
        await path.commit_transaction(new)
    assert values(await path.read(topic, 0)) == [b"job", *(what.encode() for what in attempts)]


@over(Ability.TRANSACTIONS, Ability.RECORDS)
async def test_a_transaction_that_takes_too_long_is_aborted_and_holds_up_nobody_any_longer(path, topic):
    begun = await path.begin_transaction(topic, timeout_ms=300)
    await path.publish_in(begun, topic, 0, [b"slow"])
    await path.publish(topic, [Out(b"behind", partition=0)])
    deadline = time.monotonic() + WITHIN_S
    while (found := values(await path.read(topic, 0))) != [b"behind"]:
        assert found == []
        assert time.monotonic() < deadline
    # The client library knows the deadline, and does not even ask.
    with refused("transaction_ended", "request_timeout"):
        await path.publish_in(begun, topic, 0, [b"more"])
    with refused("transaction_ended"):
        await path.commit_transaction(begun)
    assert values(await path.read(topic, 0)) == [b"behind"]


@over(Ability.TRANSACTIONS, Ability.RECORDS, Ability.QUEUE)
async def test_work_is_done_when_the_transaction_with_its_result_commits(path, topic):
    await path.create_topic(results := f"{topic}-results", 1)
    await path.publish(topic, [Out(b"job", partition=0)])
    async with path.worker(topic, topic) as worker:
        [lent] = await worker.take(wait_ms=5000)
        begun = await path.begin_transaction(topic)
        await path.publish_in(begun, results, 0, [b"result"])
        await path.ack_in(begun, lent)
        assert (await path.committed(topic)).get(LogId(topic, 0), 0) == 0
        assert values(await path.read(results, 0)) == []
        await path.commit_transaction(begun)
    assert (await path.committed(topic))[LogId(topic, 0)] == 1
    assert values(await path.read(results, 0)) == [b"result"]


@over(Ability.TRANSACTIONS, Ability.RECORDS, Ability.QUEUE)
async def test_when_it_aborts_the_record_is_delivered_again_after_its_lease(path, topic):
    await path.publish(topic, [Out(b"job", partition=0)])
    async with path.worker(topic, topic, visibility_ms=700) as worker:
        [lent] = await worker.take(wait_ms=5000)
        begun = await path.begin_transaction(topic)
        await path.ack_in(begun, lent)
        await path.abort_transaction(begun)
    assert await worked(path, topic, topic, 1) == [b"job"]


@over(Ability.TRANSACTIONS, Ability.RECORDS, Ability.QUEUE)
async def test_what_is_rejected_or_given_back_in_a_transaction_is_so_when_it_commits(path, topic):
    await path.alter_topic(topic, retry_backoff_ms=1)
    await path.publish(topic, [Out(value, partition=0) for value in (b"bad", b"again")])
    async with path.worker(topic, topic) as worker:
        bad, again = await worker.take(wait_ms=5000)
        begun = await path.begin_transaction(topic)
        await path.ack_in(begun, bad, "reject")
        await path.ack_in(begun, again, "nack")
        assert values(await path.read(f"{topic}.dlq", 0)) == []
        await path.commit_transaction(begun)
    assert values(await path.read(f"{topic}.dlq", 0)) == [b"bad"]
    assert await worked(path, topic, topic, 1) == [b"again"]


@over(Ability.TRANSACTIONS, Ability.RECORDS, Ability.GROUPS)
async def test_a_group_goes_on_from_where_the_committed_transaction_says(path, topic):
    await path.publish(topic, [Out(b"%d" % number, partition=0) for number in range(3)])
    log = LogId(topic, 0)
    begun = await path.begin_transaction(topic)
    await path.offsets_in(begun, topic, topic, 0, 2)
    assert (await path.committed(topic)).get(log) is None
    await path.commit_transaction(begun)
    assert (await path.committed(topic))[log] == 2
    begun = await path.begin_transaction(topic)
    await path.offsets_in(begun, topic, topic, 0, 3)
    await path.abort_transaction(begun)
    assert (await path.committed(topic))[log] == 2


@over(Ability.TRANSACTIONS, Ability.RECORDS)
async def test_a_transaction_that_is_refused_a_record_can_go_on_without_it(path, topic):
    begun = await path.begin_transaction(topic)
    with refused("unknown_partition"):
        await path.publish_in(begun, topic, 7, [b"nowhere"])
    with refused("unknown_topic"):
        await path.publish_in(begun, f"{topic}-not", 0, [b"nowhere"])
    await path.publish_in(begun, topic, 0, [b"a"])
    await path.commit_transaction(begun)
    assert values(await path.read(topic, 0)) == [b"a"]


@pytest.mark.parametrize("how", ["crash_and_restart", "restart"])
def test_what_was_committed_survives_and_what_was_open_is_aborted(tmp_path, how):
    names = able(Ability.TRANSACTIONS, Ability.RECORDS)

    async def before(server):
        handles = {}
        for name in names:
            path = PATHS[name](server)
            await path.create_topic(name, 1)
            await path.publish(name, [Out(b"job", partition=0)])
            committed = await path.begin_transaction(f"{name}-committed")
            aborted = await path.begin_transaction(f"{name}-aborted")
            still_open = await path.begin_transaction(f"{name}-open")
            for handle, value in ((committed, b"committed"), (aborted, b"aborted"), (still_open, b"open")):
                await path.publish_in(handle, name, 0, [value])
            await path.offsets_in(committed, "readers", name, 0, 1)
            await path.offsets_in(still_open, "others", name, 0, 1)
            await path.commit_transaction(committed)
            await path.abort_transaction(aborted)
            assert values(await path.read(name, 0)) == [b"job", b"committed"]
            handles[name] = (path, still_open)
        return handles

    async def after(server):
        for name in names:
            path = PATHS[name](server)
            await path.publish(name, [Out(b"behind", partition=0)])
            deadline = time.monotonic() + WITHIN_S
            while (found := values(await path.read(name, 0))) != [b"job", b"committed", b"behind"]:
                assert found == [b"job", b"committed"]
                assert time.monotonic() < deadline
            uncommitted = values(await path.read(name, 0, isolation=UNCOMMITTED))
            assert uncommitted == [b"job", b"committed", b"aborted", b"open", b"behind"]
            assert (await path.committed("readers"))[LogId(name, 0)] == 1
            assert LogId(name, 0) not in await path.committed("others")
            again = await path.begin_transaction(f"{name}-open")
            await path.publish_in(again, name, 0, [b"again"])
            await path.commit_transaction(again)
            assert values(await path.read(name, 0))[-1] == b"again"
            await path.close()

    async def around(server):
        handles = await before(server)
        await asyncio.to_thread(getattr(server, how))
        for path, still_open in handles.values():
            with refused("transaction_ended"):
                await path.commit_transaction(still_open)
            await path.close()
        await after(server)

    with running_server(tmp_path / "broker") as server:
        asyncio.run(around(server))
