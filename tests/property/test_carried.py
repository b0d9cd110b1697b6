"""Contexts are remembered of the records that were met last, and of no topic that is gone."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.tracing.carried import PAGE, Carried
from goqueue.model.contexts import pack
from goqueue.model.log import LogId
from goqueue.model.trace import TraceContext

LOGS = st.builds(LogId, st.sampled_from(["a", "b"]), st.integers(0, 1))
FIRST, END = PAGE - 20, PAGE + 20
OFFSETS = st.lists(st.integers(FIRST, END - 1), min_size=1, max_size=8, unique=True).map(sorted)


def context(number):
    return TraceContext(f"{number + 1:032x}", f"{number + 1:016x}")


def put(carried, log, offsets, number):
    packed = pack((offset - offsets[0], context(number)) for offset in offsets)
    carried.put(log, offsets[0], packed)


@given(st.lists(st.tuples(LOGS, OFFSETS, st.booleans(), st.booleans()), max_size=15))
def test_each_is_remembered_as_it_was_met_last(met):
    carried = Carried(100_000)
    wanted = {}
    for number, (log, offsets, counts, looks) in enumerate(met):
        if counts:
            put(carried, log, offsets, number)
        else:
            carried.put_aside(log, offsets)
        wanted |= {(log, offset): context(number) if counts else None for offset in offsets}
        if looks:
            assert dict(carried.known(log, offsets)) == {offset: wanted[log, offset] for offset in offsets}
    for log in {log for log, _ in wanted}:
        here = {offset: found for (one, offset), found in wanted.items() if one == log}
        assert dict(carried.known(log, range(FIRST, END))) == here
    assert len(carried) == len(wanted)


@given(st.integers(1, 40), st.lists(st.tuples(LOGS, OFFSETS), min_size=1, max_size=30))
def test_those_met_longest_ago_are_forgotten_when_there_are_too_many(most, met):
    carried = Carried(most)
    for number, (log, offsets) in enumerate(met):
        put(carried, log, offsets, number)
        # The page that was put in last stays, whatever its size.
        assert len(carried) <= most + 2 * PAGE + len(offsets)
    log, offsets = met[-1]
    assert offsets[-1] in dict(carried.known(log, offsets))


@given(st.lists(st.tuples(LOGS, OFFSETS), max_size=15))
def test_nothing_is_remembered_of_a_topic_that_was_deleted(met):
    carried = Carried(100_000)
    for number, (log, offsets) in enumerate(met):
        carried.see(log)
        put(carried, log, offsets, number)
    carried.forget("a")
    for log, offsets in met:
        assert carried.has(log) == (log.topic == "b")
        assert [offset for offset, _ in carried.known(log, offsets)] == (offsets if log.topic == "b" else [])
    assert len(carried) >= len({(log, offset) for log, offsets in met if log.topic == "b" for offset in offsets})
