"""Native requests about the queue that no client of ours would send: refused, and nothing changes."""

import pytest

from goqueue.client import Admin, Producer
from goqueue.client.link import Link
from goqueue.errors import GoQueueError
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.packed_offsets import packed_offsets

TOPIC = "queue-protocol"


@pytest.fixture
async def link(shared_server):
    made = Link(shared_server.native)
    yield made
    await made.close()


@pytest.fixture
async def part(shared_server, link, request):
    """Three records, leased together."""
    name = f"{TOPIC}-{request.node.name}".replace("[", "-").replace("]", "")
    async with Admin(shared_server.native) as admin, Producer(shared_server.native) as producer:
        await admin.create_topic(name, 1)
        await producer.send_many(name, [b"0", b"1", b"2"])
    reply, _ = await link.request(Opcode.TAKE, messages.Take(name, "worker", (name,)), messages.TakeReply)
    (found,) = reply.parts
    return found


def settle(part, *runs, action="ack", packed=b"", **options):
    lease = messages.LeasedRecords(part.topic, part.partition, part.grant, part.token, runs, packed)
    return messages.Settle(part.topic, action, (lease,), **options)


async def outcome(link, request):
    try:
        reply = await link.ask(Opcode.SETTLE, request, messages.SettleReply)
    except GoQueueError as refusal:
        return refusal.code
    (part,) = reply.parts
    return None if part.error is None else part.error.code


@pytest.mark.parametrize("action", ["ack", "nack", "reject", "extend", "release"])
async def test_runs_of_records_that_make_no_sense_are_refused(link, part, action):
    more = {"delay_ms": 1000} if action == "extend" else {}
    for runs in (
        [],
        [(0, 0)],
        [(0, -1)],
        [(0, 10**12), (0, -(10**12))],
        [(0, 100_001)],
        [(-3, 3)],
        [(3, 1)],
        [(0, 4)],
        [(2**62, 1)],
        [(2**63 - 1, 2)],
    ):
        code = await outcome(link, settle(part, *runs, action=action, **more))
        assert code in ("invalid_request", "unknown_receipt"), runs
    assert await outcome(link, settle(part, (0, 3))) is None


@pytest.mark.parametrize("action", ["ack", "nack", "reject", "extend", "release"])
async def test_packed_offsets_that_make_no_sense_are_refused(link, part, action):
    more = {"delay_ms": 1000} if action == "extend" else {}
    for packed in (
        b"1234567",
        packed_offsets([0]) + b"\0",
        packed_offsets([3]),
        packed_offsets([0, 1, 2, 3]),
        packed_offsets([2**63 - 1]),
        packed_offsets([0, 2**64 - 1]),
        packed_offsets([0] * 100_001),
    ):
        code = await outcome(link, settle(part, action=action, packed=packed, **more))
        assert code in ("invalid_request", "unknown_receipt"), packed[:40]
    assert await outcome(link, settle(part, packed=packed_offsets([0, 1, 2]))) is None


async def test_packed_offsets_in_any_order_twice_and_beside_runs_count_once(link, part):
    packed = packed_offsets([2, 0, 2])
    assert await outcome(link, settle(part, (0, 2), action="nack", packed=packed, delay_ms=0)) is None
    take = messages.Take(part.topic, "worker", (part.topic,))
    reply, _ = await link.request(Opcode.TAKE, take, messages.TakeReply)
    assert reply.knows_packed
    assert [(one.deliveries, one.failures) for one in reply.parts[0].redelivered] == [(2, 1)] * 3


async def test_an_acknowledgement_by_packed_offsets_may_be_repeated_and_is_refused_to_another_grant(link, part):
    packed = packed_offsets([0, 2])
    assert await outcome(link, settle(part, packed=packed)) is None
    assert await outcome(link, settle(part, packed=packed)) is None
    assert await outcome(link, settle(part, (1, 1), action="release")) is None
    assert await outcome(link, settle(part, packed=packed_offsets([0, 1]))) == "unknown_receipt"


async def test_runs_that_overlap_count_once(link, part):
    assert await outcome(link, settle(part, (0, 2), (1, 2), (0, 3), action="nack", delay_ms=0)) is None
    take = messages.Take(part.topic, "worker", (part.topic,))
    reply, _ = await link.request(Opcode.TAKE, take, messages.TakeReply)
    assert [(one.deliveries, one.failures) for one in reply.parts[0].redelivered] == [(2, 1)] * 3


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"limit": 0}, "invalid_request"),
        ({"limit": -1}, "invalid_request"),
        ({"limit": 1001}, "invalid_request"),
        ({"wait_ms": -1}, "invalid_request"),
        ({"wait_ms": 60_001}, "invalid_request"),
        ({"visibility_ms": 0}, "invalid_request"),
        ({"visibility_ms": 12 * 3_600_000 + 1}, "invalid_request"),
        ({"consumer": ""}, "invalid_request"),
        ({"consumer": "x" * 250}, "invalid_request"),
        ({"group": "../x"}, "invalid_request"),
        ({"group": ""}, "invalid_request"),
        ({"topics": ("../x",)}, "invalid_request"),
        ({"topics": ()}, "state_conflict"),
        ({"key_order": True}, "state_conflict"),
    ],
)
async def test_a_take_that_asks_for_what_cannot_be_is_refused(link, part, wrong, code):
    given = {"group": part.topic, "consumer": "other", "topics": (part.topic,), **wrong}
    if wrong == {"topics": ()}:
        given["group"] = f"{part.topic}-new"
    with pytest.raises(GoQueueError) as refusal:
        await link.request(Opcode.TAKE, messages.Take(**given), messages.TakeReply)
    assert refusal.value.code == code


async def test_an_extension_without_a_length_or_beyond_all_bounds_is_refused(link, part):
    for delay_ms in (None, -1, 12 * 3_600_000 + 1):
        assert await outcome(link, settle(part, (0, 1), action="extend", delay_ms=delay_ms)) == "invalid_request"
    for delay_ms in (-1, 12 * 3_600_000 + 1):
        assert await outcome(link, settle(part, (0, 1), action="nack", delay_ms=delay_ms)) == "invalid_request"
