"""What every storage promises: the data folder and its twin in memory answer alike."""

import sys
import threading
from array import array

import pytest

from goqueue import codec
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.ports import (
    AppendRecords,
    CompactionPolicy,
    CreateLog,
    DeleteLog,
    DropSegments,
    StateEvent,
)
from goqueue.errors import DataFolderInUse, LogExists, RecordTooLarge, StorageBusy, UnknownLog
from goqueue.model.log import LogId
from goqueue.model.record import Record
from tests.unit.disk.making import (
    KIB,
    MIB,
    RECORD_BYTES,
    STEP_NS,
    UNLIMITED,
    A,
    B,
    DiskDriver,
    Driver,
    numbered,
    read_on,
    stamped,
    time_of,
)


@pytest.fixture(params=["disk", "memory"])
def driver(request, tmp_path):
    if request.param == "disk":
        made = DiskDriver(tmp_path / "data")
    else:
        disk = MemoryDisk()
        made = Driver(lambda: MemoryStore(disk, segment_bytes=4 * KIB))
    yield made
    made.store.close()


def keyed(key: bytes, value: bytes | None = b"v") -> Record:
    """A record of about a third of a segment, so that a handful of them fills several."""
    return Record(value=None if value is None else value.ljust(1200), key=key)


def keys_and_offsets(driver: Driver) -> list[tuple[bytes | None, int]]:
    return [(record.key, record.offset) for record in driver.records()]


# --- creating, appending, reading back


def test_a_new_place_is_empty(driver):
    assert driver.store.logs() == ()
    assert driver.recovered.snapshots == {}
    assert driver.recovered.events == []
    assert driver.store.written_lsn == 0


def test_a_created_log_is_empty_and_begins_at_zero(driver):
    driver.create(A)
    log = driver.log()
    assert driver.store.logs() == (A,)
    assert (log.start_offset, log.next_offset, log.size, log.failure) == (0, 0, 0, None)
    assert driver.chunks() == []
    assert log.offset_at(0, UNLIMITED) is None


def test_what_is_appended_is_read_back_unchanged(driver):
    records = [
        Record(value=b"plain"),
        Record(value=b"", key=b"", headers=(("a", b"1"), ("a", b"2")), priority=0),
        Record(value=None, key=b"gone"),
        Record(value=bytes(range(256)), key=b"k" * 300, timestamp_ns=7),
    ]
    driver.create(A)
    driver.append(records)
    (chunk,) = driver.chunks()
    assert bytes(chunk.records) == stamped(0, records)
    assert (chunk.first_offset, chunk.next_offset, chunk.damage) == (0, 4, ())


def test_appends_go_on_where_the_last_one_ended(driver):
    driver.create(A)
    driver.fill(5)
    log = driver.log()
    assert (log.start_offset, log.next_offset, log.size) == (0, 50, 50 * RECORD_BYTES)
    assert driver.offsets() == list(range(50))


def test_the_same_is_there_after_reopening(driver):
    driver.create(A, B)
    driver.fill(10)
    driver.fill(2, log=B)
    before = [bytes(chunk.records) for chunk in driver.chunks()]
    segments = driver.log().segments
    driver.reopen()
    assert set(driver.store.logs()) == {A, B}
    assert b"".join(bytes(chunk.records) for chunk in driver.chunks()) == b"".join(before)
    assert driver.log().segments == segments
    assert driver.offsets(B) == list(range(20))
    driver.fill(1)
    assert driver.offsets() == list(range(110))


def test_the_same_is_there_after_a_checkpoint_and_reopening(driver):
    driver.create(A)
    driver.fill(4)
    driver.checkpoint()
    driver.fill(4)
    driver.reopen()
    assert driver.offsets() == list(range(80))


def test_the_buffer_given_to_an_append_may_be_used_again(driver):
    driver.create(A)
    buffer = bytearray(stamped(0, numbered(0, 3)))
    wanted = bytes(buffer)
    driver.do(AppendRecords(A, memoryview(buffer), 3))
    buffer[:] = bytes(len(buffer))
    assert bytes(driver.log().read(0, MIB, UNLIMITED).records) == wanted


def test_a_log_is_split_into_segments_without_a_gap(driver):
    driver.create(A)
    driver.fill(12)
    segments = driver.log().segments
    assert len(segments) >= 4
    assert segments[0].base_offset == 0
    assert [s.next_offset for s in segments[:-1]] == [s.base_offset for s in segments[1:]]
    assert segments[-1].next_offset == 120
    assert all(0 < s.size <= 4 * KIB for s in segments)
    assert [s.max_timestamp_ns for s in segments] == [time_of(s.next_offset - 1) for s in segments]


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(driver):
    driver.create(A)
    driver.fill(1)
    driver.fill(1, per_batch=60)
    driver.fill(1)
    assert driver.bases() == (0, 10, 70)
    assert driver.offsets() == list(range(80))


# --- reading


def test_reading_begins_at_any_offset(driver):
    driver.create(A)
    driver.fill(12)
    for start in range(121):
        chunk = driver.log().read(start, MIB, UNLIMITED)
        assert chunk.first_offset == start
        assert driver.offsets(start=start) == list(range(start, 120))


def test_reading_goes_on_at_next_offset_across_segments(driver):
    driver.create(A)
    driver.fill(12)
    chunks = driver.chunks(max_bytes=1000)
    assert [chunk.next_offset for chunk in chunks[:-1]] == [chunk.first_offset for chunk in chunks[1:]]
    assert driver.offsets(max_bytes=1000) == list(range(120))


@pytest.mark.parametrize("max_bytes", [RECORD_BYTES, 3 * RECORD_BYTES - 1, 1000, 4 * KIB, 64 * KIB])
def test_a_read_gives_no_more_than_max_bytes(driver, max_bytes):
    driver.create(A)
    driver.fill(12)
    for start in (0, 1, 29, 30, 31, 77, 119):
        records = driver.log().read(start, max_bytes, UNLIMITED).records
        assert RECORD_BYTES <= len(records) <= max_bytes


def test_a_peek_has_the_records_from_an_offset_on_behind_a_few_before_it(driver):
    driver.create(A)
    driver.fill(12)
    segments = driver.log().segments
    for offset in (0, 7, segments[1].base_offset, segments[1].base_offset + 3, 119):
        end = next(one.next_offset for one in segments if one.next_offset > offset)
        wanted = array("q", range(offset, min(end, offset + 5)))
        records, found = codec.pick(driver.log().peek(offset, RECORD_BYTES * len(wanted)), wanted.tobytes())
        assert found == wanted.tobytes()
        assert [one.value for one in codec.decode(records)] == [one.value for one in numbered(offset, len(wanted))]


def test_a_peek_beyond_the_end_or_into_nothing_has_nothing_of_what_is_looked_for(driver):
    driver.create(A)
    assert driver.log().peek(0, 100) == b""
    driver.append(numbered(0, 3))
    assert codec.pick(driver.log().peek(3, 100), array("q", [3]).tobytes()) == (b"", b"")


@pytest.mark.parametrize("max_bytes", [0, 1, 33, 34, RECORD_BYTES - 1])
def test_a_read_gives_at_least_one_record_even_if_it_is_larger_than_max_bytes(driver, max_bytes):
    driver.create(A)
    driver.fill(12)
    for start in (0, 1, 29, 30, 77, 119):
        chunk = driver.log().read(start, max_bytes, UNLIMITED)
        assert [record.offset for record in codec.decode(chunk.records)] == [start]
        assert (chunk.first_offset, chunk.next_offset, chunk.damage) == (start, start + 1, ())


def test_a_record_of_several_megabytes_is_read_whole(driver):
    driver.create(A)
    driver.append([Record(value=b"before")])
    driver.append([Record(value=b"x" * (3 * MIB))])
    driver.append([Record(value=b"after")])
    assert [len(record.value) for record in driver.records(max_bytes=KIB)] == [6, 3 * MIB, 5]


def test_no_record_at_or_above_the_limit_is_read(driver):
    driver.create(A)
    driver.fill(12)
    for limit in (0, 1, 10, 29, 30, 31, 100, 119, 120, 500):
        assert driver.offsets(limit_offset=limit) == list(range(min(limit, 120)))
        assert driver.offsets(start=25, limit_offset=limit) == list(range(25, min(limit, 120)))


def test_a_read_at_or_beyond_the_end_gives_nothing_and_stays_there(driver):
    driver.create(A)
    driver.fill(4)
    for start in (40, 41, 1000):
        chunk = driver.log().read(start, MIB, UNLIMITED)
        assert (bytes(chunk.records), chunk.next_offset, chunk.damage) == (b"", start, ())


def test_a_read_at_the_limit_stays_there(driver):
    driver.create(A)
    driver.fill(4)
    chunk = driver.log().read(17, MIB, 17)
    assert (bytes(chunk.records), chunk.next_offset) == (b"", 17)


# --- seeking by time


def test_a_time_finds_the_first_record_that_is_not_older(driver):
    driver.create(A)
    driver.fill(12)
    log = driver.log()
    assert log.offset_at(0, UNLIMITED) == 0
    assert log.offset_at(time_of(0), UNLIMITED) == 0
    for offset in range(1, 120):
        assert log.offset_at(time_of(offset), UNLIMITED) == offset
        assert log.offset_at(time_of(offset) - STEP_NS + 1, UNLIMITED) == offset
    assert log.offset_at(time_of(119) + 1, UNLIMITED) is None


def test_of_records_with_the_same_time_the_first_is_found(driver):
    driver.create(A)
    driver.append([Record(value=bytes(100), timestamp_ns=1000 + n // 50) for n in range(200)])
    assert [driver.log().offset_at(1000 + n, UNLIMITED) for n in range(5)] == [0, 50, 100, 150, None]


def test_times_out_of_order_still_find_the_first_record_that_is_not_older(driver):
    driver.create(A)
    times = [1000 + (n * 37) % 101 for n in range(120)]
    for first in range(0, 120, 10):
        driver.append([Record(value=bytes(100), timestamp_ns=time) for time in times[first : first + 10]])
    for wanted in range(990, 1110):
        found = next((offset for offset, time in enumerate(times) if time >= wanted), None)
        assert driver.log().offset_at(wanted, UNLIMITED) == found


def test_a_time_finds_nothing_at_or_above_the_limit(driver):
    driver.create(A)
    driver.fill(12)
    assert driver.log().offset_at(time_of(50), 51) == 50
    assert driver.log().offset_at(time_of(50), 50) is None
    assert driver.log().offset_at(0, 0) is None


def test_times_are_found_after_reopening(driver):
    driver.create(A)
    driver.fill(6)
    driver.checkpoint()
    driver.fill(6)
    driver.reopen()
    for offset in range(0, 120, 7):
        assert driver.log().offset_at(time_of(offset), UNLIMITED) == offset


# --- logs come and go


def test_a_log_that_is_not_there_is_unknown(driver):
    with pytest.raises(UnknownLog, match="orders/0"):
        driver.log()
    with pytest.raises(UnknownLog):
        driver.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))
    assert isinstance(driver.write(AppendRecords(A, stamped(0, numbered(0, 1)), 1)), UnknownLog)
    assert isinstance(driver.write(DeleteLog(A)), UnknownLog)
    assert isinstance(driver.write(DropSegments(A, (0,))), UnknownLog)
    driver.reopen()
    assert driver.store.logs() == ()


def test_a_log_that_exists_is_not_created_again(driver):
    driver.create(A)
    driver.fill(1)
    assert isinstance(driver.write(CreateLog(A)), LogExists)
    assert driver.offsets() == list(range(10))


def test_one_entry_does_not_create_a_log_twice(driver):
    assert isinstance(driver.write(CreateLog(A), CreateLog(A)), LogExists)
    assert driver.store.logs() == ()


def test_one_entry_does_not_delete_a_log_twice(driver):
    driver.create(A)
    driver.fill(1)
    assert isinstance(driver.write(DeleteLog(A), DeleteLog(A)), UnknownLog)
    assert isinstance(driver.write(DeleteLog(A), DropSegments(A, (0,))), UnknownLog)
    driver.reopen()
    assert driver.offsets() == list(range(10))


def test_a_deleted_log_is_gone_also_after_reopening(driver):
    driver.create(A, B)
    driver.fill(4)
    driver.do(DeleteLog(A))
    for _ in range(2):
        assert driver.store.logs() == (B,)
        with pytest.raises(UnknownLog):
            driver.log()
        driver.reopen()


def test_a_log_written_to_after_the_checkpoint_and_then_deleted_is_gone_after_reopening(driver):
    driver.create(A)
    driver.fill(2)
    driver.checkpoint()
    driver.fill(2)
    driver.do(DeleteLog(A))
    driver.reopen()
    assert driver.store.logs() == ()


def test_who_still_holds_a_deleted_log_reads_nothing(driver):
    driver.create(A)
    driver.fill(4)
    log = driver.log()
    driver.do(DeleteLog(A))
    chunk = log.read(0, MIB, UNLIMITED)
    assert (bytes(chunk.records), chunk.damage) == (b"", ())
    assert log.offset_at(0, UNLIMITED) is None


def test_a_log_deleted_and_created_again_begins_at_zero(driver):
    driver.create(A)
    driver.fill(8)
    driver.checkpoint()
    driver.do(DeleteLog(A))
    driver.create(A)
    assert (driver.log().next_offset, driver.chunks()) == (0, [])
    driver.append([Record(value=b"new")])
    for _ in range(2):
        assert [record.value for record in driver.records()] == [b"new"]
        driver.reopen()


def test_a_log_may_be_created_and_filled_in_one_entry(driver):
    driver.do(CreateLog(A), AppendRecords(A, stamped(0, numbered(0, 5)), 5))
    driver.reopen()
    assert driver.offsets() == list(range(5))


def test_many_logs_are_kept_apart(driver):
    logs = [LogId(f"topic-{n % 5}", n // 5) for n in range(40)]
    driver.create(*logs)
    for n, log in enumerate(logs):
        driver.append([Record(value=b"%d" % n)] * (n + 1), log)
    driver.reopen()
    for n, log in enumerate(logs):
        assert [record.value for record in driver.records(log)] == [b"%d" % n] * (n + 1)


# --- what is refused changes nothing


@pytest.mark.parametrize("base", [0, 9, 11, 1000])
def test_an_append_with_a_wrong_base_offset_is_refused_and_changes_nothing(driver, base):
    driver.create(A)
    driver.fill(1)
    lsn = driver.store.written_lsn
    refusal = driver.write(AppendRecords(A, stamped(base, numbered(base, 3)), base + 3))
    # As after one that was refused for now: whoever sent it may send it again.
    assert isinstance(refusal, StorageBusy)
    assert refusal.is_passing
    assert (driver.store.written_lsn, driver.log().failure) == (lsn, None)
    driver.fill(1)
    driver.reopen()
    assert driver.offsets() == list(range(20))


def test_a_wrong_base_offset_is_refused_for_a_log_created_in_the_same_entry_too(driver):
    refusal = driver.write(CreateLog(A), AppendRecords(A, stamped(5, numbered(5, 1)), 6))
    assert isinstance(refusal, StorageBusy)
    assert driver.store.logs() == ()


def test_one_entry_may_append_to_a_log_twice(driver):
    driver.create(A)
    first, second = stamped(0, numbered(0, 3)), stamped(3, numbered(3, 2))
    driver.do(AppendRecords(A, first, 3), AppendRecords(A, second, 5))
    assert isinstance(driver.write(AppendRecords(A, stamped(5, numbered(5, 1)), 6), AppendRecords(A, second, 7)),
                      StorageBusy)  # fmt: skip
    driver.reopen()
    assert driver.offsets() == list(range(5))


def test_an_entry_over_the_limit_is_refused_with_the_limit_named(driver):
    driver.create(A)
    refusal = driver.write(StateEvent("s", bytes(24 * MIB + 1)))
    assert isinstance(refusal, RecordTooLarge)
    assert str(24 * MIB) in refusal.message
    assert refusal.hint
    driver.fill(1)
    driver.reopen()
    assert driver.recovered.events == []
    assert driver.offsets() == list(range(10))


def test_the_largest_record_is_not_over_the_limit(driver):
    largest = Record(value=b"x" * codec.MAX_VALUE, key=b"k" * codec.MAX_KEY, headers=(("h", bytes(65_528)),))
    driver.create(A)
    driver.append([largest])
    driver.reopen()
    assert driver.records(max_bytes=1)[0].value == largest.value


@pytest.mark.parametrize(
    "bad",
    [
        AppendRecords(LogId("nowhere", 0), stamped(0, numbered(0, 1)), 1),
        AppendRecords(A, stamped(3, numbered(3, 1)), 4),
        CreateLog(A),
        DeleteLog(LogId("nowhere", 0)),
        DropSegments(LogId("nowhere", 0), (0,)),
        StateEvent("s", bytes(25 * MIB)),
    ],
    ids=["unknown", "base", "exists", "delete", "drop", "size"],
)
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_one_refused_operation_refuses_the_whole_entry(driver, bad, place):
    driver.create(A)
    driver.fill(1)
    lsn = driver.store.written_lsn
    operations = [
        StateEvent("s", b"never"),
        AppendRecords(A, stamped(10, numbered(10, 2)), 12),
        CreateLog(B),
    ]
    assert driver.write(*operations[:place], bad, *operations[place:]) is not None
    for _ in range(2):
        assert driver.offsets() == list(range(10))
        assert driver.store.logs() == (A,)
        assert driver.store.written_lsn == lsn
        driver.reopen()
        assert driver.recovered.events == []


def test_a_refused_entry_does_not_hinder_the_others_of_the_same_write(driver):
    driver.create(A)
    outcomes = driver.store.write(
        [
            (AppendRecords(A, stamped(0, numbered(0, 2)), 2),),
            (AppendRecords(B, stamped(0, numbered(0, 2)), 2),),
            (CreateLog(B), StateEvent("s", b"1")),
            (AppendRecords(A, stamped(2, numbered(2, 2)), 4), AppendRecords(B, stamped(0, numbered(0, 1)), 1)),
            (DropSegments(B, (77,)), StateEvent("s", b"2")),
            (CreateLog(B), StateEvent("s", b"3")),
            (AppendRecords(A, stamped(4, numbered(4, 1)), 5),),
        ]
    )
    assert [type(outcome) for outcome in outcomes] == [
        type(None), UnknownLog, type(None), type(None), type(None), LogExists, type(None),
    ]  # fmt: skip
    for _ in range(2):
        assert (driver.offsets(), driver.offsets(B)) == ([0, 1, 2, 3, 4], [0])
        driver.reopen()
        assert driver.recovered.events == [("s", b"1"), ("s", b"2")]


# --- sequence numbers


def test_every_accepted_entry_counts_as_one(driver):
    driver.create(A)
    driver.store.write([(StateEvent("s", b"1"), StateEvent("s", b"2")), (CreateLog(A),), (StateEvent("s", b"3"),)])
    assert driver.store.written_lsn == 3
    assert driver.store.sync() == 3
    driver.reopen()
    assert driver.store.written_lsn == 3
    driver.do(StateEvent("s", b"4"))
    assert driver.store.sync() == 4


def test_to_begin_with_a_sync_promises_nothing_and_harms_nothing(driver):
    driver.store.begin_sync()
    driver.do(StateEvent("s", b"1"))
    driver.store.begin_sync()
    driver.store.begin_sync()
    driver.do(StateEvent("s", b"2"))
    assert driver.store.sync() == 2
    driver.store.begin_sync()
    driver.reopen()
    assert driver.store.written_lsn == 2


def test_counting_goes_on_after_a_checkpoint_and_reopening(driver):
    for n in range(5):
        driver.do(StateEvent("s", b"%d" % n))
    driver.checkpoint()
    driver.reopen()
    assert driver.store.written_lsn == 5


# --- forgetting segments


def test_dropped_segments_are_gone_and_the_rest_stays(driver):
    driver.create(A)
    driver.fill(12)
    first, second, third, *_ = driver.bases()
    driver.drop(first, second)
    for _ in range(2):
        assert driver.log().start_offset == third
        assert driver.offsets() == list(range(third, 120))
        assert driver.log().read(0, MIB, UNLIMITED).first_offset == third
        assert driver.log().offset_at(0, UNLIMITED) == third
        driver.reopen()


def test_dropping_every_segment_keeps_the_end(driver):
    driver.create(A)
    driver.fill(12)
    driver.drop(*driver.bases())
    for _ in range(2):
        log = driver.log()
        assert (log.start_offset, log.next_offset, log.size) == (120, 120, 0)
        assert driver.chunks() == []
        assert log.offset_at(0, UNLIMITED) is None
        driver.reopen()
    driver.fill(1)
    assert driver.offsets() == list(range(120, 130))


def test_dropping_an_empty_log_again_keeps_the_end(driver):
    driver.create(A)
    driver.fill(4)
    for _ in range(3):
        driver.drop(*driver.bases())
        assert driver.log().next_offset == 40
    driver.reopen()
    driver.fill(1)
    assert driver.offsets() == list(range(40, 50))


def test_a_segment_written_to_after_the_checkpoint_may_be_dropped_before_reopening(driver):
    driver.create(A)
    driver.fill(1)
    driver.checkpoint()
    driver.fill(1)
    driver.drop(0)
    driver.fill(1)
    driver.reopen()
    assert driver.log().start_offset == 20
    assert driver.offsets() == list(range(20, 30))


def test_a_segment_dropped_from_the_middle_is_read_over(driver):
    driver.create(A)
    driver.fill(12)
    bases = driver.bases()
    driver.drop(bases[1])
    for _ in range(2):
        assert driver.offsets() == [*range(bases[1]), *range(bases[2], 120)]
        assert driver.log().read(bases[1] + 1, MIB, UNLIMITED).first_offset == bases[2]
        driver.reopen()


def test_a_log_without_segments_has_none_to_drop(driver):
    driver.create(A)
    driver.drop(0)
    for _ in range(2):
        assert driver.log().next_offset == 0
        driver.reopen()


def test_segments_dropped_of_a_log_that_is_deleted_later_do_no_harm(driver):
    driver.create(A)
    driver.fill(12)
    driver.checkpoint()
    driver.fill(4)
    driver.drop(*driver.bases())
    driver.fill(4)
    driver.drop(*driver.bases())
    driver.do(DeleteLog(A))
    driver.reopen()
    assert driver.store.logs() == ()


def test_dropping_what_is_not_there_changes_nothing(driver):
    driver.create(A)
    driver.fill(4)
    segments = driver.log().segments
    driver.drop(7, 1000)
    assert driver.log().segments == segments


# --- compaction


def test_compaction_keeps_the_newest_record_of_each_key(driver):
    driver.create(A)
    for n in range(30):
        driver.append([keyed(b"k%d" % (n % 4), b"%d" % n)])
    sealed = driver.log().segments[-1].base_offset
    size = driver.log().size
    assert driver.compact()
    for _ in range(2):
        kept = keys_and_offsets(driver)
        newest = {b"k%d" % (n % 4): n for n in range(sealed)}
        assert [pair for pair in kept if pair[1] < sealed] == sorted(newest.items(), key=lambda pair: pair[1])
        assert [offset for _, offset in kept if offset >= sealed] == list(range(sealed, 30))
        assert driver.log().size < size / 2
        driver.reopen()


def test_compaction_keeps_records_without_a_key_and_takes_an_empty_key_for_a_key(driver):
    driver.create(A)
    for _ in range(8):
        driver.append([Record(value=b"no key".ljust(600)), keyed(b"", b"empty key")])
    sealed = driver.log().segments[-1].base_offset
    assert driver.compact()
    kept = [record for record in driver.records() if record.offset < sealed]
    assert [record.offset for record in kept if record.key is None] == list(range(0, sealed, 2))
    assert len([record for record in kept if record.key == b""]) == 1


def test_compaction_keeps_offsets_and_the_ends_of_the_log(driver):
    driver.create(A)
    for n in range(30):
        driver.append([keyed(b"same", b"%d" % n)])
    driver.compact()
    for _ in range(2):
        log = driver.log()
        assert (log.start_offset, log.next_offset) == (0, 30)
        assert all(record.value.strip() == b"%d" % record.offset for record in driver.records())
        driver.reopen()
    driver.append([keyed(b"same")])
    assert driver.offsets()[-1] == 30


def test_reading_steps_over_the_gaps_that_compaction_leaves(driver):
    driver.create(A)
    for n in range(40):
        driver.append([keyed(b"rare" if n == 3 else b"often", b"%d" % n)])
    driver.compact()
    offsets = driver.offsets()
    assert len(offsets) < 10
    for start in range(41):
        rest = [offset for offset in offsets if offset >= start]
        assert driver.offsets(start=start, max_bytes=1) == rest
        if rest:
            assert driver.log().read(start, MIB, UNLIMITED).first_offset == rest[0]
            assert driver.log().offset_at(time_of(start), UNLIMITED) == rest[0]
    assert all(chunk.damage == () for chunk in driver.chunks())


def test_compaction_touches_nothing_at_or_above_its_limit(driver):
    driver.create(A)
    for n in range(30):
        driver.append([keyed(b"same", b"%d" % n)])
    limit = driver.bases()[4]
    assert driver.compact(limit_offset=limit)
    assert driver.offsets() == [limit - 1, *range(limit, 30)]


def test_a_log_without_a_sealed_segment_has_nothing_to_compact(driver):
    driver.create(A)
    assert not driver.compact()
    driver.append([keyed(b"a"), keyed(b"a")])
    assert not driver.compact()
    assert driver.offsets() == [0, 1]


def test_compaction_may_be_repeated_as_the_log_grows(driver):
    driver.create(A)
    for round_number in range(6):
        for n in range(12):
            driver.append([keyed(b"k%d" % (n % 3), b"%d" % round_number)])
        driver.compact()
        sealed = driver.log().segments[-1].base_offset
        assert len([offset for offset in driver.offsets() if offset < sealed]) == 3
    driver.reopen()
    assert len([offset for offset in driver.offsets() if offset < sealed]) == 3
    assert driver.log().next_offset == 72


def test_a_tombstone_stays_until_its_time_and_goes_after(driver):
    driver.create(A)
    driver.append([keyed(b"a"), keyed(b"b")])
    driver.append([keyed(b"a", None)])
    for n in range(12):
        driver.append([keyed(b"other", b"%d" % n)])
    driver.compact(drop_tombstones_before_ns=time_of(2))
    assert keys_and_offsets(driver)[:2] == [(b"b", 1), (b"a", 2)], "the value goes, its tombstone stays"
    driver.compact(drop_tombstones_before_ns=time_of(15))
    for _ in range(2):
        assert b"a" not in [key for key, _ in keys_and_offsets(driver)]
        assert keys_and_offsets(driver)[0] == (b"b", 1)
        driver.reopen()


def test_an_expired_tombstone_takes_its_older_values_with_it(driver):
    driver.create(A)
    for _ in range(5):
        driver.append([keyed(b"a")])
    driver.append([keyed(b"a", None)])
    for _ in range(8):
        driver.append([keyed(b"other")])
    driver.compact(drop_tombstones_before_ns=time_of(100))
    assert b"a" not in [key for key, _ in keys_and_offsets(driver)]


def test_a_key_written_again_after_its_tombstone_stays(driver):
    driver.create(A)
    driver.append([keyed(b"a", b"1")])
    driver.append([keyed(b"a", None)])
    driver.append([keyed(b"a", b"2")])
    for _ in range(8):
        driver.append([keyed(b"other")])
    driver.compact(drop_tombstones_before_ns=time_of(100))
    assert keys_and_offsets(driver)[0] == (b"a", 2)


def test_a_whole_log_may_be_compacted_away(driver):
    driver.create(A)
    for _ in range(20):
        driver.append([keyed(b"a", None)] * 20)
    driver.compact(drop_tombstones_before_ns=time_of(10_000))
    sealed = driver.log().segments[-1].base_offset
    for _ in range(2):
        assert driver.offsets()[0] == sealed
        assert driver.log().read(0, MIB, UNLIMITED).first_offset == sealed
        driver.reopen()


def test_appends_go_on_while_a_compaction_runs(driver):
    driver.create(A)
    for n in range(20):
        driver.append([keyed(b"same", b"%d" % n)])
    driver.checkpoint()
    work = driver.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))
    driver.append([keyed(b"same", b"20")])
    work.run()
    driver.append([keyed(b"same", b"21")])
    driver.store.finish_compaction(work)
    driver.append([keyed(b"same", b"22")])
    for _ in range(2):
        assert driver.offsets()[-3:] == [20, 21, 22]
        assert len(driver.offsets()) < 10
        driver.reopen()


@pytest.mark.parametrize("moment", ["before it runs", "after it ran"])
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "created again"])
def test_a_log_may_be_deleted_while_a_compaction_runs(driver, moment, again):
    driver.create(A)
    for n in range(20):
        driver.append([keyed(b"same", b"%d" % n)])
    driver.checkpoint()
    work = driver.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))
    if moment == "after it ran":
        work.run()
    driver.do(DeleteLog(A))
    if again:
        driver.create(A)
        for _ in range(8):
            driver.append([keyed(b"new")])
    if moment == "before it runs":
        work.run()
    driver.store.finish_compaction(work)
    for _ in range(2):
        assert driver.store.logs() == ((A,) if again else ())
        if again:
            assert keys_and_offsets(driver) == [(b"new", offset) for offset in range(8)]
        driver.reopen()


@pytest.mark.parametrize("moment", ["before it runs", "after it ran"])
@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_segments_may_be_dropped_while_a_compaction_runs(driver, moment, which):
    driver.create(A)
    for n in range(24):
        driver.append([keyed(b"same" if n % 3 and n < 15 else b"%d" % n)])
    driver.compact()
    for n in range(24, 30):
        driver.append([keyed(b"%d" % n)])
    driver.checkpoint()
    # The first compaction has left segments of one record, so that this one puts several of them together.
    work = driver.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))
    gone = driver.log().segments[which]
    kept = [n for n in driver.offsets() if not gone.base_offset <= n < gone.next_offset]
    if moment == "after it ran":
        work.run()
    driver.drop(gone.base_offset)
    if moment == "before it runs":
        work.run()
    driver.store.finish_compaction(work)
    for _ in range(2):
        assert driver.offsets() == kept
        driver.reopen()


def test_compacted_segments_may_be_dropped_before_the_next_checkpoint(driver):
    driver.create(A)
    for n in range(20):
        driver.append([keyed(b"same", b"%d" % n)])
    driver.compact()
    driver.drop(driver.bases()[0])
    kept = driver.offsets()
    driver.reopen()
    assert driver.offsets() == kept


def test_a_compacted_log_may_be_deleted_before_the_next_checkpoint(driver):
    driver.create(A)
    for n in range(20):
        driver.append([keyed(b"same", b"%d" % n)])
    driver.compact()
    driver.do(DeleteLog(A))
    driver.reopen()
    assert driver.store.logs() == ()


# --- state


def test_events_come_back_in_order_and_once(driver):
    written = [("a", b"1"), ("b", b"2"), ("a", b"3"), ("a", b""), ("b", bytes(100_000))]
    for stream, payload in written:
        driver.do(StateEvent(stream, payload))
    for _ in range(3):
        driver.reopen()
        assert driver.recovered.events == written
        assert driver.recovered.snapshots == {}


def test_after_a_checkpoint_the_snapshot_comes_back_with_later_events_only(driver):
    driver.do(StateEvent("s", b"1"), StateEvent("s", b"2"))
    driver.checkpoint({"s": b"1+2"})
    driver.do(StateEvent("s", b"3"))
    driver.do(StateEvent("s", b"4"))
    for _ in range(2):
        driver.reopen()
        assert driver.recovered.snapshots == {"s": b"1+2"}
        assert driver.recovered.events == [("s", b"3"), ("s", b"4")]


def test_events_written_while_a_checkpoint_runs_belong_to_the_next_one(driver):
    driver.do(StateEvent("s", b"1"))
    work = driver.store.begin_checkpoint({"s": b"1"})
    driver.do(StateEvent("s", b"2"))
    work.run()
    driver.do(StateEvent("s", b"3"))
    driver.store.finish_checkpoint(work)
    driver.do(StateEvent("s", b"4"))
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"1"}
    assert driver.recovered.events == [("s", b"2"), ("s", b"3"), ("s", b"4")]


def test_a_checkpoint_that_never_ran_changes_nothing(driver):
    driver.do(StateEvent("s", b"1"))
    driver.store.begin_checkpoint({"s": b"1"})
    driver.do(StateEvent("s", b"2"))
    driver.reopen()
    assert driver.recovered.snapshots == {}
    assert driver.recovered.events == [("s", b"1"), ("s", b"2")]


def test_a_checkpoint_that_ran_counts_even_if_it_was_not_finished(driver):
    driver.do(StateEvent("s", b"1"))
    work = driver.store.begin_checkpoint({"s": b"1"})
    driver.do(StateEvent("s", b"2"))
    work.run()
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"1"}
    assert driver.recovered.events == [("s", b"2")]


def test_a_checkpoint_replaces_the_snapshots_it_has_and_keeps_the_others(driver):
    driver.checkpoint({"a": b"a1", "b": b"b1"})
    driver.do(StateEvent("a", b"x"))
    driver.checkpoint({"a": b"a2", "c": b""})
    driver.reopen()
    assert driver.recovered.snapshots == {"a": b"a2", "b": b"b1", "c": b""}
    assert driver.recovered.events == []


def test_a_stream_that_is_gone_leaves_no_snapshot(driver):
    driver.checkpoint({"a": b"a1", "b": b"b1"})
    driver.checkpoint({"a": None, "never there": None})
    for _ in range(2):
        driver.reopen()
        assert driver.recovered.snapshots == {"b": b"b1"}
    driver.checkpoint({"a": b"a2"})
    driver.reopen()
    assert driver.recovered.snapshots == {"a": b"a2", "b": b"b1"}


def test_stream_names_may_be_any_text(driver):
    names = ["", "../../esc", "a/b", "é😀", "x" * 200, "nul\0"]
    driver.checkpoint({name: name.encode() for name in names})
    for name in names:
        driver.do(StateEvent(name, b"later"))
    driver.reopen()
    assert driver.recovered.snapshots == {name: name.encode() for name in names}
    assert driver.recovered.events == [(name, b"later") for name in names]


def test_records_and_events_of_one_entry_come_back_together(driver):
    driver.create(A)
    for n in range(5):
        driver.do(AppendRecords(A, stamped(n, numbered(n, 1)), n + 1), StateEvent("s", b"%d" % n))
    driver.reopen()
    assert len(driver.offsets()) == len(driver.recovered.events) == 5


# --- checkpoints


def test_a_checkpoint_bounds_the_journal(driver):
    for _ in range(3):
        for _ in range(10):
            driver.do(StateEvent("s", bytes(MIB // 2)))
        assert driver.store.journal_bytes >= 5 * MIB
        driver.checkpoint({"s": b"all of it"})
        assert driver.store.journal_bytes <= MIB
    driver.reopen()
    assert driver.recovered.events == []
    assert driver.store.journal_bytes <= MIB


def test_the_journal_grows_with_what_is_written(driver):
    driver.create(A)
    before = driver.store.journal_bytes
    driver.fill(10)
    assert driver.store.journal_bytes >= before + 100 * RECORD_BYTES


def test_logs_may_come_and_go_while_a_checkpoint_runs(driver):
    driver.create(A)
    driver.fill(12)
    work = driver.store.begin_checkpoint({})
    driver.do(DeleteLog(A))
    driver.create(B)
    driver.fill(2, log=B)
    work.run()
    driver.store.finish_checkpoint(work)
    for _ in range(2):
        assert driver.store.logs() == (B,)
        assert driver.offsets(B) == list(range(20))
        driver.checkpoint()
        driver.reopen()


def test_segments_may_be_dropped_while_a_checkpoint_runs(driver):
    driver.create(A)
    driver.fill(12)
    work = driver.store.begin_checkpoint({})
    driver.drop(*driver.bases()[:2])
    driver.fill(1)
    work.run()
    driver.store.finish_checkpoint(work)
    for _ in range(2):
        assert driver.offsets() == list(range(driver.log().start_offset, 130))
        driver.checkpoint()
        driver.reopen()


def test_there_is_a_share_of_free_room(driver):
    assert 0.0 < driver.store.free_share() <= 1.0


# --- one owner


def test_a_place_that_is_open_cannot_be_opened_again_until_it_is_closed(driver):
    driver.create(A)
    second = driver.another()
    with pytest.raises(DataFolderInUse) as refused:
        second.open(driver.recovered)
    assert refused.value.hint
    second.close()
    driver.fill(1)
    driver.reopen()
    assert driver.offsets() == list(range(10))


def test_closing_twice_does_no_harm(driver):
    driver.create(A)
    driver.store.close()
    driver.store.close()
    assert driver.store.logs() == ()
    driver.reopen()
    assert driver.store.logs() == (A,)


# --- readers beside the writer


@pytest.fixture
def switching_fast():
    """Let threads take turns as often as they can, so that a race has its chance."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*actions) -> None:
    """Run each action in a thread; raises what the first of them raised."""
    errors: list[BaseException] = []

    def guarded(action):
        try:
            action()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


@pytest.mark.parametrize("start", [0, 500])
def test_readers_see_every_record_once_while_others_are_appended(driver, switching_fast, start):
    driver.create(A)
    total = 3000
    log = driver.log()

    def append():
        while log.next_offset < total:
            driver.fill(1, per_batch=5)

    def follow():
        seen = []
        offset = start
        while offset < total:
            chunk = log.read(offset, 700, UNLIMITED)
            assert chunk.damage == ()
            seen += [record.offset for record in codec.decode(chunk.records)]
            offset = chunk.next_offset
        assert seen == list(range(start, total))

    in_threads(append, follow, follow)


def test_a_time_is_found_while_records_are_appended(driver, switching_fast):
    driver.create(A)
    driver.fill(20)
    log = driver.log()
    done = threading.Event()

    def append():
        for _ in range(200):
            driver.fill(1)
        done.set()

    def seek():
        while not done.is_set():
            for offset in range(0, 200, 13):
                assert log.offset_at(time_of(offset), UNLIMITED) == offset

    in_threads(append, seek)


def test_readers_go_on_while_segments_are_compacted(driver, switching_fast):
    driver.create(A)
    log = driver.log()
    written = threading.Event()
    done = threading.Event()

    def write():
        for n in range(150):
            driver.append([keyed(b"k%d" % (n % 5), b"%d" % n)])
            if n % 10 == 9:
                driver.compact()
                written.set()
        done.set()

    def read():
        written.wait(60)
        while not done.is_set():
            chunks = read_on(log, 0)
            assert all(chunk.damage == () for chunk in chunks)
            keys = {record.key for chunk in chunks for record in codec.decode(chunk.records)}
            assert len(keys) == 5

    in_threads(write, read, read)


def test_readers_go_on_while_segments_are_dropped(driver, switching_fast):
    driver.create(A)
    log = driver.log()
    done = threading.Event()

    def write():
        for _ in range(100):
            driver.fill(3)
            driver.drop(*driver.bases()[:-2])
        done.set()

    def read():
        offset = 0
        while not done.is_set():
            chunk = log.read(offset, MIB, UNLIMITED)
            assert chunk.damage == ()
            for record in codec.decode(chunk.records):
                assert record.offset >= offset
                offset = record.offset + 1

    in_threads(write, read)


def test_a_sync_may_run_beside_writes(driver, switching_fast):
    driver.create(A)
    done = threading.Event()

    def write():
        for _ in range(30):
            driver.do(StateEvent("s", bytes(200 * KIB)))
        done.set()

    def sync():
        last = 0
        while not done.is_set():
            reached = driver.store.sync()
            assert reached >= last
            last = reached

    in_threads(write, sync)
    assert driver.store.sync() == 31
