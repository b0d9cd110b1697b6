"""Lives of a store that bring out each way in which a crash can come at a bad moment."""

from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import CreateLog, DeleteLog, DropSegments
from goqueue.model.log import LogId
from tests.simulation.workload import Workload

ORDERS, DEAD, AUDIT = LogId("orders", 0), LogId("orders.dlq", 0), LogId("audit", 3)
BIG = StoreSettings(segment_bytes=13_000, journal_file_bytes=16_000, open_sealed_segments=2)
"""Segments with room for several index entries each."""


def moves_between_logs() -> Workload:
    """Records move from one log to another together with an event, one at a time and in groups."""
    work = Workload("moves")
    work.create(ORDERS, DEAD)
    work.write((work.append(ORDERS, 40, 0, 90),))
    work.sync()
    for _ in range(3):
        work.write((work.append(DEAD, 70), work.event("delivery")))
        work.write((work.append(ORDERS, 30), work.append(DEAD, 25, 25), work.event("delivery"), work.event("groups")))
        work.sync()
    first = (work.append(ORDERS, 120), work.event("groups"))
    work.write(first, (work.event("delivery"), work.event("delivery")))
    work.write((work.append(DEAD, 60), work.append(ORDERS, 10)))
    work.sync()
    return work


def rolls_and_rotations() -> Workload:
    """Segments and journal files fill up every few entries, some of them in the middle of an unsynced stretch."""
    work = Workload("rolls")
    work.create(ORDERS, AUDIT)
    for turn in range(7):
        work.write((work.append(ORDERS, 150, 20), work.event("a")))
        work.write((work.append(AUDIT, 260 if turn % 2 else 90), work.append(ORDERS, 55)))
        if turn % 3 == 1:
            work.sync()
        if turn % 2:
            work.store.prepare()
        if turn == 4:
            work.checkpoint()
    work.write((work.append(ORDERS, 900),))
    work.write((work.append(ORDERS, 5), work.append(AUDIT, 5)))
    work.sync()
    return work


def logs_come_and_go() -> Workload:
    """Logs are made, deleted with entries in the journal, and made again under the same name."""
    work = Workload("come and go")
    work.create(ORDERS, DEAD)
    work.write((work.append(ORDERS, 80, 80), work.append(DEAD, 30)))
    work.checkpoint()
    work.write((work.append(ORDERS, 50), work.event("topics")))
    work.write((DeleteLog(ORDERS), work.event("topics")))
    work.write((CreateLog(ORDERS), work.append(ORDERS, 44, 44)))
    work.sync()
    work.write((work.append(ORDERS, 600), work.append(DEAD, 20)))
    work.write((DeleteLog(DEAD), DeleteLog(ORDERS)))
    work.checkpoint()
    work.create(ORDERS, DEAD)
    work.write((work.append(DEAD, 33), work.append(ORDERS, 33)))
    work.sync()
    work.write((DeleteLog(ORDERS),))
    return work


def retention() -> Workload:
    """Segments are dropped: old ones, those just written to, all of them, and the empty one that stays."""
    work = Workload("retention")
    work.create(ORDERS, DEAD)
    for _ in range(4):
        work.write((work.append(ORDERS, 300), work.append(DEAD, 200), work.event("a")))
    work.sync()
    work.checkpoint()
    work.write((work.append(ORDERS, 40), work.append(DEAD, 40)))
    bases = [segment.base_offset for segment in work.store.log(ORDERS).segments]
    work.write((DropSegments(ORDERS, (bases[0],)),))
    work.write((work.append(ORDERS, 60),))
    drop_all(work, ORDERS)
    drop_all(work, ORDERS)
    work.write((work.append(ORDERS, 60), work.append(DEAD, 10), work.event("a")))
    drop_all(work, DEAD)
    work.checkpoint()
    drop_all(work, ORDERS)
    work.write((work.append(ORDERS, 20), work.append(DEAD, 20)))
    work.sync()
    return work


def drop_all(work: Workload, log: LogId) -> None:
    work.write((DropSegments(log, tuple(segment.base_offset for segment in work.store.log(log).segments)),))


def checkpoints_beside_writes() -> Workload:
    """Writes, syncs, new and deleted logs between the steps of checkpoints, and during their syncs."""
    work = Workload("checkpoints")
    work.create(ORDERS, DEAD)
    work.write((work.append(ORDERS, 200, 100), work.event("a"), work.event("b")))
    under_way = work.begin_checkpoint()
    work.write((work.append(ORDERS, 300), work.append(DEAD, 50), work.event("a")))
    under_way.run()
    work.write((work.append(DEAD, 80), work.event("b")))
    work.store.finish_checkpoint(under_way)
    work.write((work.append(ORDERS, 30),))
    under_way = work.begin_checkpoint()
    work.write((CreateLog(AUDIT), work.append(AUDIT, 10), work.event("c")))

    def meanwhile() -> None:
        work.write((work.append(ORDERS, 400), work.append(DEAD, 400), work.event("a")))
        work.write((DeleteLog(DEAD),))
        work.write((CreateLog(DEAD), work.append(DEAD, 66)))

    work.disk.before("sync", meanwhile, matching="*.log")
    under_way.run()
    work.sync()
    work.write((work.append(DEAD, 20), work.append(AUDIT, 20)))
    work.store.finish_checkpoint(under_way)
    work.write((work.append(DEAD, 21), work.append(ORDERS, 21)))
    work.disk.before("sync", lambda: work.write((work.append(ORDERS, 22), work.event("a"))), matching="*.journal")
    work.sync()
    work.checkpoint()
    return work


def keyed(work: Workload, log: LogId, *keys: int, size: int = 130) -> None:
    work.write((work.append(log, *[size] * len(keys), keys=[b"key %d" % key for key in keys]), work.event("k", 4)))


def compaction() -> Workload:
    """Keys are compacted before, beside and after checkpoints, again and again, and segments vanish meanwhile."""
    work = Workload("compaction")
    work.create(ORDERS, DEAD)
    for turn in range(4):
        keyed(work, ORDERS, turn % 2, 2, 3)
    work.checkpoint()
    assert work.compact(ORDERS) > 0
    keyed(work, ORDERS, 1, 2, 1)
    keyed(work, ORDERS, 3)
    under_way = work.begin_checkpoint()
    keyed(work, ORDERS, 5, 6, 7)
    under_way.run()
    work.store.finish_checkpoint(under_way)
    cleaning = work.begin_compaction(ORDERS)
    keyed(work, ORDERS, 2, 2)
    under_way = work.begin_checkpoint()
    cleaning.run()
    assert work.finish_compaction(cleaning) > 0
    under_way.run()
    work.store.finish_checkpoint(under_way)
    work.sync()
    return work


def compaction_again() -> Workload:
    """A second compaction begins while the checkpoint still knows the segments from before the first."""
    work = Workload("compaction again")
    work.create(ORDERS)
    for turn in range(4):
        keyed(work, ORDERS, turn % 2, 2, 10 + turn)
    work.checkpoint()
    for turn in range(4):
        keyed(work, ORDERS, turn % 2, 20 + turn)
    cleaning = work.begin_compaction(ORDERS)
    cleaning.run()
    under_way = work.begin_checkpoint()
    assert work.finish_compaction(cleaning) > 0
    under_way.run()
    work.store.finish_checkpoint(under_way)
    work.compact_if_possible(ORDERS)
    keyed(work, ORDERS, 1, 2)
    work.checkpoint()
    assert work.compact_if_possible(ORDERS) > 0
    work.sync()
    return work


def compaction_with_indexes() -> Workload:
    """Sealed segments have index files, which must not meet the file that takes the place of theirs."""
    work = Workload("compaction with indexes", BIG)
    work.create(ORDERS)
    for turn in range(4):
        keyed(work, ORDERS, 0, 10 + turn, 20 + turn, size=1900 + turn)
    work.checkpoint()
    assert work.compact(ORDERS) > 0
    keyed(work, ORDERS, 1, size=3000)
    work.checkpoint()
    work.sync()
    return work


def compaction_of_a_new_log() -> Workload:
    """A log is deleted and made again during a checkpoint, then compacted as far as that checkpoint seems to allow."""
    work = Workload("compaction of a new log")
    work.create(ORDERS)
    for turn in range(5):
        keyed(work, ORDERS, turn % 2, 2, 10 + turn)
    under_way = work.begin_checkpoint()
    work.write((DeleteLog(ORDERS),))
    work.create(ORDERS)
    for turn in range(4):
        keyed(work, ORDERS, turn % 2, 2, 10 + turn)
    under_way.run()
    work.store.finish_checkpoint(under_way)
    work.compact_if_possible(ORDERS)
    for turn in range(4):
        keyed(work, ORDERS, turn % 2, 20 + turn)
    work.checkpoint()
    assert work.compact_if_possible(ORDERS) > 0
    return work


def restarts() -> Workload:
    """Ends in good order and killed, with and without anything unsynced, also twice in a row."""
    work = Workload("restarts")
    work.create(ORDERS, DEAD)
    work.write((work.append(ORDERS, 100), work.event("a")))
    work.restart()
    work.write((work.append(ORDERS, 40), work.append(DEAD, 300), work.event("a")))
    work.sync()
    work.write((work.append(DEAD, 500), work.event("a")))
    work.kill_and_restart()
    work.kill_and_restart()
    work.write((work.append(ORDERS, 70), work.append(DEAD, 20)))
    work.sync()
    work.write((work.append(ORDERS, 71), work.event("a")))
    work.checkpoint()
    work.kill_and_restart()
    work.write((work.append(ORDERS, 72), work.event("a")))
    work.restart()
    work.write((work.append(ORDERS, 73),))
    work.sync()
    return work


def clean_stops() -> Workload:
    """A checkpoint and nothing behind it, so that the journal is free: also twice in a row, and with a kill between."""
    work = Workload("clean stops")
    work.create(ORDERS, DEAD)
    for turn in range(3):
        work.write((work.append(ORDERS, 100 + turn), work.event("a")))
        work.sync()
        work.write((work.append(DEAD, 400), work.append(ORDERS, 300), work.event("a")))
        work.checkpoint()
        work.restart()
    work.restart()
    work.checkpoint()
    work.restart()
    work.write((work.append(ORDERS, 40), work.event("b")))
    work.sync()
    work.kill_and_restart()
    work.checkpoint()
    work.store.prepare()
    work.restart()
    work.write((work.append(DEAD, 41), work.event("a")))
    work.sync()
    work.write((work.append(DEAD, 42),))
    return work


def large_segments() -> Workload:
    """Segments with real indexes, written, sealed and read again after tails were lost."""
    work = Workload("large", BIG)
    work.create(ORDERS)
    for turn in range(4):
        work.write((work.append(ORDERS, 2500, 1200 + turn), work.event("a")))
    work.checkpoint()
    for _ in range(3):
        work.write((work.append(ORDERS, 3000),))
    work.sync()
    work.write((work.append(ORDERS, 3900),))
    work.checkpoint()
    work.restart()
    work.write((work.append(ORDERS, 4000, 4000),))
    work.sync()
    return work


ALL = {
    made.__name__: made
    for made in (
        moves_between_logs,
        rolls_and_rotations,
        logs_come_and_go,
        retention,
        checkpoints_beside_writes,
        compaction,
        compaction_again,
        compaction_with_indexes,
        compaction_of_a_new_log,
        restarts,
        clean_stops,
        large_segments,
    )
}
