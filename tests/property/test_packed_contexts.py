"""Trace contexts that are packed together are the same ones when they are looked at, cut, moved or picked."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.model.contexts import PackedContexts, pack
from goqueue.model.trace import LONGEST_STATE, TraceContext, parse_tracestate

STATES = st.sampled_from(["", "", "vendor=1", "a=1,b@c=2", f"x={'y' * 200}"])
DISTANCES = st.lists(st.integers(0, 5000), min_size=1, max_size=12, unique=True).map(sorted)


@st.composite
def carried(draw):
    """By distance, beginning with 0."""
    first, *others = draw(DISTANCES)
    distances = [0, *(other - first for other in others)]
    return [(one, TraceContext(f"{one + 1:032x}", f"{one + 7:016x}", one % 2, draw(STATES))) for one in distances]


@given(carried())
def test_packed_contexts_keep_their_trace_states(contexts):
    packed = pack(contexts)
    assert (list(packed), len(packed), packed.first_distance) == (contexts, len(contexts), 0)
    for distance, context in contexts:
        assert packed.at(distance) == context
    assert packed.at(contexts[-1][0] + 1) is None


@given(carried(), st.integers(0, 5001))
def test_a_cut_takes_each_trace_state_with_its_record(contexts, distance):
    left, right = pack(contexts).cut(distance)
    assert list(left) == [one for one in contexts if one[0] < distance]
    assert list(right) == [one for one in contexts if one[0] >= distance]


@given(carried(), st.data())
def test_the_last_of_packed_contexts_are_counted_from_the_first_that_is_left(contexts, data):
    count = data.draw(st.integers(1, len(contexts)))
    first, last = pack(contexts).last(count)
    assert [(first + distance, context) for distance, context in last] == contexts[-count:]
    assert last.first_distance == 0


@given(carried(), st.integers(1, 9))
def test_contexts_of_records_that_lie_apart_move_with_their_trace_states(contexts, step):
    offsets = range(3, 3 + (contexts[-1][0] + 1) * step, step)
    moved = pack(contexts).spread(offsets)
    assert list(moved) == [(distance * step, context) for distance, context in contexts]


def test_a_trace_state_is_kept_as_the_standard_has_it_and_otherwise_dropped():
    assert parse_tracestate(b"rojo=00f067aa0ba902b7, congo=t61rcWkgMzE") == "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
    assert parse_tracestate(b"a=1,,\tb=2 ") == "a=1,b=2"
    assert parse_tracestate(b"fw529a3039@dt=FfYPb;x y,1=x") == "fw529a3039@dt=FfYPb;x y,1=x"
    longest = b"a=" + b"b" * 255 + b",c=" + b"d" * 252
    assert parse_tracestate(longest) == longest.decode()
    assert len(longest) == LONGEST_STATE
    for wrong in (b"", b"a", b"A=1", b"a=", b"a=1=2", b"a=\xff", b"a=1,b", b"a=1\n", b"=1", longest + b","):
        assert parse_tracestate(wrong) == ""
    assert parse_tracestate(b",".join(b"k%d=v" % number for number in range(33))) == ""


def test_what_a_record_carries_that_is_no_trace_state_leaves_its_context_as_it_is():
    packed = pack([(0, TraceContext("1" * 32, "2" * 16))])
    states = (0).to_bytes(8, "big") + (3).to_bytes(2, "big") + b"\xff\xfe\xfd"
    assert list(PackedContexts(packed.entries, states)) == list(packed)
