"""Where the records of a list are: looked at like the list that it stands for."""

import asyncio

import pytest

from goqueue.client.batch import Batch, Outcome, Places, Sent, Values
from goqueue.errors import StorageBusy


def batch_of(partition, count, outcome):
    batch = Batch("orders", partition, 0.0)
    batch.fill(Values([b"v"] * count, None, (), 2))
    batch.succeed(outcome)
    return batch


@pytest.fixture
def places():
    """Five records: the first, third and fourth went to partition 1, the others to partition 0."""
    parts = [(batch_of(1, 3, Outcome(10, 7)), [0, 2, 3]), (batch_of(0, 2, Outcome(40, 8)), [1, 4])]
    return Places(parts, 5)


def test_places_come_in_the_order_of_the_list_whatever_batch_a_record_was_in(places):
    assert [(one.partition, one.offset) for one in places] == [(1, 10), (0, 40), (1, 11), (1, 12), (0, 41)]
    assert len(places) == 5


def test_places_are_looked_up_by_number_from_both_ends_and_by_slice(places):
    assert places[2] == Sent("orders", 1, 11, 7)
    assert places[-1] == Sent("orders", 0, 41, 8)
    assert places[1:3] == [places[1], places[2]]
    with pytest.raises(IndexError):
        places[5]


def test_places_are_equal_to_a_list_of_the_same(places):
    assert places == list(places)
    assert places != list(places)[:-1]
    assert places != [*list(places)[:-1], Sent("orders", 0, 99, 8)]
    assert repr(places) == repr(list(places))


def test_the_original_of_a_record_that_was_there_before_is_told():
    outcome = Outcome(5, 7, False, [5, 100], {1: (2, 3)})
    assert list(Places([(batch_of(0, 2, outcome), range(2))], 2)) == [
        Sent("orders", 0, 5, 7, False),
        Sent("orders", 2, 100, 3, True),
    ]


async def test_one_who_no_longer_waits_takes_nothing_from_the_others():
    batch = Batch("orders", 0, 0.0)
    impatient, patient = batch.wait(), batch.wait()
    impatient.cancel()
    batch.succeed(Outcome(3, 7))
    async with asyncio.timeout(5):
        await patient
        await batch.wait()
    assert batch.sent(0).offset == 3


async def test_the_first_outcome_of_a_batch_is_the_one_that_counts():
    batch = Batch("orders", 0, 0.0)
    batch.fail(StorageBusy("busy"))
    batch.succeed(Outcome(3, 7))
    with pytest.raises(StorageBusy):
        batch.outcome()
