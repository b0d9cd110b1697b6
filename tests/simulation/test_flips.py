"""One flipped bit costs at most the record it is in, and that one is reported."""

from collections.abc import Iterator

import pytest

from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import Log
from goqueue.model.log import Damage, LogId
from goqueue.testing import Image, Platter, SimulatedFileSystem
from goqueue.testing.power_cut import KEPT
from tests.simulation.check import Reopened, power_cut, read_all, write_on
from tests.simulation.model import Kept, LogState
from tests.simulation.workload import Workload

A, B = LogId("a", 0), LogId("b", 0)
SMALL = StoreSettings(segment_bytes=220, journal_file_bytes=1000)
INDEXED = StoreSettings(segment_bytes=20_000, journal_file_bytes=40_000)


def on_disk(work: Workload) -> Image:
    platter = Platter()
    for change in work.disk.changes:
        platter.apply(change)
    return platter.image({}, KEPT)


def flipped(image: Image, path: str, bits: range = range(1)) -> Iterator[tuple[int, Image]]:
    """The disk with one bit of a file flipped, for each byte and each of these bits; and the position of the byte.

    Of the zeros at the end of a journal file, which were never written, only the first few are flipped.
    """
    node = image.tree()[path]
    content = image.files[node]
    end = min(len(content), len(content.rstrip(b"\0")) + 50)
    for position in range(end):
        for bit in bits:
            changed = bytearray(content)
            changed[position] ^= 1 << (bit + position) % 8
            yield position, image._replace(files={**image.files, node: bytes(changed)})


def reopened_on(work: Workload, image: Image) -> Reopened:
    return Reopened(SimulatedFileSystem(image), work.settings)


@pytest.fixture(scope="module")
def checkpointed() -> tuple[Workload, Image]:
    """Two logs with sealed segments, two streams, all in a checkpoint; the journal is no longer needed."""
    work = Workload("flips", SMALL)
    work.create(A, B)
    for turn in range(4):
        work.write((work.append(A, 30 + turn, 20, keys=[b"key"]), work.append(B, 40), work.event("s"), work.event("t")))
    work.sync()
    work.checkpoint()
    assert len(work.store.log(A).segments) > 2
    return work, on_disk(work)


def damaged_log(log: Log, expected: LogState) -> tuple[list[Kept], list[Damage]]:
    """What is still read of a log, and the damage that reading it reports."""
    damage: dict[Damage, None] = {}
    offset = log.start_offset
    while offset < log.next_offset:
        chunk = log.read(offset, 1 << 16, log.next_offset)
        damage |= dict.fromkeys(chunk.damage)
        offset = max(chunk.next_offset, offset + 1)
    assert (log.start_offset, log.next_offset) == (expected.start, expected.end)
    return read_all(log), list(damage)


def files_of(image: Image, ending: str) -> list[str]:
    return sorted(path for path in image.contents() if path.endswith(ending))


@pytest.mark.parametrize(("log", "bits"), [(A, range(8)), (B, range(1))], ids=["every bit", "one bit per byte"])
def test_a_flipped_bit_in_a_log_costs_one_record_and_is_reported(
    checkpointed: tuple[Workload, Image], log: LogId, bits: range
) -> None:
    work, image = checkpointed
    expected = work.state.logs[log]
    other = B if log == A else A
    flips = 0
    for path in files_of(image, ".log"):
        if f"/{log.topic}/" not in path:
            continue
        segment = next(s for s in work.store.log(log).segments if f"{s.base_offset:020d}" in path)
        records = [record for record in expected.records if segment.base_offset <= record.offset < segment.next_offset]
        for position, damaged in flipped(image, path, bits):
            victim = record_at(records, position)
            reopened = reopened_on(work, damaged)
            left, damage = damaged_log(reopened.store.log(log), expected)
            assert tuple(left) == tuple(record for record in expected.records if record != victim)
            assert [(d.first_offset, d.last_offset, d.file) for d in damage] == [(victim.offset, victim.offset, path)]
            assert damage[0] in reopened.observer.damage
            assert tuple(read_all(reopened.store.log(other))) == work.state.logs[other].records
            assert reopened.streams == work.state.streams
            flips += 1
    assert flips == len(bits) * sum(len(record.data) for record in expected.records)


def record_at(records: list[Kept], position: int) -> Kept:
    for record in records:
        if position < len(record.data):
            return record
        position -= len(record.data)
    raise AssertionError("the file is longer than its records")


@pytest.mark.parametrize("files", ["checkpoint", "checkpoint.copy", ".snap", ".snap.copy", ".journal", "spare"])
def test_a_flipped_bit_in_any_other_file_costs_nothing(checkpointed: tuple[Workload, Image], files: str) -> None:
    work, image = checkpointed
    paths = [path for path in image.contents() if path.endswith(files) or f"/{files}-" in path]
    assert paths
    for path in paths:
        for _, damaged in flipped(image, path):
            reopened_on(work, damaged).is_exactly(work.state)


def test_a_flipped_bit_in_an_index_costs_nothing() -> None:
    work = Workload("index flips", INDEXED)
    work.create(A)
    for turn in range(12):
        work.write((work.append(A, 3300 - turn, 100),))
    work.sync()
    work.checkpoint()
    image = on_disk(work)
    paths = files_of(image, "index")
    assert len(paths) >= 2
    for path in paths:
        assert len(image.contents()[path]) >= 4 * 16
        for _, damaged in flipped(image, path):
            reopened_on(work, damaged).is_exactly(work.state, each_offset=True)


# The journal, before a checkpoint has made it superfluous.


@pytest.fixture(scope="module")
def journaled() -> tuple[Workload, Image]:
    """Everything is in the journal only, over several files; each entry was synced before the next, but two."""
    work = Workload("journal flips", SMALL)
    work.create(A, B)
    work.sync()
    for turn in range(3):
        work.write((work.append(A, 30 + turn), work.append(B, 20), work.event("s")))
        work.sync()
        work.write((work.event("t"),), (work.append(A, 90), work.event("s")))
        work.sync()
    work.write((work.append(B, 10), work.event("t")))
    work.sync()
    return work, on_disk(work)


def test_a_flipped_bit_in_the_journal_costs_no_record_and_only_the_events_of_its_entry(
    journaled: tuple[Workload, Image],
) -> None:
    """All but the last entry: no later one vouches for it, so damage to it cannot be told from a torn write."""
    work, image = journaled
    last = len(work.states) - 1
    seen = set()
    for path in files_of(image, ".journal"):
        for _, damaged in flipped(image, path):
            reopened = reopened_on(work, damaged)
            if reopened.store.written_lsn < last:
                assert reopened.store.written_lsn == last - 1
                reopened.is_exactly(work.states[last - 1])
                seen.add("tail")
                continue
            for log, expected in work.state.logs.items():
                assert tuple(read_all(reopened.store.log(log))) == expected.records
            assert reopened.observer.damage == []
            lost = lost_events(work, reopened.streams)
            assert len(lost) <= 1
            reported = sum(entries for _, entries in reopened.observer.journal_damage)
            assert reported == 1 if lost else reported <= 1
            seen.add("middle" if reported else "unharmed")
    assert seen == {"tail", "middle", "unharmed"}


def lost_events(work: Workload, streams: dict[str, tuple[bytes, ...]]) -> list[bytes]:
    lost = []
    for stream, events in work.state.streams.items():
        assert [event for event in events if event in streams[stream]] == list(streams[stream])
        lost += [event for event in events if event not in streams[stream]]
    return lost


def test_after_a_flipped_bit_in_the_journal_writing_goes_on(journaled: tuple[Workload, Image]) -> None:
    work, image = journaled
    for _, damaged in list(flipped(image, files_of(image, ".journal")[0]))[::7]:
        disk = SimulatedFileSystem(damaged)
        reopened = Reopened(disk, work.settings)
        written = write_on(reopened.store, work.state._replace(streams=reopened.streams))
        again = Reopened(power_cut(damaged, disk.changes), work.settings, "again")
        for log, expected in written.logs.items():
            assert tuple(read_all(again.store.log(log))) == expected.records
