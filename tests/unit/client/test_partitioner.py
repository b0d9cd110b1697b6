"""Which partition a record goes to."""

import itertools
from collections import Counter

import pytest

from goqueue.client.partitioner import TopicPartitioner, kafka_murmur2
from goqueue.errors import UnknownPartition
from goqueue.model.partitioning import KeyRanges
from goqueue.model.topic import Topic, TopicConfig, hash_ranges


def partitioner(partitions=3, name="murmur3"):
    return TopicPartitioner(Topic("orders", TopicConfig(), hash_ranges(partitions)), name)


def test_a_key_goes_to_the_range_of_its_hash():
    ranges = KeyRanges(hash_ranges(7))
    picked = partitioner(7)
    for number in range(100):
        key = b"key %d" % number
        assert picked.pick(key, None) == ranges.partition_of(key)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # From the tests of Kafka's own clients.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_that_of_kafka(key, expected):
    assert kafka_murmur2(key) == expected & 0xFFFFFFFF
    assert partitioner(10, "murmur2").pick(key, None) == (expected & 0x7FFFFFFF) % 10


def test_records_without_a_key_stay_together_until_their_batch_leaves():
    picked = partitioner()
    first = picked.pick(None, None)
    assert {picked.pick(None, None) for _ in range(10)} == {first}
    picked.batch_left((first + 1) % 3)
    assert picked.pick(None, None) == first
    picked.batch_left(first)
    assert picked.pick(None, None) == (first + 1) % 3


def test_producers_that_send_little_do_not_all_begin_with_the_same_partition():
    assert len({partitioner(4).pick(None, None) for _ in range(200)}) == 4


def test_in_turns_means_one_after_the_other_with_a_key_or_without():
    picked = partitioner(3, "round_robin")
    order = [picked.pick(key, None) for key in (None, b"k", b"k", None, b"k", None)]
    assert Counter(order) == {0: 2, 1: 2, 2: 2}
    assert all((two - one) % 3 == 1 for one, two in itertools.pairwise(order))
    picked.batch_left(order[-1])
    assert picked.pick(None, None) == (order[-1] + 1) % 3


def test_a_partition_can_be_told_and_must_be_there():
    picked = partitioner()
    assert picked.pick(b"key", 2) == 2
    for wrong in (-1, 3):
        with pytest.raises(UnknownPartition):
            picked.pick(None, wrong)
        with pytest.raises(UnknownPartition):
            picked.check(wrong)
    picked.check(None)
