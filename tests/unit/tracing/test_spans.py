"""What a broker notes of what happens to records: on a fake clock, with everything in memory."""

from random import Random

import msgspec
import pytest

from goqueue import codec
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.tracing.search import spans_at, spans_of_trace
from goqueue.engine.firing import fire_due
from goqueue.engine.groups import commit_offsets
from goqueue.engine.queue import settle
from goqueue.engine.topics import delete_topic
from goqueue.engine.transactions import beginning, ending
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import pledge
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.redrive import Orders, redrive
from goqueue.engine.workbench.search import Wanted
from goqueue.errors import GoQueueError
from goqueue.model.expiry import with_expiry
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.span import SpanLink
from goqueue.model.topic import Expired
from goqueue.model.trace import parse_traceparent
from tests.unit.tracing.scene import (
    CONTEXT,
    GROUP,
    ORDERS,
    PARENT,
    TRACE,
    lease,
    made,
    publish,
    records,
    spans,
    story,
    take,
)

NS_PER_MS = 1_000_000
STATE = ("tracestate", b"vendor=opaque")
S = 1000


# --- publish


async def test_a_batch_without_contexts_is_one_run(broker):
    await made(broker)
    await publish(broker, *records(*[b"x"] * 1000))
    (run,) = broker.tracing.ring
    assert (run.operation, run.topic, run.partition, run.offset, run.count) == ("publish", ORDERS, 0, 0, 1000)
    assert run.created_ns == broker.catalog.topic(ORDERS).created_ns > 0
    assert len({span.trace_id for span in spans(broker)}) == 1000
    assert broker.tracing.recorded == 1000


async def test_one_in_a_hundred_of_a_batch_is_one_run_as_well(open_broker):
    async with open_broker(rate=0.01) as broker:
        await made(broker)
        await publish(broker, *records(*[b"x"] * 1000))
        (run,) = broker.tracing.ring
        assert (run.count, run.step, broker.tracing.recorded) == (10, 100, 10)
        traced = spans(broker)
        assert [span.offset for span in traced] == [run.offset + 100 * number for number in range(10)]
        for span in traced:
            by_trace = spans_of_trace(broker.tracing.ring, span.trace_id)
            by_place = spans_at(broker.tracing.ring, ORDERS, run.created_ns, 0, span.offset)
            assert [(one.span_id, one.offset) for one in by_trace] == [(span.span_id, span.offset)]
            assert by_place == by_trace
        assert spans_at(broker.tracing.ring, ORDERS, run.created_ns, 0, run.offset + 1) == []


async def test_of_a_spaced_run_those_that_come_again_are_told_apart(open_broker):
    async with open_broker(rate=0.1) as broker:
        await made(broker)
        await publish(broker, *records(*[b"x"] * 100))
        (part,) = await take(broker)
        await settle.give_back(broker, lease(part, *range(50)))
        (again,) = await take(broker)
        await settle.acknowledge(broker, lease(part, *range(50, 100)))
        await settle.acknowledge(broker, lease(again))
        consumed = {(span.offset, span.run.delivery) for span in spans(broker, operation="consume")}
        acked = {(span.offset, span.run.delivery) for span in spans(broker, operation="ack")}
        first = spans(broker, operation="publish")[0].offset
        assert acked == {(offset, 2 if offset < 50 else 1) for offset in range(first, 100, 10)}
        assert consumed == acked | {(offset, 1) for offset in range(first, 50, 10)}


async def test_a_record_with_a_context_is_published_in_its_trace(broker):
    await made(broker)
    await publish(broker, *records(b"a"), *records(b"b", headers=(CONTEXT,)), *records(b"c"))
    own, theirs = spans(broker, context=None), [one for one in spans(broker) if one.run.context]
    assert [one.offset for one in own] == [0, 2]
    assert [(one.offset, one.trace_id, one.parent_id) for one in theirs] == [(1, TRACE, PARENT)]
    assert all(one.parent_id == "" and one.trace_id != TRACE for one in own)


def carriers(count, seed=1):
    """Records of as many traces."""
    chance = Random(seed)
    contexts = [f"00-{chance.getrandbits(128) | 1:032x}-{chance.getrandbits(64) | 1:016x}-01" for _ in range(count)]
    return contexts, [Record(value=b"x", headers=(("traceparent", one.encode()),)) for one in contexts]


async def test_a_batch_of_many_traces_is_one_run_and_each_record_is_in_its_own(broker):
    await made(broker)
    contexts, batch = carriers(1000)
    await publish(broker, *batch)
    (run,) = broker.tracing.ring
    assert (run.offset, run.count, broker.tracing.recorded) == (0, 1000, 1000)
    wanted = [(one[3:35], one[36:52], offset) for offset, one in enumerate(contexts)]
    assert [(span.trace_id, span.parent_id, span.offset) for span in spans(broker)] == wanted
    for offset in (0, 1, 500, 999):
        (by_trace,) = spans_of_trace(broker.tracing.ring, contexts[offset][3:35])
        (by_place,) = spans_at(broker.tracing.ring, ORDERS, run.created_ns, 0, offset)
        assert by_trace == by_place
        assert by_trace.offset == offset
    assert spans_at(broker.tracing.ring, ORDERS, run.created_ns, 0, 1000) == []
    assert spans_of_trace(broker.tracing.ring, "no trace") == []


async def test_of_a_batch_of_many_traces_those_are_noted_that_count(open_broker):
    async with open_broker(rate=0.1) as broker:
        await made(broker)
        contexts, batch = carriers(500)
        await publish(broker, Record(value=b"alone"), *batch)
        counted = [one for one in contexts if int(one[19:35], 16) < 2**64 // 10]
        assert 20 < len(counted) < 100
        assert {one.trace_id for one in spans(broker)} >= {one[3:35] for one in counted}
        (part,) = await take(broker, 1000)
        await settle.acknowledge(broker, lease(part))
        for operation in ("publish", "consume", "ack"):
            noted = {one.trace_id for one in spans(broker, operation=operation)}
            assert noted & {one[3:35] for one in contexts} == {one[3:35] for one in counted}, operation


async def test_of_many_traces_those_that_come_again_are_told_apart(broker):
    await made(broker)
    contexts, batch = carriers(20)
    await publish(broker, *batch)
    (part,) = await take(broker)
    await settle.give_back(broker, lease(part, *range(8)))
    (again,) = await take(broker)
    await settle.acknowledge(broker, lease(part, *range(8, 20)))
    await settle.acknowledge(broker, lease(again))
    acked = {(span.trace_id, span.run.delivery) for span in spans(broker, operation="ack")}
    assert acked == {(one[3:35], 2 if offset < 8 else 1) for offset, one in enumerate(contexts)}
    for offset, one in enumerate(contexts):
        found = spans_of_trace(broker.tracing.ring, one[3:35])
        assert [str(span.run.operation) for span in found] == ["publish", *["consume"] * (1 + (offset < 8)), "ack"]


async def test_scattered_records_of_many_traces_are_noted_where_they_are(broker):
    await made(broker)
    contexts, batch = carriers(60)
    await publish(broker, *(msgspec.structs.replace(one, priority=number % 5) for number, one in enumerate(batch)))
    (part,) = await take(broker, 20)
    taken = [record.offset for record in codec.decode(part.records)]
    assert taken[-1] - taken[0] > len(taken)
    found = spans(broker, operation="consume")
    assert [(one.offset, one.trace_id) for one in found] == [(offset, contexts[offset][3:35]) for offset in taken]
    await settle.acknowledge(broker, lease(part))
    assert [one.offset for one in spans(broker, operation="ack")] == taken


async def test_the_ring_keeps_the_last_records_of_a_run_that_is_too_long_for_it(open_broker):
    async with open_broker(ring=100) as broker:
        await made(broker)
        contexts, batch = carriers(1000)
        await publish(broker, *batch)
        assert [one.trace_id for one in spans(broker)] == [one[3:35] for one in contexts[-100:]]
        assert [one.offset for one in spans(broker)] == list(range(900, 1000))


async def test_a_record_alone_is_noted_with_its_key_and_id(broker):
    await made(broker)
    await publish(broker, Record(value=b"x", key=b"k1", headers=(("goqueue-id", b"o-1"),)), ids=["o-1"])
    (span,) = spans(broker)
    assert (span.run.key, span.run.id) == (b"k1", "o-1")


async def test_a_duplicate_is_not_noted_again(broker):
    await made(broker)
    one, other = [Record(value=b"x", headers=(("goqueue-id", text.encode()),)) for text in ("o-1", "o-2")]
    await publish(broker, one, ids=["o-1"])
    await publish(broker, one, ids=["o-1"])
    assert story(broker) == ["publish"]
    await publish(broker, one, other, ids=["o-1", "o-2"])
    assert [(span.offset, span.run.id) for span in spans(broker)] == [(0, "o-1"), (1, "o-2")]


@pytest.mark.parametrize("rate", [0.0, 1.0])
async def test_a_refusal_is_noted_whatever_the_rate(open_broker, rate):
    async with open_broker(rate=rate) as broker:
        await made(broker, max_value_bytes=10)
        with pytest.raises(GoQueueError):
            await publish(broker, *records(b"x" * 11))
        with pytest.raises(GoQueueError):
            await publish(broker, *records(b"x" * 11, headers=(CONTEXT,)))
        with pytest.raises(GoQueueError):
            await publish(broker, *records(b"x"), name="nowhere")
        found = spans(broker)
        assert [one.run.error for one in found] == ["record_too_large", "record_too_large", "unknown_topic"]
        assert [one.trace_id == TRACE for one in found] == [False, True, False]
        assert len({one.trace_id for one in found}) == 3


async def test_when_it_is_off_nothing_is_noted(open_broker, clock):
    async with open_broker(enabled=False) as broker:
        await made(broker, max_value_bytes=10, max_attempts=1)
        with pytest.raises(GoQueueError):
            await publish(broker, *records(b"x" * 11))
        await publish(broker, *records(b"x"))
        (part,) = await take(broker)
        await settle.nack(broker, lease(part))
        assert list(broker.tracing.ring) == []
        assert (broker.tracing.recorded, broker.tracing.sampled_out) == (0, 0)
        letters, _ = await _read(broker, f"{ORDERS}.dlq")
        assert "traceparent" not in dict(letters.headers)


async def _read(broker, name, offset=0):
    partition = broker.partition(name, 0)
    chunk = partition.log.read(offset, 1 << 20, partition.high_watermark)
    return codec.decode(chunk.records)[0], partition


# --- the queue


async def test_one_trace_tells_all_that_happens_to_a_record(broker, clock):
    """Published, delivered, given back, delivered, rejected, dead, sent back, delivered, done."""
    await made(broker)
    await publish(broker, *records(b"x"))
    (part,) = await take(broker)
    clock.advance_ms(5)
    await settle.nack(broker, lease(part), reason="busy")
    clock.advance_ms(2 * S)
    (part,) = await take(broker)
    clock.advance_ms(5)
    await settle.reject(broker, lease(part), reason="no such customer")
    clock.advance_ms(5)
    report = await redrive(desk_of(broker, ORDERS), Orders(Wanted()))
    assert report.done == 1
    clock.advance_ms(5)
    (part,) = await take(broker)
    clock.advance_ms(5)
    await settle.acknowledge(broker, lease(part))

    found = spans(broker)
    assert len({one.trace_id for one in found}) == 1
    assert [str(one.run.operation) for one in found] == [
        *("publish", "consume", "nack", "consume", "publish", "reject", "dlq"),
        *("publish", "redrive", "consume", "ack"),
    ]
    published, first, nack, second, letter, reject, dead, again, back, third, done = found
    assert published.parent_id == ""
    assert first.parent_id == second.parent_id == published.span_id
    assert nack.parent_id == first.span_id
    assert reject.parent_id == dead.parent_id == second.span_id
    assert letter.parent_id == again.parent_id == dead.span_id
    assert back.parent_id == letter.span_id
    assert third.parent_id == again.span_id
    assert done.parent_id == third.span_id
    assert [one.run.delivery for one in (first, second, third)] == [1, 2, 1]
    assert (nack.run.error, reject.run.error, dead.run.error) == ("busy", "no such customer", "no such customer")
    assert (dead.run.target, back.run.target) == (f"{ORDERS}.dlq/0/0", f"{ORDERS}/0/1")
    assert {one.run.group for one in (first, nack, second, reject, dead, third, done)} == {GROUP}
    assert first.run.member == nack.run.member == "worker"


async def test_a_record_with_a_context_stays_in_its_trace_and_keeps_its_context(broker, clock):
    await made(broker, max_attempts=1)
    await publish(broker, *records(b"x", headers=(CONTEXT,)))
    (part,) = await take(broker)
    await settle.nack(broker, lease(part), reason="broken")
    await redrive(desk_of(broker, ORDERS), Orders(Wanted()))
    (part,) = await take(broker)
    await settle.acknowledge(broker, lease(part))
    assert {one.trace_id for one in spans(broker)} == {TRACE}
    published = spans(broker, operation="publish", topic=ORDERS, offset=0)[0]
    assert published.parent_id == PARENT
    assert spans(broker, operation="consume", offset=0)[0].parent_id == published.span_id


async def test_the_letter_of_a_record_with_a_context_hangs_under_the_span_in_which_it_died(broker, clock):
    """Not under the span of the client that sent the record; and keeps the flags and the state of its trace."""
    await made(broker, max_attempts=1)
    unsampled = ("traceparent", CONTEXT[1][:-2] + b"00")
    await publish(broker, *records(b"x", headers=(unsampled, STATE)))
    (part,) = await take(broker)
    await settle.nack(broker, lease(part), reason="broken")
    clock.advance_ms(1)
    await redrive(desk_of(broker, ORDERS), Orders(Wanted()))
    (dead,) = spans(broker, operation="dlq")
    letter, _ = await _read(broker, f"{ORDERS}.dlq")
    again, _ = await _read(broker, ORDERS, 1)
    carried = f"00-{TRACE}-{dead.span_id}-00".encode()
    for record in (letter, again):
        assert [value for name, value in record.headers if name == "traceparent"] == [carried]
        assert [value for name, value in record.headers if name == "tracestate"] == [STATE[1]]
    (of_letter,) = spans(broker, operation="publish", topic=f"{ORDERS}.dlq")
    of_again = spans(broker, operation="publish", topic=ORDERS)[-1]
    assert of_letter.parent_id == of_again.parent_id == dead.span_id
    assert {one.trace_id for one in spans(broker)} == {TRACE}
    assert {one.tracestate for one in spans(broker)} == {"vendor=opaque"}


async def test_a_trace_state_without_a_trace_is_not_given_to_the_letter(broker):
    await made(broker, max_attempts=1)
    await publish(broker, *records(b"x", headers=(STATE,)))
    (part,) = await take(broker)
    await settle.nack(broker, lease(part))
    letter, _ = await _read(broker, f"{ORDERS}.dlq")
    assert "tracestate" not in dict(letter.headers)
    assert {one.tracestate for one in spans(broker)} == {""}


@pytest.mark.parametrize("count", [1, 20])
async def test_all_spans_of_a_record_have_the_trace_state_that_it_carries(broker, clock, count):
    """Also of those that are noted together, that are redelivered, and that are settled by their offsets alone."""
    await made(broker, max_attempts=5)
    contexts, batch = carriers(count)
    states = [f"vendor={number}" if number % 3 else "" for number in range(1, count + 1)]
    some = [
        msgspec.structs.replace(one, headers=(*one.headers, ("tracestate", state.encode())))
        for one, state in zip(batch, states, strict=True)
    ]
    await publish(broker, *some, dues=[clock.now_ns() + NS_PER_MS] * count)
    clock.advance_ms(2)
    assert await fire_due(broker) == count
    await broker.queues.drain()
    (part,) = await take(broker)
    await settle.nack(broker, lease(part), reason="busy", pause_ms=0)
    (part,) = await take(broker)
    await settle.acknowledge(broker, lease(part))
    found = spans(broker)
    assert len(found) == 6 * count
    by_trace = {one[3:35]: state for one, state in zip(contexts, states, strict=True)}
    assert {(one.trace_id, one.tracestate) for one in found} == set(by_trace.items())


async def test_a_delivery_is_linked_to_where_its_record_was_created(broker):
    """The span of the sender, or that of the publish when the record carries no context."""
    await made(broker)
    await publish(broker, *records(b"a", headers=(CONTEXT, STATE)), *records(b"b"))
    (part,) = await take(broker)
    await settle.acknowledge(broker, lease(part))
    sent, own = spans(broker, operation="publish")
    by_offset = {one.offset: one.links for one in spans(broker, operation="consume")}
    sender = SpanLink(TRACE, PARENT, "vendor=opaque", is_remote=True)
    assert by_offset == {0: (sender,), 1: (SpanLink(own.trace_id, own.span_id),)}
    assert (sent.links, own.links) == ((sender,), ())
    assert {one.links for one in spans(broker, operation="ack")} == {()}


async def test_failures_have_one_of_few_codes_whatever_workers_say(broker, clock):
    await made(broker, max_attempts=2, visibility_timeout_ms=1000, expired=Expired.DEAD_LETTER)
    soon = with_expiry(records(b"late")[0], clock.now_ns() + 10 * NS_PER_MS)
    await publish(broker, *records(b"nacked", b"rejected", b"overdue"), soon)
    (part,) = await take(broker, 3)
    await settle.nack(broker, lease(part, 0), reason="card_refused", pause_ms=0)
    await settle.reject(broker, lease(part, 1), reason="no_such_customer")
    clock.advance_ms(1001)
    await settle.return_overdue(broker)
    (part,) = await take(broker, 1)
    await settle.nack(broker, lease(part, 0), reason="card_refused_again")
    await take(broker)
    with pytest.raises(GoQueueError):
        await publish(broker, *records(b"x"), name="nowhere")
    ref = await begun(broker)
    await publish(broker, *records(b"never"), transaction=ref)
    await ending.abort(broker, *ref)
    found = {(str(one.run.operation), one.run.error_type, one.run.error) for one in spans(broker) if one.run.error}
    assert found == {
        ("nack", "nacked", "card_refused"),
        ("nack", "nacked", "card_refused_again"),
        ("reject", "rejected", "no_such_customer"),
        ("dlq", "rejected", "no_such_customer"),
        ("nack", "lease_expired", "timeout"),
        ("dlq", "failed_too_often", "card_refused_again"),
        ("expire", "expired", "expired"),
        ("dlq", "expired", "it was not taken in its time"),
        ("publish", "unknown_topic", "unknown_topic"),
        ("transaction", "aborted", "its producer aborted it"),
    }
    assert {one.run.error_type for one in spans(broker) if not one.run.error} == {""}


async def test_a_dead_letter_carries_the_span_in_which_it_died(broker):
    await made(broker, max_attempts=1)
    await publish(broker, *records(b"x"))
    (part,) = await take(broker)
    await settle.nack(broker, lease(part))
    letter, _ = await _read(broker, f"{ORDERS}.dlq")
    carried = parse_traceparent(dict(letter.headers)["traceparent"])
    (dead,) = spans(broker, operation="dlq")
    assert (carried.trace_id, carried.span_id) == (dead.trace_id, dead.span_id)


async def test_a_lease_that_ends_is_noted_as_a_timeout(open_broker, clock):
    async with open_broker(rate=0.0) as broker:
        await made(broker, visibility_timeout_ms=1000)
        await publish(broker, *records(b"a", b"b"), *records(b"c", headers=(CONTEXT,)))
        await take(broker)
        clock.advance_ms(1001)
        assert await settle.return_overdue(broker) == 3
        found = spans(broker)
        assert [
            (str(one.run.operation), one.offset, one.run.error) for one in sorted(found, key=lambda x: x.offset)
        ] == [
            ("nack", 0, "timeout"),
            ("nack", 1, "timeout"),
            ("nack", 2, "timeout"),
        ]
        assert [one.trace_id == TRACE for one in sorted(found, key=lambda x: x.offset)] == [False, False, True]


async def test_failures_are_kept_at_rate_0_and_nothing_else_is(open_broker, clock):
    async with open_broker(rate=0.0) as broker:
        await made(broker, max_attempts=2)
        await publish(broker, *records(b"a", b"b", b"c", headers=(CONTEXT,)), *records(b"d"))
        (part,) = await take(broker)
        await settle.nack(broker, lease(part, 0), reason="first")
        await settle.reject(broker, lease(part, 1), reason="never")
        await settle.acknowledge(broker, lease(part, 2, 3))
        clock.advance_ms(10 * S)
        (part,) = await take(broker)
        await settle.nack(broker, lease(part, 0), reason="second")
        assert story(broker, topic=ORDERS) == ["nack", "reject", "dlq", "nack", "dlq"]
        assert {one.trace_id for one in spans(broker)} == {TRACE}


async def test_a_failure_at_rate_0_is_in_the_trace_that_its_record_carries(open_broker):
    async with open_broker(rate=0.0) as broker:
        await made(broker)
        await publish(broker, *records(b"a", b"b", headers=(CONTEXT,)))
        (part,) = await take(broker)
        await settle.nack(broker, lease(part, 1), reason="no")
        (span,) = spans(broker)
        assert (span.run.operation, span.offset, span.trace_id) == ("nack", 1, TRACE)


async def test_the_topic_says_how_much_of_it_is_traced(open_broker):
    async with open_broker(rate=0.0) as broker:
        await made(broker, trace_rate=1.0)
        await made(broker, "other")
        await publish(broker, *records(b"x"))
        await publish(broker, *records(b"x"), name="other")
        assert [one.run.topic for one in spans(broker)] == [ORDERS]


@pytest.mark.parametrize("rate", [0.01, 0.25, 0.6])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
async def test_publish_consume_and_ack_agree_on_what_is_traced(open_broker, rate, share):
    """However records are cut into batches on the way, and whether they carry contexts or not."""
    async with open_broker(rate=rate) as broker:
        await made(broker)
        some = [
            Record(value=b"x", headers=(_context(number),) if number % 100 < 100 * share else ())
            for number in range(400)
        ]
        for first in range(0, 400, 57):
            await publish(broker, *some[first : first + 57])
        while taken := await take(broker, 33):
            for part in taken:
                offsets = [one.offset for one in codec.decode(part.records)]
                await settle.acknowledge(broker, lease(part, *offsets[::2]))
                if offsets[1::2]:
                    await settle.acknowledge(broker, lease(part, *offsets[1::2]))
        by_operation = {
            name: {(one.offset, one.trace_id) for one in spans(broker, operation=name)}
            for name in ("publish", "consume", "ack")
        }
        assert by_operation["publish"] == by_operation["consume"] == by_operation["ack"]
        if share == 0:
            assert len(by_operation["publish"]) == 400 * rate
        for offset, trace in by_operation["publish"]:
            if some[offset].headers:
                assert trace == _context(offset)[1][3:35].decode()
        assert broker.tracing.sampled_out == 3 * (400 - len(by_operation["publish"]))


def _context(number):
    low = number * 0x9E3779B97F4A7C15 % 2**64
    return "traceparent", f"00-{number + 1:016x}{low:016x}-b7ad6b7169203331-01".encode()


async def test_an_ack_after_a_restart_is_in_the_trace_of_its_record(open_broker, clock):
    async with open_broker() as broker:
        await made(broker)
        await publish(broker, *records(b"a", headers=(CONTEXT,)), *records(b"b"))
        (part,) = await take(broker)
    clock.advance_ms(1)
    async with open_broker() as broker:
        await settle.acknowledge(broker, lease(part, 0))
        assert [(one.trace_id, str(one.run.operation)) for one in spans(broker)] == [(TRACE, "ack")]


async def test_a_topic_made_anew_has_other_traces(broker, clock):
    await made(broker)
    await publish(broker, *records(b"x", headers=(CONTEXT,)))
    await delete_topic(broker, ORDERS)
    clock.advance_ms(1)
    await made(broker)
    await publish(broker, *records(b"x"))
    (part,) = await take(broker)
    await settle.nack(broker, lease(part))
    _, *new = spans(broker)
    assert TRACE not in {one.trace_id for one in new}
    assert len({one.trace_id for one in new}) == 1


# --- time


@pytest.mark.parametrize("dead_letters", [False, True])
async def test_a_record_that_nobody_took_in_time_is_noted_as_expired(open_broker, clock, dead_letters):
    async with open_broker(rate=0.0) as broker:
        await made(broker, expired=Expired.DEAD_LETTER if dead_letters else Expired.SKIP)
        await publish(broker, with_expiry(records(b"x")[0], clock.now_ns() + NS_PER_MS))
        clock.advance_ms(2)
        assert await take(broker) == []
        found = spans(broker, topic=ORDERS)
        assert [str(one.run.operation) for one in found] == (["expire", "dlq"] if dead_letters else ["expire"])
        assert found[0].run.error == "expired"
        assert len({one.trace_id for one in spans(broker)}) == 1


async def test_a_delay_lasts_from_the_publish_until_it_is_due(broker, clock):
    await made(broker)
    start = clock.now_ns()
    await publish(broker, *records(b"a", headers=(CONTEXT,)), *records(b"b"), dues=[start + 10 * NS_PER_MS, 0])
    clock.advance_ms(11)
    assert await fire_due(broker) == 1
    await broker.queues.drain()
    (delay,) = spans(broker, operation="delay")
    assert (delay.trace_id, delay.offset) == (TRACE, 0)
    assert (delay.run.start_ns, delay.run.end_ns) == (start, start + 11 * NS_PER_MS)
    assert delay.parent_id == spans(broker, operation="publish", offset=0)[0].span_id


# --- streams


async def test_a_group_that_commits_has_consumed_what_lies_before(broker):
    await made(broker)
    await publish(broker, *records(b"a", b"b"), *records(b"c", headers=(CONTEXT,)), *records(b"d"))
    await commit_offsets(broker, "readers", {LogId(ORDERS, 0): OffsetAndMetadata(2)}, None, None)
    await commit_offsets(broker, "readers", {LogId(ORDERS, 0): OffsetAndMetadata(4)}, None, None)
    await commit_offsets(broker, "readers", {LogId(ORDERS, 0): OffsetAndMetadata(1)}, None, None)
    found = spans(broker, operation="consume", group="readers")
    assert sorted(one.offset for one in found) == [0, 1, 2, 3]
    assert [one.offset for one in found if one.trace_id == TRACE] == [2]
    assert {one.run.delivery for one in found} == {0}


# --- transactions


async def begun(broker):
    enlisted = await beginning.enlist(broker, "teller", 60_000)
    began = await beginning.begin(broker, enlisted.producer_id, enlisted.epoch)
    return InTransaction(began.number, enlisted.producer_id, enlisted.epoch)


async def test_a_transaction_has_a_span_and_its_records_have_its_number(broker, clock):
    await made(broker)
    await publish(broker, *records(b"a"))
    (part,) = await take(broker)
    ref = await begun(broker)
    start = clock.now_ns()
    await publish(broker, *records(b"b"), transaction=ref)
    await pledge(broker, ref, lease(part), "ack")
    assert "ack" not in story(broker)
    clock.advance_ms(7)
    await ending.commit(broker, *ref)
    await broker.queues.drain()
    (whole,) = spans(broker, operation="transaction")
    assert (whole.run.start_ns, whole.run.end_ns, whole.run.error) == (start, start + 7 * NS_PER_MS, "")
    assert {str(one.run.operation) for one in spans(broker, transaction=ref.number)} == {
        *("transaction", "publish", "ack")
    }


async def test_an_abort_is_noted_at_rate_0_and_a_commit_is_not(open_broker):
    async with open_broker(rate=0.0) as broker:
        await made(broker)
        ref = await begun(broker)
        await publish(broker, *records(b"b"), transaction=ref)
        await ending.commit(broker, *ref)
        assert story(broker) == []
        ref = await begun(broker)
        await publish(broker, *records(b"b"), transaction=ref)
        await ending.abort(broker, *ref)
        (aborted,) = spans(broker)
        assert (str(aborted.run.operation), aborted.run.transaction) == ("transaction", ref.number)
        assert aborted.run.error


async def test_a_transaction_that_is_aborted_with_nothing_in_it_is_no_error(broker, clock):
    """As a client aborts one that it began only to learn that its work was done before."""
    await ending.abort(broker, *await begun(broker))
    part = await beginning.begin_part(broker, "daily-export", 60_000)
    await ending.abort(broker, part.number, part.producer_id, part.epoch)
    assert [span.run.error for span in spans(broker, operation="transaction")] == ["", ""]
    overdue = await begun(broker)
    clock.advance_ms(61_000)
    await ending.abort_overdue(broker)
    assert [span.run.error for span in spans(broker, transaction=overdue.number)] == ["its time was up"]


async def test_what_an_aborted_transaction_was_to_acknowledge_is_not_noted(broker):
    await made(broker)
    await publish(broker, *records(b"a"))
    (part,) = await take(broker)
    ref = await begun(broker)
    await pledge(broker, ref, lease(part), "ack")
    await ending.abort(broker, *ref)
    await broker.queues.drain()
    assert "ack" not in story(broker)
    await settle.acknowledge(broker, lease(part))
    assert len(spans(broker, operation="ack")) == 1


# --- bounds


async def test_the_ring_holds_no_more_spans_than_it_is_given(open_broker):
    async with open_broker(ring=100) as broker:
        await made(broker)
        for _ in range(10):
            await publish(broker, *records(*[b"x"] * 30))
            assert len(broker.tracing.ring) <= 100
        assert [one.offset for one in spans(broker)] == list(range(210, 300))
        await publish(broker, *records(*[b"x"] * 250))
        assert [one.offset for one in spans(broker)] == list(range(450, 550))
        assert broker.tracing.recorded == 550


async def test_sinks_get_what_is_noted_and_say_what_they_drop(broker):
    class Outlet:
        def __init__(self):
            self.runs = []

        def take(self, runs):
            if self.runs:
                return sum(run.count for run in runs)
            self.runs += runs
            return None

    outlet = Outlet()
    broker.tracing.add_sink(outlet)
    await made(broker)
    await publish(broker, *records(b"x"))
    await publish(broker, *records(b"x", b"x"))
    assert [run.count for run in outlet.runs] == [1]
    assert broker.tracing.dropped == 2
