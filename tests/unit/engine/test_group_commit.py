import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from goqueue.engine.group_commit import (
    INLINE_BYTES,
    LITTLE_BYTES,
    PENDING_BYTES,
    SYNC_HERE_BYTES,
    VERY_QUICK_NS,
    WAIT_NS,
    GroupCommit,
)
from goqueue.engine.ports import StateEvent
from goqueue.engine.syncer import Syncer
from goqueue.errors import DiskFull, StorageBusy, StorageFailed
from goqueue.model.ids import Lsn
from goqueue.testing.clock import FakeClock

REFUSED = (StateEvent("refused", b""),)


def entry(name: str):
    return (StateEvent(name, b""),)


class ScriptedStorage:
    """Writes at once; syncs when it is let. Keeps the order of what happened."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.sync_failure: StorageFailed | None = None
        self.written_lsn = Lsn(0)
        self.syncs = 0
        self.writing_threads: set[int] = set()
        self.clock = FakeClock()
        self.sync_takes_ms = 0
        self.sync_takes_us = 0
        self.syncing_threads: list[int] = []
        self.begun_after: list[int] = []
        """How much was written when the disk was told to begin."""

    def write(self, entries):
        self.writing_threads.add(threading.get_ident())
        self.written_lsn = Lsn(self.written_lsn + len(entries))
        self.happened += [one[0].stream for one in entries]
        return [DiskFull("no room") if one == REFUSED else None for one in entries]

    def begin_sync(self) -> None:
        self.begun_after.append(len(self.happened))

    def sync(self) -> Lsn:
        lsn = self.written_lsn
        assert self.may_sync.wait(10)
        self.syncs += 1
        self.syncing_threads.append(threading.get_ident())
        self.clock.advance_ns(1_000_000 * self.sync_takes_ms + 1000 * self.sync_takes_us)
        if self.sync_failure is not None:
            raise self.sync_failure
        return lsn


@pytest.fixture
def storage() -> ScriptedStorage:
    return ScriptedStorage()


@pytest.fixture
async def commit(storage):
    with ThreadPoolExecutor(1) as writer, Syncer(storage, storage.clock) as syncer:
        yield GroupCommit(storage, writer, syncer)
        storage.may_sync.set()


async def test_one_sync_serves_everyone_who_waits(commit, storage):
    storage.may_sync.clear()
    waiting = [asyncio.create_task(commit.write(entry(str(n)))) for n in range(50)]
    while len(storage.happened) < 50:
        await asyncio.sleep(0)
    storage.may_sync.set()
    await asyncio.gather(*waiting)
    assert storage.syncs <= 2
    assert storage.happened == [str(n) for n in range(50)]


async def test_the_disk_begins_with_what_is_to_be_durable_before_anybody_waits_for_it(commit, storage):
    await commit.write(entry("memory"), durable=False)
    assert storage.begun_after == []
    await asyncio.gather(commit.write(entry("a")), commit.write(entry("b"), durable=False))
    assert (storage.begun_after, storage.syncs) == ([3], 1)


async def test_an_entry_that_need_not_be_durable_does_not_wait_for_the_sync_of_another(commit, storage):
    storage.may_sync.clear()
    durable = asyncio.create_task(commit.write(entry("durable")))
    await commit.write(entry("memory"), durable=False)
    assert not durable.done()
    storage.may_sync.set()
    await durable


async def test_a_refusal_reaches_only_its_own_publisher(commit):
    results = await asyncio.gather(
        commit.write(entry("a")), commit.write(REFUSED), commit.write(entry("b")), return_exceptions=True
    )
    assert results[0] is None
    assert isinstance(results[1], DiskFull)
    assert results[2] is None


async def test_a_failed_sync_is_told_to_everyone_who_waited_for_it(commit, storage):
    storage.sync_failure = StorageFailed("the disk is gone")
    results = await asyncio.gather(*(commit.write(entry(str(n))) for n in range(3)), return_exceptions=True)
    assert all(isinstance(result, StorageFailed) for result in results)


async def test_a_caller_that_goes_away_does_not_take_its_write_back(commit, storage):
    task = asyncio.create_task(commit.write(entry("kept")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await commit.write(entry("next"))
    assert storage.happened == ["kept", "next"]


async def test_more_than_the_buffer_holds_is_refused_and_the_rest_is_written(commit, storage):
    commit.submit(entry("large"), PENDING_BYTES, lambda _: None, durable=False)
    with pytest.raises(StorageBusy):
        commit.submit(entry("more"), 1, lambda _: None, durable=False)
    await commit.drain()
    assert storage.happened == ["large"]
    await commit.write(entry("after"))


async def test_small_groups_are_written_on_the_loop_and_large_ones_in_the_writer_thread(commit, storage):
    await commit.write(entry("small"), 100)
    assert storage.writing_threads == {threading.get_ident()}
    await commit.write(entry("large"), INLINE_BYTES + 1)
    assert len(storage.writing_threads) == 2


async def test_an_action_between_writes_sees_all_that_was_submitted_before_it(commit, storage):
    applied: list[str] = []
    for n in range(5):
        name = str(n)
        commit.submit(
            entry(name), INLINE_BYTES, lambda _: None, durable=False, written=lambda name=name: applied.append(name)
        )
    seen = await commit.between_writes(lambda: (list(storage.happened), list(applied)))
    assert seen == (["0", "1", "2", "3", "4"], ["0", "1", "2", "3", "4"])


async def test_what_an_action_between_writes_raises_reaches_the_one_who_asked(commit):
    def fail() -> None:
        raise DiskFull("no")

    with pytest.raises(DiskFull):
        await commit.between_writes(fail)
    await commit.write(entry("goes on"))


async def test_a_background_sync_runs_only_when_something_is_unsynced(commit, storage):
    commit.sync_in_background()
    await commit.drain()
    assert storage.syncs == 0
    await commit.write(entry("memory"), durable=False)
    commit.sync_in_background()
    await commit.drain()
    assert storage.syncs == 1
    commit.sync_in_background()
    await commit.drain()
    assert storage.syncs == 1


async def test_a_little_is_synced_on_the_loop_and_much_in_the_thread(commit, storage):
    await commit.write(entry("little"), SYNC_HERE_BYTES)
    assert storage.syncing_threads == [threading.get_ident()]
    await commit.write(entry("much"), SYNC_HERE_BYTES + 1)
    assert storage.syncing_threads[1] != threading.get_ident()


async def test_of_a_disk_that_is_not_very_quick_only_a_little_is_waited_for_on_the_loop(commit, storage):
    for took_us, here in ((VERY_QUICK_NS // 1000, True), (VERY_QUICK_NS // 1000 + 1, False)):
        storage.sync_takes_us = took_us
        await commit.write(entry("first"), LITTLE_BYTES)
        storage.syncing_threads.clear()
        await commit.write(entry("little"), LITTLE_BYTES)
        await commit.write(entry("more"), LITTLE_BYTES + 1)
        assert [one == threading.get_ident() for one in storage.syncing_threads] == [True, here]


async def test_what_came_in_small_pieces_counts_together(commit, storage):
    half = SYNC_HERE_BYTES // 2 + 1
    await asyncio.gather(commit.write(entry("one"), half), commit.write(entry("two"), half))
    assert threading.get_ident() not in storage.syncing_threads


async def test_a_disk_that_was_slow_is_not_waited_for_on_the_loop_until_it_is_quick_again(commit, storage):
    storage.sync_takes_ms = 50
    await commit.write(entry("slow"), 1)
    storage.sync_takes_ms = 0
    for _ in range(40):
        await commit.write(entry("quick"), 1)
    here = [one == threading.get_ident() for one in storage.syncing_threads]
    assert here[:3] == [True, False, False]
    assert here[-1]


async def together(commit, *names: str) -> None:
    await asyncio.gather(*(commit.write(entry(name), 1) for name in names))


async def passes(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_those_who_were_served_together_are_waited_for(commit, storage):
    storage.sync_takes_us = 100
    await together(commit, "a", "b")
    first = asyncio.create_task(commit.write(entry("c"), 1))
    await passes(10)
    assert storage.happened == ["a", "b"]
    await asyncio.gather(first, commit.write(entry("d"), 1))
    assert storage.happened == ["a", "b", "c", "d"]
    assert storage.syncs == 2


async def test_nobody_is_waited_for_longer_than_half_of_a_sync_takes(commit, storage):
    storage.sync_takes_us = 100
    await together(commit, "a", "b")
    alone = asyncio.create_task(commit.write(entry("c"), 1))
    await passes(10)
    storage.clock.advance_ns(49_000)
    await passes(10)
    assert storage.happened == ["a", "b"]
    storage.clock.advance_ns(1000)
    await alone
    assert storage.happened == ["a", "b", "c"]


async def test_after_a_slow_sync_nobody_is_waited_for_longer_than_usual(commit, storage):
    storage.sync_takes_us = 2900
    await together(commit, "a", "b")
    alone = asyncio.create_task(commit.write(entry("c"), 1))
    await passes(10)
    storage.clock.advance_ns(WAIT_NS)
    await alone


async def test_who_was_served_alone_waits_for_nobody(commit, storage):
    storage.sync_takes_us = 100
    await commit.write(entry("a"), 1)
    await commit.write(entry("b"), 1)
    await commit.write(entry("c"), 1)
    assert storage.syncs == 3


async def test_much_waits_for_nobody(commit, storage):
    storage.sync_takes_us = 100
    await together(commit, "a", "b")
    await commit.write(entry("much"), SYNC_HERE_BYTES + 1)
    assert storage.happened == ["a", "b", "much"]


async def test_who_waits_for_no_sync_waits_for_nobody(commit, storage):
    storage.sync_takes_us = 100
    await together(commit, "a", "b")
    await commit.write(entry("memory"), 1, durable=False)
    await asyncio.gather(*(commit.write(entry(name), 1, durable=False) for name in "cd"))
    await commit.write(entry("e"), 1)
    assert storage.happened == ["a", "b", "memory", "c", "d", "e"]
