"""The breaker pauses a group whose dead letters come too fast; and what is counted of deliveries."""

import pytest

from goqueue import codec
from goqueue.engine.groups import pause_group
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.poll import Poll, poll
from goqueue.engine.queue import settle
from goqueue.engine.queue.reliability import reliability
from goqueue.engine.topics import amend_topic
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.redrive import Orders, purge, redrive
from goqueue.engine.workbench.search import Wanted
from goqueue.model.record import Record
from goqueue.model.topic import Expired, TopicConfig
from tests.unit.workbench.scene import ORDERS, dead, made, published, rejected, values


class Reports:
    def __init__(self) -> None:
        self.told: list[tuple] = []

    def __getattr__(self, name):
        return lambda *arguments: self.told.append((name, *arguments))


REASON = "more than 3 dead letters from orders within a minute"


async def taken(broker, group="billing", limit=1000):
    """Leases, each of one partition."""
    parts = await poll(broker, Poll(group, "worker", topics=["orders"], limit=limit, wait_ms=0))
    return [
        settle.Lease(group, part.log, part.grant, part.token, [one.offset for one in codec.decode(part.records)])
        for part in parts
    ]


async def test_a_group_that_sends_too_many_dead_letters_is_paused_and_says_why(broker):
    await made(broker, dead_letter_breaker_per_minute=3)
    await dead(broker, b"1", b"2", b"3")
    assert not broker.groups.group("billing").is_paused
    await dead(broker, b"4")
    view = broker.groups.group("billing").describe()
    assert (view.is_paused, view.pause_reason) == (True, REASON)
    await published(broker, b"5")
    assert await taken(broker) == []
    assert len(await taken(broker, "audit")) == 1


async def test_resumed_by_hand_it_goes_on_and_counts_from_nothing(broker):
    await made(broker, dead_letter_breaker_per_minute=3)
    await dead(broker, b"1", b"2", b"3", b"4")
    await pause_group(broker, "billing", paused=False)
    view = broker.groups.group("billing").describe()
    assert (view.is_paused, view.pause_reason) == (False, "")
    await dead(broker, b"5", b"6", b"7")
    assert not broker.groups.group("billing").is_paused


async def test_slowly_they_may_come_for_ever(broker, clock):
    await made(broker, dead_letter_breaker_per_minute=3)
    for _ in range(10):
        await dead(broker, b"1", b"2", b"3")
        clock.advance_ms(60_000)
    assert not broker.groups.group("billing").is_paused


async def test_without_a_limit_nobody_is_paused(broker):
    await made(broker)
    await dead(broker, *(b"%d" % number for number in range(500)))
    assert not broker.groups.group("billing").is_paused


async def test_a_limit_set_later_counts_from_then_on(broker):
    await made(broker)
    await dead(broker, b"1", b"2", b"3", b"4")
    await amend_topic(broker, ORDERS, lambda _: TopicConfig(dead_letter_breaker_per_minute=3))
    await dead(broker, b"5")
    assert not broker.groups.group("billing").is_paused


async def test_records_that_failed_too_often_count_as_well(broker):
    await made(broker, dead_letter_breaker_per_minute=1, max_attempts=1)
    await published(broker, b"1", b"2")
    for lease in await taken(broker):
        await settle.nack(broker, lease, reason="broken")
    assert broker.groups.group("billing").is_paused


async def test_the_operator_is_told_once(broker):
    await made(broker, dead_letter_breaker_per_minute=3)
    await dead(broker, b"1", b"2", b"3", b"4")
    reports = Reports()
    maintenance = Maintenance(broker, reports, MaintenanceSettings())
    await maintenance.return_overdue()
    await maintenance.return_overdue()
    assert reports.told == [("group_paused", "billing", REASON)]


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_why_a_group_is_paused_survives_a_restart(open_broker, checkpoint):
    async with open_broker() as broker:
        await made(broker, dead_letter_breaker_per_minute=3)
        await dead(broker, b"1", b"2", b"3", b"4")
        if checkpoint:
            await Maintenance(broker, Reports(), MaintenanceSettings()).checkpoint()
    async with open_broker() as broker:
        view = broker.groups.group("billing").describe()
        assert (view.is_paused, view.pause_reason) == (True, REASON)


async def test_what_becomes_of_records_is_counted(broker, clock):
    await made(broker, max_attempts=2, retry_backoff_ms=0, visibility_timeout_ms=1000)
    await published(broker, *(b"%d" % number for number in range(10)))
    (lease,) = await taken(broker)

    def part(*offsets):
        return settle.Lease(lease.group, lease.log, lease.grant, lease.token, offsets)

    await settle.acknowledge(broker, part(0, 1, 2))
    await settle.reject(broker, part(3))
    await settle.nack(broker, part(4, 5), reason="broken", pause_ms=60_000)
    clock.advance_ms(1001)
    await settle.return_overdue(broker)
    (stats,) = await reliability(broker)
    assert (stats.group, stats.topic) == ("billing", "orders")
    assert (stats.acked, stats.nacked, stats.rejected, stats.expired, stats.dead_lettered) == (3, 2, 1, 4, 1)
    # Those that were not acknowledged in time may be taken at once, and each record counts once.
    assert (stats.ready, stats.in_flight, stats.waiting_for_retry, stats.deferred) == (4, 0, 2, 0)
    assert stats.lag == 6
    (lease,) = await taken(broker)
    assert (await reliability(broker))[0].in_flight == 4
    await settle.nack(broker, part(6, 7), reason="broken")
    (stats,) = await reliability(broker)
    assert (stats.acked, stats.nacked, stats.dead_lettered) == (3, 4, 3)
    assert len(await values(broker)) == 3


async def test_the_workbench_itself_is_not_among_the_groups(broker):
    await made(broker)
    await dead(broker, b"a")
    await purge(desk_of(broker, ORDERS), Orders(Wanted()))
    assert [one.group for one in await reliability(broker)] == ["billing"]
    assert await rejected(broker) == 0


async def test_records_that_expired_are_letters_but_nobodys_failure_and_come_back_without_their_expiry(broker):
    await made(broker, dead_letter_breaker_per_minute=1, expired=Expired.DEAD_LETTER)
    await published(broker, *(Record(b"%d" % number, None, (("goqueue-expires", b"1"),)) for number in range(5)))
    assert await taken(broker) == []
    assert not broker.groups.group("billing").is_paused
    (stats,) = await reliability(broker)
    assert (stats.acked, stats.nacked, stats.expired, stats.dead_lettered) == (0, 0, 0, 5)
    assert len(await values(broker, wanted=Wanted(cause="expired"))) == 5
    await redrive(desk_of(broker, ORDERS), Orders(Wanted()))
    (lease,) = await taken(broker)
    assert len(lease.offsets) == 5
