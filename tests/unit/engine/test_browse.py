import pytest

from goqueue import codec
from goqueue.codec.compression import compressor
from goqueue.engine import browse as module
from goqueue.engine.browse import Selection, browse, read_page
from goqueue.engine.placement import Placement
from goqueue.engine.ports import AppendRecords
from goqueue.engine.publish_records import Outgoing, publish_records
from goqueue.engine.topics import create_topic
from goqueue.errors import OffsetOutOfRange
from goqueue.model.log import LogId
from goqueue.model.record import Flag, Record
from goqueue.model.topic import TopicConfig, TopicName

T = TopicName("t")


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await create_topic(opened, T, 3, TopicConfig())
        yield opened


async def put(broker, partition: int, *records: Record) -> None:
    outcomes = await publish_records(broker, Placement(), T, [Outgoing(record, partition) for record in records])
    assert [type(outcome).__name__ for outcome in outcomes] == ["Placed"] * len(records)


async def put_as_is(broker, record: Record) -> None:
    """Behind the back of the partition, which takes no such records."""
    log = LogId(T, 0)
    number = broker.partition(T, 0).next_offset
    records = codec.encode([Record(record.value, record.key, (), 2, 1, number, record.flags)])
    await broker.commit.write((AppendRecords(log, records, number + 1),))
    broker.open_partitions(broker.catalog.topic(T))


def values(found) -> list[bytes]:
    return [one.record.value for one in found]


async def all_pages(broker, selection: Selection, limit: int) -> list[bytes]:
    collected, after = [], None
    while True:
        page = await browse(broker, T, selection, limit, after)
        collected += values(page.found)
        if page.last is None:
            return collected
        after = page.last


# One partition.


async def test_pages_of_a_partition_are_complete_and_in_order(broker):
    expected = [b"%d" % n for n in range(500)]
    await put(broker, 0, *map(Record, expected))
    collected, offset = [], None
    while offset != 500:
        page = await read_page(broker, T, 0, offset, 7)
        collected += values(page.found)
        offset = page.next_offset
    assert collected == expected
    assert (await read_page(broker, T, 0, 500, 7)).found == []


async def test_a_page_begins_at_the_earliest_when_no_offset_is_given(broker, monkeypatch):
    await put(broker, 0, Record(b"a"))
    assert values((await read_page(broker, T, 0, None, 7)).found) == [b"a"]


async def test_an_offset_outside_the_log_is_refused(broker):
    with pytest.raises(OffsetOutOfRange):
        await read_page(broker, T, 0, 1, 7)


async def test_a_page_ends_early_when_its_values_are_large_but_never_with_nothing(broker, monkeypatch):
    monkeypatch.setattr(module, "PAGE_BYTES", 2500)
    await put(broker, 0, *[Record(bytes([65 + n]) * 1000) for n in range(3)], Record(b"x" * 4000))
    first = await read_page(broker, T, 0, 0, 100)
    assert (len(first.found), first.next_offset) == (2, 2)
    second = await read_page(broker, T, 0, 2, 100)
    assert (len(second.found), second.next_offset) == (1, 3)
    third = await read_page(broker, T, 0, 3, 100)
    assert (len(third.found), third.next_offset) == (1, 4)


async def test_control_records_are_not_shown_and_do_not_end_a_page(broker):
    await put(broker, 0, Record(b"a"))
    await put_as_is(broker, Record(b"marker", flags=Flag.CONTROL))
    await put(broker, 0, Record(b"b"))
    page = await read_page(broker, T, 0, 0, 10)
    assert (values(page.found), page.next_offset) == ([b"a", b"b"], 3)
    assert await all_pages(broker, Selection(), 10) == [b"a", b"b"]


@pytest.mark.parametrize("method", ["zstd", "lz4"])
async def test_compressed_values_are_shown_as_they_were(broker, method):
    original = b"many times the same " * 100
    packed = compressor(method)(Record(original))
    assert packed.flags & Flag.COMPRESSED
    await put(broker, 0, packed)
    [found] = (await read_page(broker, T, 0, 0, 10)).found
    assert (found.record.value, found.record.flags, found.fault) == (original, 0, None)


async def test_a_value_that_cannot_be_decompressed_is_shown_as_it_is_with_the_reason(broker):
    await put(broker, 0, Record(b"\x09junk", flags=Flag.COMPRESSED), Record(b"next"))
    first, second = (await read_page(broker, T, 0, 0, 10)).found
    assert (first.record.value, second.record.value, second.fault) == (b"\x09junk", b"next", None)
    assert "compressed value" in first.fault


async def test_values_that_grow_when_decompressed_count_as_what_they_become(broker, monkeypatch):
    monkeypatch.setattr(module, "PAGE_BYTES", 100_000)
    bomb = compressor("zstd")(Record(b"\0" * 90_000))
    await put(broker, 0, *[bomb] * 5)
    assert len((await read_page(broker, T, 0, 0, 10)).found) == 1


# A whole topic.


async def test_a_topic_is_browsed_in_order_of_time(broker, clock):
    expected = []
    for number in range(30):
        clock.advance_ms(1)
        await put(broker, number * 7 % 3, Record(b"%d" % number))
        expected.append(b"%d" % number)
    for limit in (1, 4, 30, 1000):
        assert await all_pages(broker, Selection(), limit) == expected


async def test_records_of_the_same_time_are_neither_lost_nor_repeated_between_pages(broker):
    for partition in (2, 0, 1):
        await put(broker, partition, *[Record(b"%d/%d" % (partition, n)) for n in range(20)])
    expected = [b"%d/%d" % (partition, n) for partition in range(3) for n in range(20)]
    for limit in (1, 7, 60):
        assert await all_pages(broker, Selection(), limit) == expected


async def test_a_time_range_has_its_beginning_and_not_its_end(broker, clock):
    for number in range(10):
        clock.advance_ms(1)
        await put(broker, number % 3, Record(b"%d" % number))
    base = clock.now_ns() - 9_000_000
    found = await all_pages(broker, Selection(from_ns=base + 2_000_000, to_ns=base + 5_000_000), 2)
    assert found == [b"2", b"3", b"4"]


async def test_a_selection_by_key_priority_partition_and_offset(broker):
    for partition in range(3):
        await put(
            broker,
            partition,
            Record(b"a", b"k", priority=0),
            Record(b"b", b"k"),
            Record(b"c", b"", priority=0),
            Record(b"d", None, priority=4),
        )
    assert await all_pages(broker, Selection(key=b"k"), 2) == [b"a", b"b"] * 3
    assert await all_pages(broker, Selection(key=b""), 2) == [b"c"] * 3
    assert await all_pages(broker, Selection(priority=0), 2) == [b"a", b"c"] * 3
    assert await all_pages(broker, Selection(partition=1), 3) == [b"a", b"b", b"c", b"d"]
    assert await all_pages(broker, Selection(offset=3), 3) == [b"d"] * 3
    assert await all_pages(broker, Selection(offset=9), 3) == []


async def test_a_search_looks_at_so_much_at_a_time_and_goes_on(broker, monkeypatch):
    monkeypatch.setattr(module, "MOST_SCANNED", 10)
    await put(broker, 0, *[Record(b"%d" % n, b"needle" if n == 25 else b"hay") for n in range(30)])
    page = await browse(broker, T, Selection(key=b"needle"), 5)
    assert (page.found, page.last.offset) == ([], 9)
    assert await all_pages(broker, Selection(key=b"needle"), 5) == [b"25"]


async def test_a_topic_that_is_empty_has_no_pages(broker):
    page = await browse(broker, T, Selection(), 5)
    assert (page.found, page.last) == ([], None)
