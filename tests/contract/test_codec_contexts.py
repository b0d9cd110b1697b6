"""What both codecs promise about the trace contexts of records."""

import importlib

import pytest

from goqueue.errors import CorruptBatch
from goqueue.model.contexts import PackedContexts
from goqueue.model.record import Record
from goqueue.model.trace import parse_traceparent

LOW = b"00-" + b"0123456789abcdef" + b"0000000000000010" + b"-00f067aa0ba902b7-01"
HIGH = b"00-" + b"0123456789abcdef" + b"ffffffffffffffff" + b"-00f067aa0ba902b7-00"


@pytest.fixture(params=["goqueue.codec.record", "goqueue.codec.record_py"])
def codec(request):
    return importlib.import_module(request.param)


def carrying(*headers: tuple[str, bytes]) -> Record:
    return Record(value=b"value", key=b"key", headers=headers)


def found_in(codec, data, *below):
    """How many carry one, and of those that were asked for the number and the context."""
    carried, first, *packed = codec.contexts(data, *below)
    return carried, [(first + distance, context) for distance, context in PackedContexts(*packed)]


def contexts(*pairs):
    return [(number, parse_traceparent(value)) for number, value in pairs]


def test_records_that_carry_a_context_are_named_by_their_number(codec):
    data = codec.encode(
        [
            Record(value=b"x" * 100),
            carrying(("traceparent", LOW)),
            carrying(("other", b"traceparent")),
            carrying(("a", b""), ("traceparent", HIGH), ("b", b"x")),
            Record(value=None, headers=(("traceparent", LOW),)),
        ]
    )
    assert found_in(codec, data) == (3, contexts((1, LOW), (3, HIGH), (4, LOW)))
    assert found_in(codec, b"") == (0, [])
    assert found_in(codec, codec.encode([Record(value=b"")] * 3)) == (0, [])


def test_traces_count_when_their_number_is_below_the_limit(codec):
    data = codec.encode([carrying(("traceparent", LOW)), carrying(("traceparent", HIGH))])
    assert found_in(codec, data, 0) == (2, contexts())
    assert found_in(codec, data, 0x10) == (2, contexts())
    assert found_in(codec, data, 0x11) == (2, contexts((0, LOW)))
    assert found_in(codec, data, 2**64 - 1) == (2, contexts((0, LOW)))
    assert found_in(codec, data, 2**64) == (2, contexts((0, LOW), (1, HIGH)))


def test_the_last_of_several_contexts_counts(codec):
    both = [carrying(("traceparent", LOW), ("traceparent", HIGH))]
    assert found_in(codec, codec.encode(both)) == (1, contexts((0, HIGH)))
    assert found_in(codec, codec.encode([carrying(("traceparent", LOW), ("traceparent", b"x"))])) == (0, [])


def test_the_trace_state_beside_a_context_is_found_with_it(codec):
    state, longest = ("tracestate", b"vendor=1"), ("tracestate", b"a=" + b"x" * 255 + b",b=" + b"y" * 252)
    data = codec.encode(
        [
            carrying(state),
            carrying(state, ("traceparent", LOW)),
            carrying(("traceparent", LOW)),
            carrying(("traceparent", HIGH), longest),
            carrying(("traceparent", b"x"), state),
            carrying(("traceparent", LOW), ("tracestate", b"old=1"), ("Tracestate", b"b=2"), ("tracestate", b"new=1")),
            carrying(("traceparent", LOW), ("tracestate", b"")),
            carrying(("traceparent", LOW), ("tracestate", longest[1] + b",")),
        ]
    )
    carried, found = found_in(codec, data)
    assert carried == 6
    assert [(number, context.state) for number, context in found] == [
        *((1, "vendor=1"), (2, ""), (3, longest[1].decode())),
        *((5, "new=1"), (6, ""), (7, "")),
    ]
    low = [(number, context.state) for number, context in found_in(codec, data, 0x11)[1]]
    assert low == [(1, "vendor=1"), (2, ""), (5, "new=1"), (6, ""), (7, "")]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"x",
        LOW[:-1],
        LOW + b"-",
        LOW.upper(),
        b"ff" + LOW[2:],
        b"cc" + LOW[2:],
        b"cc" + LOW[2:] + b"-what-the-future-will-be",
        b"cc" + LOW[2:] + b"what",
        LOW.replace(b"-00f067aa0ba902b7-", b"-0000000000000000-"),
        b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01",
        LOW.replace(b"-", b"_"),
        b" " + LOW,
        LOW[:54] + b"g",
        b"0g" + LOW[2:],
    ],
)
def test_a_value_is_a_context_as_the_standard_has_it(codec, value):
    is_one = parse_traceparent(value) is not None
    found = found_in(codec, codec.encode([carrying(("traceparent", value))]))
    assert found == ((1, contexts((0, value))) if is_one else (0, []))


def test_the_names_of_headers_are_exact(codec):
    names = ("Traceparent", "traceparen", "traceparent2", "xtraceparent")
    assert found_in(codec, codec.encode([carrying((name, LOW)) for name in names])) == (0, [])


def test_bytes_that_are_no_record_are_refused(codec):
    data = codec.encode([carrying(("traceparent", LOW))])
    with pytest.raises(CorruptBatch) as caught:
        codec.contexts(data + b"GQ")
    assert caught.value.position == len(data)
    with pytest.raises(CorruptBatch):
        codec.contexts(data[:-1])


def test_what_a_client_sends_is_understood_before_it_is_stamped(codec):
    data = bytearray(codec.encode([carrying(("traceparent", LOW))]))
    data[25] = 0
    assert found_in(codec, data) == (1, contexts((0, LOW)))
