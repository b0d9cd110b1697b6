"""Delayed records over every path: seen by nobody before they are due, by the queue when they are, and never early."""

import asyncio
import time

import pytest

from tests.behaviour.path import Ability, Out, Place
from tests.behaviour.paths import PATHS, between_paths, over, refused
from tests.behaviour.serving import running_server

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
HOUR_MS = 3_600_000
SLACK_NS = 5 * NS_PER_MS
"""Less than nothing may be early; this is for the clocks of two processes."""


async def worked(path, group, topic, *, wait_ms=0):
    """Take from the queue and acknowledge; the values."""
    async with path.worker(group, topic) as worker:
        lent = await worker.take(wait_ms=wait_ms)
        if lent:
            await worker.ack(*lent)
    return [one.record.value for one in lent]


async def worked_until(path, group, topic, count, within_s=60.0):
    """Values with the moments at which they came."""
    found = []
    deadline = time.monotonic() + within_s
    while len(found) < count:
        assert time.monotonic() < deadline, found
        found += [(value, time.time_ns()) for value in await worked(path, group, topic, wait_ms=500)]
    return found


def values(records):
    return [one.value for one in records]


@between_paths(Ability.RECORDS, Ability.DELAYS)
async def test_what_one_path_delays_no_other_path_sees_until_it_is_due(path, other, topic):
    due = time.time_ns() + 400 * NS_PER_MS
    records = [Out(b"before", partition=0), Out(b"later", partition=0, deliver_at_ns=due), Out(b"after", partition=0)]
    assert [place.offset for place in await path.publish(topic, records)] == [0, 1, 2]
    seen = values(await other.read(topic, 0))
    assert seen == [b"before", b"after"] or time.time_ns() >= due
    found = await worked_until(other, topic, topic, 3)
    assert [value for value, _ in found] == [b"before", b"after", b"later"]
    assert found[-1][1] >= due - SLACK_NS
    assert values(await other.read(topic, 0)) == [b"before", b"later", b"after"]
    assert await worked(other, topic, topic) == []


@over(Ability.RECORDS, Ability.DELAYS)
async def test_a_delay_counts_from_now(path, topic):
    began = time.time_ns()
    await path.publish(topic, [Out(b"later", partition=0, delay_ms=300)])
    ((value, at),) = await worked_until(path, topic, topic, 1)
    assert value == b"later"
    assert 300 * NS_PER_MS <= at - began < 60 * NS_PER_S


@over(Ability.RECORDS, Ability.DELAYS)
@pytest.mark.parametrize("out", [Out(b"v", partition=0, delay_ms=0), Out(b"v", partition=0, deliver_at_ns=1)])
async def test_zero_and_the_past_mean_at_once(path, topic, out):
    await path.publish(topic, [out])
    assert values(await path.read(topic, 0)) == [b"v"]
    assert await path.delayed(topic) == []


@over(Ability.RECORDS, Ability.DELAYS)
async def test_a_delayed_record_hides_no_other_one(path, topic):
    """Neither its neighbours nor the record with the same offset in another partition."""
    records = [Out(b"%d" % number, partition=number % 2) for number in range(6)]
    records[2] = records[2]._replace(delay_ms=HOUR_MS)
    await path.publish(topic, records)
    assert values(await path.read(topic, 0)) == [b"0", b"4"]
    assert values(await path.read(topic, 1)) == [b"1", b"3", b"5"]
    assert sorted(await worked(path, topic, topic, wait_ms=1000)) == [b"0", b"1", b"3", b"4", b"5"]


@over(Ability.RECORDS, Ability.DELAYS)
async def test_a_cancelled_record_never_appears(path, topic):
    due = time.time_ns() + 700 * NS_PER_MS
    places = await path.publish(topic, [Out(b"%d" % n, partition=0, deliver_at_ns=due) for n in range(3)])
    assert await worked(path, topic, topic) == []
    facts = await path.cancel(topic, places[1])
    assert (facts.state, facts.due_ns) == ("cancelled", None)
    assert values(await path.read(topic, 0)) == []
    assert [value for value, _ in await worked_until(path, topic, topic, 2)] == [b"0", b"2"]
    assert values(await path.read(topic, 0)) == [b"0", b"2"]
    assert await worked(path, topic, topic, wait_ms=100) == []
    assert await worked(path, f"{topic}-other", topic) == [b"0", b"2"]
    assert await path.delay_stats(topic) == {"pending": 0, "delivered": 2, "cancelled": 1}
    # Once more: an answer may have been lost on its way.
    assert (await path.cancel(topic, places[1])).state == "cancelled"


@over(Ability.RECORDS, Ability.DELAYS)
async def test_many_records_are_cancelled_together_and_the_others_are_delivered(path, topic):
    due = time.time_ns() + 700 * NS_PER_MS
    places = await path.publish(topic, [Out(b"%d" % n, partition=n % 3, deliver_at_ns=due) for n in range(12)])
    # Not in order, and one of them twice.
    assert await path.cancel_many(topic, [*places[8:2:-1], places[5]]) == (sorted(places[3:9]), {})
    left = sorted((facts.partition, facts.offset) for facts in await path.delayed(topic))
    assert left == sorted(places[:3] + places[9:]) or time.time_ns() >= due
    found = await worked_until(path, topic, topic, 6)
    assert sorted(value for value, _ in found) == sorted(b"%d" % n for n in (0, 1, 2, 9, 10, 11))
    assert await worked(path, topic, topic, wait_ms=100) == []
    assert await path.delay_stats(topic) == {"pending": 0, "delivered": 6, "cancelled": 6}


@over(Ability.RECORDS, Ability.DELAYS)
async def test_of_many_records_those_that_cannot_be_cancelled_do_not_stop_the_others(path, topic):
    records = [
        Out(b"now"),
        Out(b"soon", delay_ms=HOUR_MS),
        Out(b"cancelled", delay_ms=HOUR_MS),
        Out(b"later", delay_ms=HOUR_MS),
    ]
    now, soon, cancelled, later = await path.publish(topic, [one._replace(partition=0) for one in records])
    await path.reschedule(topic, soon, time.time_ns())
    await worked_until(path, topic, topic, 2)
    await path.cancel(topic, cancelled)
    nowhere, beyond = Place(0, 99), Place(7, 0)
    assert await path.cancel_many(topic, [beyond, nowhere, later, cancelled, soon, now]) == (
        [cancelled, later],
        {
            now: "unknown_delay",
            soon: "delay_is_over",
            nowhere: "unknown_delay",
            beyond: "unknown_partition",
        },
    )
    assert (await path.delay(topic, later))[0].state == "cancelled"
    assert (await path.delay(topic, soon))[0].state == "delivered"
    with refused("unknown_topic"):
        await path.cancel_many(f"{topic}-not", [later])


@over(Ability.RECORDS, Ability.DELAYS)
async def test_a_record_can_be_delivered_at_another_time(path, topic):
    places = await path.publish(topic, [Out(b"%d" % n, partition=0, delay_ms=HOUR_MS) for n in range(2)])
    due = time.time_ns() + 200 * NS_PER_MS
    assert await path.reschedule(topic, places[0], due) == (0, 0, "pending", due)
    assert [value for value, _ in await worked_until(path, topic, topic, 1)] == [b"0"]
    await path.reschedule(topic, places[1], 1)
    assert [value for value, _ in await worked_until(path, topic, topic, 1)] == [b"1"]


@over(Ability.RECORDS, Ability.DELAYS)
async def test_delayed_records_are_listed_by_time_and_shown_one_by_one(path, topic):
    now = time.time_ns()
    dues = [now + (number * 7 % 5 + 1) * 60 * NS_PER_S for number in range(5)]
    records = [Out(b"%d" % n, partition=n % 3, deliver_at_ns=due) for n, due in enumerate(dues)]
    places = await path.publish(topic, records)
    wanted = [(*place, "pending", due) for due, place in sorted(zip(dues, places, strict=True))]
    assert await path.delayed(topic) == wanted
    assert await path.delayed(topic, skip=2, limit=2) == wanted[2:4]
    assert await path.delay(topic, places[3]) == ((*places[3], "pending", dues[3]), b"3")
    assert await path.delay_stats(topic) == {"pending": 5, "delivered": 0, "cancelled": 0}


@over(Ability.RECORDS, Ability.DELAYS)
@pytest.mark.parametrize(
    "wrong",
    [
        Out(b"v", partition=0, delay_ms=-1),
        Out(b"v", partition=0, delay_ms=8 * 24 * HOUR_MS),
        Out(b"v", partition=0, delay_ms=1, deliver_at_ns=2),
    ],
    ids=["negative", "beyond the retention", "both"],
)
async def test_a_delay_that_cannot_be_is_refused_with_the_same_code_everywhere(path, topic, wrong):
    with refused("invalid_record"):
        await path.publish(topic, [wrong])
    await path.publish(topic, [Out(b"fine", partition=0)])
    assert values(await path.read(topic, 0)) == [b"fine"]


@over(Ability.RECORDS, Ability.DELAYS)
async def test_what_is_not_pending_cannot_be_changed(path, topic):
    (now, soon) = await path.publish(topic, [Out(b"now", partition=0), Out(b"soon", partition=0, delay_ms=HOUR_MS)])
    for place in (now, now._replace(offset=77)):
        for attempt in (path.delay(topic, place), path.cancel(topic, place), path.reschedule(topic, place, 1)):
            with refused("unknown_delay"):
                await attempt
    await path.reschedule(topic, soon, time.time_ns())
    assert len(await worked_until(path, topic, topic, 2)) == 2
    for attempt in (path.cancel(topic, soon), path.reschedule(topic, soon, time.time_ns() + NS_PER_S)):
        with refused("delay_is_over"):
            await attempt
    assert (await path.delay(topic, soon))[0].state == "delivered"
    with refused("unknown_topic"):
        await path.delayed(f"{topic}-not")


@over(Ability.RECORDS, Ability.DELAYS)
async def test_of_records_with_known_ids_the_others_keep_their_own_times(path, topic):
    await path.publish(topic, [Out(b"known", partition=0, id="a")])
    due = time.time_ns() + 60 * NS_PER_S
    records = [
        Out(b"again", partition=0, id="a", delay_ms=HOUR_MS),
        Out(b"later", partition=0, id="b", deliver_at_ns=due),
        Out(b"now", partition=0, id="c"),
    ]
    assert [place.offset for place in await path.publish(topic, records)] == [0, 1, 2]
    assert values(await path.read(topic, 0)) == [b"known", b"now"]
    assert await path.delayed(topic) == [(0, 1, "pending", due)]


# Restarts.


@pytest.mark.parametrize("how", ["crash_and_restart", "restart"])
def test_after_a_restart_nothing_is_early_nothing_is_lost_and_cancelled_ones_stay_away(tmp_path, how):
    """Records due while the broker was down fire at once; those to come fire when they are due."""

    async def before(server):
        lives = {}
        for name, kind in PATHS.items():
            path = kind(server)
            await path.create_topic(name, 1)
            now = time.time_ns()
            due = {b"missed": now + 3 * NS_PER_S, b"later": now + 12 * NS_PER_S, b"far": now + 3600 * NS_PER_S}
            due[b"cancelled"] = due[b"missed"]
            records = [Out(value, deliver_at_ns=at) for value, at in due.items()]
            places = await path.publish(name, [*records, Out(b"now")])
            assert await worked(path, "passed", name) == [b"now"]
            await path.cancel(name, places[3])
            await path.close()
            lives[name] = due
        return lives

    async def after(server, lives):
        arrived = {}
        for name, kind in PATHS.items():
            path = kind(server)
            arrived[name] = await worked_until(path, "passed", name, 1)
            # On a busy machine the later one may be due by now as well.
            assert values(await path.read(name, 0)) == [b"missed", b"now"] or time.time_ns() > lives[name][b"later"]
            assert [facts.due_ns for facts in await path.delayed(name)][-1] == lives[name][b"far"]
            await path.close()
        for name, kind in PATHS.items():
            path = kind(server)
            arrived[name] += await worked_until(path, "passed", name, 2 - len(arrived[name]))
            assert [value for value, _ in arrived[name]] == [b"missed", b"later"]
            assert all(at >= lives[name][value] - SLACK_NS for value, at in arrived[name])
            assert values(await path.read(name, 0)) == [b"missed", b"later", b"now"]
            assert await path.delay_stats(name) == {"pending": 1, "delivered": 2, "cancelled": 1}
            assert await worked(path, "new", name) == [b"missed", b"later", b"now"]
            await path.close()

    with running_server(tmp_path / "broker") as server:
        lives = asyncio.run(before(server))
        (server.kill if how == "crash_and_restart" else server.stop)()
        missed = max(due[b"missed"] for due in lives.values())
        time.sleep(max(0, missed - time.time_ns()) / NS_PER_S)
        server.start()
        asyncio.run(after(server, lives))


@pytest.mark.parametrize("how", ["crash_and_restart", "restart"])
def test_records_that_were_cancelled_together_stay_away_after_a_restart(tmp_path, how):
    async def before(server):
        for name, kind in PATHS.items():
            path = kind(server)
            await path.create_topic(name, 3)
            due = time.time_ns() + 5 * NS_PER_S
            places = await path.publish(name, [Out(b"%d" % n, partition=n % 3, deliver_at_ns=due) for n in range(30)])
            assert await worked(path, "passed", name) == []
            assert await path.cancel_many(name, places[3:27]) == (sorted(places[3:27]), {})
            await path.close()

    async def after(server):
        for name, kind in PATHS.items():
            path = kind(server)
            found = await worked_until(path, "passed", name, 6)
            assert sorted(value for value, _ in found) == sorted(b"%d" % n for n in (0, 1, 2, 27, 28, 29))
            assert await worked(path, "passed", name, wait_ms=100) == []
            assert await path.delay_stats(name) == {"pending": 0, "delivered": 6, "cancelled": 24}
            await path.close()

    with running_server(tmp_path / "broker") as server:
        asyncio.run(before(server))
        (server.kill if how == "crash_and_restart" else server.stop)()
        server.start()
        asyncio.run(after(server))
