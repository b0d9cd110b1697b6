"""Which records are traced follows from the record, and is as many as was asked for."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.tracing.ring import Ring
from goqueue.core.tracing.sampling import sampler
from goqueue.model.runs import offsets_of
from goqueue.model.span import Operation, SpanRun

RATES = st.sampled_from([0.0, 1.0, 0.01, 0.001, 0.5, 0.7, 0.8, 1 / 3, 0.99]) | st.floats(0, 1)
PARTITIONS = st.integers(0, 9999)
FIRST = st.integers(0, 2**53)


@given(RATES, PARTITIONS, FIRST, st.integers(0, 500))
def test_a_run_has_those_records_that_each_by_itself_would_be(rate, partition, first, count):
    chosen = sampler(rate)
    alone = [one for one in range(first, first + count) if chosen.has_offset(partition, one)]
    assert list(offsets_of(chosen.runs(partition, first, count))) == alone


@given(RATES, PARTITIONS, st.lists(FIRST, unique=True))
def test_of_records_that_lie_anywhere_the_same_are_traced(rate, partition, offsets):
    chosen = sampler(rate)
    assert chosen.among(partition, offsets) == [one for one in offsets if chosen.has_offset(partition, one)]


@given(RATES, PARTITIONS, FIRST, st.lists(st.integers(0, 40), max_size=10))
def test_how_records_are_cut_into_batches_changes_nothing(rate, partition, first, sizes):
    chosen = sampler(rate)
    whole = list(offsets_of(chosen.runs(partition, first, sum(sizes))))
    parts = []
    at = first
    for size in sizes:
        parts += offsets_of(chosen.runs(partition, at, size))
        at += size
    assert parts == whole


@given(st.integers(1, 2000), PARTITIONS, FIRST, st.integers(0, 20))
def test_one_in_so_many_is_exactly_that(whole, partition, first, times):
    found = list(offsets_of(sampler(1 / whole).runs(partition, first, whole * times)))
    assert len(found) == times
    assert all(b - a == whole for a, b in pairwise(found))


@given(RATES, PARTITIONS, FIRST, st.integers(1, 3000))
def test_a_run_has_its_share(rate, partition, first, count):
    found = sum(number for _, number in sampler(rate).runs(partition, first, count))
    assert abs(found - rate * count) <= 1 + count / 1_000_000


@given(PARTITIONS, FIRST, st.integers(1, 10_000))
def test_at_the_full_rate_a_run_stays_whole(partition, first, count):
    assert sampler(1.0).runs(partition, first, count) == ((first, count),)
    assert sampler(0.0).runs(partition, first, count) == ()


@given(RATES, st.binary(min_size=16, max_size=16))
def test_a_trace_goes_by_the_number_at_the_end_of_its_name(rate, trace):
    number = int.from_bytes(trace[8:], "big")
    assert sampler(rate).has_trace(trace.hex()) == (number < round(rate * 2**64))


def run(first: int, count: int) -> SpanRun:
    return SpanRun(Operation.PUBLISH, 0, 0, "t", offset=first, count=count)


@given(FIRST, st.integers(1, 300), st.integers(1, 200), st.integers(1, 400))
def test_the_last_records_of_a_run_are_its_last_whatever_lies_between_them(first, count, step, wanted):
    whole = SpanRun(Operation.PUBLISH, 0, 0, "t", offset=first, count=count, step=step)
    assert list(whole.offsets) == [first + number * step for number in range(count)]
    assert list(whole.last(wanted).offsets) == list(whole.offsets)[-wanted:]


@given(st.integers(0, 50), st.lists(st.integers(1, 80), max_size=30))
def test_the_ring_keeps_the_newest_runs_that_fit(size, counts):
    ring = Ring(size)
    at = 0
    for count in counts:
        ring.add(run(at, count))
        at += count
        kept = list(ring)
        assert len(ring) == sum(one.count for one in kept) <= size
        # What is kept ends with the newest record, without a hole.
        assert not kept or kept[-1].offset + kept[-1].count == at
        assert all(a.offset + a.count == b.offset for a, b in pairwise(kept))
        if len(kept) < len(counts) and size >= count:
            assert kept[-1] == run(at - count, count)
