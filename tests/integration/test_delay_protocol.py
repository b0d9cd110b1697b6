"""Native requests about delays that no client of ours would send, and how many records one of ours can cancel."""

import pytest

from goqueue.client import Admin, Producer
from goqueue.client.link import Link
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

HOUR_MS = 3_600_000


@pytest.fixture
async def link(shared_server):
    made = Link(shared_server.native)
    yield made
    await made.close()


@pytest.fixture
async def admin(shared_server):
    async with Admin(shared_server.native) as made:
        yield made


@pytest.fixture
async def topic(shared_server, admin, request):
    """Three records that are pending."""
    name = f"delay-protocol-{request.node.name}".replace("[", "-").replace("]", "")
    await admin.create_topic(name, 1)
    async with Producer(shared_server.native) as producer:
        await producer.send_many(name, [b"0", b"1", b"2"], delay_ms=HOUR_MS)
    return name


async def cancel(link, topic, *records):
    request = messages.CancelDelayed(topic, tuple(messages.PendingRecords(*one) for one in records))
    return (await link.ask(Opcode.CANCEL_DELAYED, request, messages.CancelDelayedReply)).parts


@pytest.mark.parametrize(
    "runs", [((0, 0),), ((0, -1),), ((0, 3), (5, 0)), ((0, 100_001),), ((0, 2**63),), ((0, 99_999), (0, 2))]
)
async def test_runs_of_records_that_make_no_sense_or_are_too_long_cancel_nothing(link, admin, topic, runs):
    with pytest.raises(InvalidRequest) as refused:
        await cancel(link, topic, (0, runs))
    assert refused.value.hint
    assert (await admin.list_delayed(topic)).pending == 3


async def test_runs_may_overlap_and_a_partition_may_come_twice(link, topic):
    parts = await cancel(link, topic, (0, ((1, 2), (0, 2))), (0, ((2, 1),)))
    assert parts == (messages.CancelledPart(0, ((0, 3),), ()),)


async def test_records_that_cannot_be_are_reported_as_runs(link, topic):
    (here, there) = await cancel(link, topic, (0, ((-2, 1), (1, 99_997))), (-1, ((2**64 - 1, 2),)))
    assert here.cancelled == ((1, 2),)
    assert [(one.error.code, one.runs) for one in here.refused] == [("unknown_delay", ((-2, 1), (3, 99_995)))]
    assert [(one.error.code, one.runs) for one in there.refused] == [("unknown_partition", ((2**64 - 1, 2),))]


async def test_a_client_cancels_more_records_than_one_request_may_name(admin, topic):
    ended = await admin.cancel_delayed_many(topic, ((0, offset) for offset in range(120_000)))
    assert ended.cancelled == [(0, 0), (0, 1), (0, 2)]
    assert len(ended.refused) == 119_997
    assert {error.code for error in ended.refused.values()} == {"unknown_delay"}


async def test_a_client_with_nothing_to_cancel_is_answered_with_nothing(admin, topic):
    assert await admin.cancel_delayed_many(topic, []) == ([], {})


@pytest.mark.parametrize("place", [(-1, 0), (0, -1), (0, 1 << 70), (1 << 70, 0)])
async def test_a_client_refuses_places_that_cannot_be_and_cancels_nothing(admin, topic, place):
    with pytest.raises(GoQueueError) as refused:
        await admin.cancel_delayed_many(topic, [(0, 0), place])
    assert refused.value.hint
    assert (await admin.list_delayed(topic)).pending == 3
