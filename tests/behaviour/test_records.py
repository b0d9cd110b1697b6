"""Records come back as they were sent, whichever way they went in and out."""

import time

import pytest

from goqueue.model.partitioning import KeyRanges
from goqueue.model.topic import hash_ranges
from tests.behaviour.path import Ability, Got, Out, Place
from tests.behaviour.paths import between_paths, over, refused

MIB = 1024 * 1024

ODD_RECORDS = {
    "no key": Out(b"value"),
    "an empty key": Out(b"value", b""),
    "a tombstone": Out(None, b"key"),
    "a tombstone without a key": Out(None),
    "an empty value": Out(b"", b"key"),
    "nothing at all": Out(b"", b""),
    "text that looks like JSON": Out(b'{"base64": "AA=="}', b"null"),
    "unicode": Out("grüße, 世界 🌍".encode(), "schlüssel".encode()),
    "every byte": Out(bytes(range(256)), bytes(reversed(range(256)))),
    "headers": Out(b"value", None, (("plain", b"text"), ("ünicode", "wört".encode()), ("binary", b"\xff\0"))),
    "headers of one name": Out(b"value", b"key", (("same", b"1"), ("same", b""), ("same", b"\x80"))),
    "the most urgent": Out(b"value", priority=0),
    "the least urgent": Out(b"value", priority=4),
    "the longest key": Out(b"value", b"k" * 65_535),
    "a megabyte": Out(bytes(range(256)) * 4096, b"key"),
}


def kept(record: Got) -> Out:
    return Out(record.value, record.key, record.headers, record.priority)


@over(Ability.RECORDS)
@pytest.mark.parametrize("record", ODD_RECORDS.values(), ids=list(ODD_RECORDS))
async def test_a_record_comes_back_as_it_was_sent(path, topic, record):
    before = time.time_ns()
    (place,) = await path.publish(topic, [record])
    (got,) = await path.read(topic, place.partition)
    assert kept(got) == record
    assert (got.topic, got.partition, got.offset) == (topic, *place)
    assert before <= got.timestamp_ns <= time.time_ns()


@between_paths(Ability.RECORDS)
async def test_records_sent_on_one_path_are_the_same_on_another(path, other, topic):
    records = [record._replace(partition=1) for record in ODD_RECORDS.values()]
    await path.publish(topic, records)
    seen = await other.read(topic, 1)
    assert [kept(one) for one in seen] == list(ODD_RECORDS.values())
    assert seen == await path.read(topic, 1)


@over(Ability.RECORDS)
async def test_offsets_count_from_zero_in_each_partition_and_follow_the_order_of_sending(path, topic):
    records = [Out(b"%d" % number, partition=number % 3) for number in range(30)]
    places = await path.publish(topic, records)
    assert places == [Place(number % 3, number // 3) for number in range(30)]
    for partition in range(3):
        found = await path.read(topic, partition)
        assert [one.value for one in found] == [b"%d" % number for number in range(partition, 30, 3)]
        assert [one.offset for one in found] == list(range(10))
        assert [one.timestamp_ns for one in found] == sorted(one.timestamp_ns for one in found)
    assert await path.ends(topic) == [(0, 10)] * 3


@over(Ability.RECORDS)
async def test_a_key_goes_to_the_partition_whose_range_holds_its_hash(path, name):
    await path.create_topic(name, 8)
    ranges = KeyRanges(hash_ranges(8))
    keys = [b"", b"\0", b"customer-1", "schlüssel".encode(), *(b"key %d" % number for number in range(60))]
    places = await path.publish(name, [Out(b"value", key) for key in keys])
    assert [place.partition for place in places] == [ranges.partition_of(key) for key in keys]
    assert len({place.partition for place in places}) == 8


@over(Ability.RECORDS)
async def test_records_of_a_key_keep_their_order_through_any_number_of_requests(path, topic):
    sent = []
    for number in range(6):
        some = [Out(b"%d/%d" % (number, step), b"key %d" % (step % 4)) for step in range(20)]
        await path.publish(topic, some)
        sent += some
    found = [one for partition in range(3) for one in await path.read(topic, partition)]
    for key in {one.key for one in sent}:
        assert [one.value for one in found if one.key == key] == [one.value for one in sent if one.key == key]


@over(Ability.RECORDS)
async def test_a_record_goes_where_it_is_told_whatever_its_key_says(path, topic):
    places = await path.publish(topic, [Out(b"value", b"key", partition=number) for number in (2, 0, 1, 2)])
    assert places == [(2, 0), (0, 0), (1, 0), (2, 1)]


@over(Ability.RECORDS)
async def test_records_without_a_key_reach_every_partition_in_the_end(path, topic):
    reached = set()
    for _ in range(30):
        reached |= {place.partition for place in await path.publish(topic, [Out(b"value")] * 150)}
        if len(reached) == 3:
            return
    raise AssertionError(f"only {reached}")


@over(Ability.RECORDS)
async def test_reading_begins_where_it_is_told_and_ends_at_the_limit(path, topic):
    await path.publish(topic, [Out(b"%d" % number, partition=0) for number in range(50)])
    assert [one.offset for one in await path.read(topic, 0, 20, 5)] == [20, 21, 22, 23, 24]
    assert [one.offset for one in await path.read(topic, 0, 49)] == [49]
    assert await path.read(topic, 0, 50) == []


@over(Ability.RECORDS, Ability.READ_ERRORS)
async def test_reading_outside_the_log_says_so(path, topic):
    await path.publish(topic, [Out(b"value", partition=0)])
    with refused("offset_out_of_range"):
        await path.read(topic, 0, 2)
    with refused("unknown_partition"):
        await path.read(topic, 3)
    with refused("unknown_topic"):
        await path.read(f"{topic}-more", 0)


@over(Ability.RECORDS)
async def test_publishing_to_what_is_not_there_is_refused(path, topic):
    with refused("unknown_topic"):
        await path.publish(f"{topic}-more", [Out(b"value")])
    with refused("unknown_partition"):
        await path.publish(topic, [Out(b"value", partition=3)])
    assert await path.ends(topic) == [(0, 0)] * 3


TOO_LARGE = {
    "key": Out(b"", b"k" * 65_536),
    "value": Out(b"v" * (16 * MIB + 1)),
    "headers": Out(b"", None, (("h" * 30_000, b"v" * 40_000),)),
    "many headers": Out(b"", None, tuple((f"header {number}", b"x" * 100) for number in range(700))),
}


@over(Ability.RECORDS)
@pytest.mark.parametrize("record", TOO_LARGE.values(), ids=list(TOO_LARGE))
async def test_a_record_over_a_limit_is_refused_and_the_topic_goes_on(path, topic, record):
    with refused("record_too_large"):
        await path.publish(topic, [record])
    assert await path.publish(topic, [Out(b"fine", partition=0)]) == [(0, 0)]


@over(Ability.RECORDS)
async def test_a_topic_may_have_a_lower_limit_for_values(path, name):
    await path.create_topic(name, 1, max_value_bytes=1000)
    with refused("record_too_large"):
        await path.publish(name, [Out(b"v" * 1001)])
    assert await path.publish(name, [Out(b"v" * 1000)]) == [(0, 0)]


WRONG = {
    "a priority below the highest": (Out(b"value", priority=-1), "invalid_record"),
    "a priority below the lowest": (Out(b"value", priority=5), "invalid_record"),
    "a priority of many digits": (Out(b"value", priority=10**30), "invalid_record"),
    "an empty id": (Out(b"value", id=""), "invalid_record"),
    "an id of too many letters": (Out(b"value", id="x" * 257), "invalid_record"),
    "an id of too many bytes": (Out(b"value", id="ä" * 129), "invalid_record"),
    "a negative partition": (Out(b"value", partition=-1), "unknown_partition"),
    "a partition too many": (Out(b"value", partition=3), "unknown_partition"),
    "a partition that no topic has": (Out(b"value", partition=10_000), "unknown_partition"),
}


@over(Ability.RECORDS)
@pytest.mark.parametrize(("record", "code"), WRONG.values(), ids=list(WRONG))
async def test_what_is_wrong_with_a_record_has_the_same_code_on_every_path(path, topic, record, code):
    with refused(code):
        await path.publish(topic, [record])
    assert await path.ends(topic) == [(0, 0)] * 3


@over(Ability.RECORDS)
async def test_the_largest_value_goes_through(path, topic):
    largest = bytes(range(256)) * (16 * MIB // 256)
    (place,) = await path.publish(topic, [Out(largest)])
    (got,) = await path.read(topic, place.partition)
    assert got.value == largest


@over(Ability.RECORDS)
async def test_a_record_of_a_known_id_is_not_written_again(path, topic):
    first = await path.publish(topic, [Out(b"one", b"key", id="order-1"), Out(b"two", b"key", id="order-2")])
    again = await path.publish(topic, [Out(b"one", b"key", id="order-1"), Out(b"three", b"key")])
    assert again[0] == first[0]
    found = await path.read(topic, first[0].partition)
    assert [one.value for one in found] == [b"one", b"two", b"three"]


@over(Ability.RECORDS)
async def test_a_header_named_like_the_id_is_no_id(path, topic):
    record = Out(b"value", headers=(("goqueue-id", b"order-1"),), partition=0)
    assert await path.publish(topic, [record, record]) == [(0, 0), (0, 1)]
    assert await path.publish(topic, [record, Out(b"value", id="order-1", partition=0)]) == [(0, 2), (0, 3)]
    assert await path.publish(topic, [Out(b"value", id="order-1", partition=0)]) == [(0, 3)]
