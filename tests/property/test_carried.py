"""Contexts are remembered of the records that were met last, and of no topic that is gone."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.tracing.carried import Carried
from goqueue.model.log import LogId
from goqueue.model.trace import TraceContext

CONTEXT = TraceContext("1" * 32, "2" * 16)
LOGS = st.builds(LogId, st.sampled_from(["a", "b"]), st.integers(0, 1))


@given(st.integers(1, 20), st.lists(st.tuples(LOGS, st.integers(0, 30), st.booleans()), max_size=80))
def test_those_met_last_are_remembered(most, met):
    carried = Carried(most)
    places = []
    for log, offset, counts in met:
        if counts:
            carried.put_all(log, {offset: CONTEXT})
        else:
            carried.put_aside(log, offset)
        places = [*(one for one in places if one[:2] != (log, offset)), (log, offset, counts)][-most:]
        assert len(carried) == len(places) <= most
    for log, offset, counts in places:
        assert carried.knows(log, offset)
        assert carried.get(log, offset) == (CONTEXT if counts else None)


@given(st.lists(st.tuples(LOGS, st.integers(0, 30)), max_size=40))
def test_nothing_is_remembered_of_a_topic_that_was_deleted(met):
    carried = Carried(100)
    for log, offset in met:
        carried.see(log)
        carried.put_all(log, {offset: CONTEXT})
    carried.forget("a")
    for log, offset in met:
        assert carried.has(log) == carried.knows(log, offset) == (log.topic == "b")
