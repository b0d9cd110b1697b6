"""Delays in the client library: which instant is meant, and what is passed over when reading."""

import time

import pytest

from goqueue import codec
from goqueue.client.batch import Batch
from goqueue.client.message import RawBatch, open_batch
from goqueue.client.producer import due_of
from goqueue.errors import InvalidRecord
from goqueue.model.delay import LATEST_NS, due_ns
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, Topic, TopicConfig, hash_ranges, topic_name

DAY_MS = 86_400_000


def topic(**config) -> Topic:
    return Topic(topic_name("orders"), TopicConfig(**config), hash_ranges(1))


def test_a_delay_counts_from_now_and_an_instant_is_itself():
    assert due_ns(5, None, now_ns=100) == 5_000_100
    assert due_ns(None, 77, now_ns=100) == 77
    assert due_ns(None, None, now_ns=100) == due_ns(0, None, now_ns=100) == 0
    before = time.time_ns()
    assert before + 10**9 <= due_of(topic(), 1000, None) <= time.time_ns() + 10**9


@pytest.mark.parametrize("given", [(-1, None), (None, -1), (1, 1), (8 * DAY_MS, None), (None, LATEST_NS + 1)])
def test_a_delay_that_cannot_be_is_refused_before_it_is_sent(given):
    with pytest.raises(InvalidRecord):
        due_of(topic(), *given)


@pytest.mark.parametrize("config", [{"retention_ms": None}, {"cleanup": Cleanup.COMPACT}, {"retention_ms": 9 * DAY_MS}])
def test_a_delay_may_be_as_long_as_records_are_kept(config):
    assert due_of(topic(**config), 8 * DAY_MS, None)


async def test_a_batch_has_an_instant_for_each_record_or_none_at_all():
    batch = Batch("orders", 0, 0.0)
    batch.add(Record(b"a"), None)
    assert batch.dues is None
    batch.add(Record(b"b"), None, 7)
    batch.add(Record(b"c"), None)
    assert batch.dues == [0, 7, 0]


def test_hidden_records_of_a_batch_are_passed_over():
    data = bytearray(codec.encode([Record(b"%d" % number) for number in range(6)]))
    codec.stamp(data, 10, 1)
    batch = RawBatch("orders", 0, memoryview(data), 16, ((11, 2), (15, 1)))
    opened = open_batch(batch)
    assert [message.offset for message in opened.messages] == [10, 13, 14]
    assert opened.next_offset == 16
    assert [message.offset for message in open_batch(batch._replace(skip=())).messages] == list(range(10, 16))
