"""Native requests about transactions that no client of ours would send: refused, and nothing changes."""

import msgspec
import pytest

from goqueue import codec
from goqueue.client import Admin, Consumer, Producer
from goqueue.client.link import Link
from goqueue.errors import GoQueueError
from goqueue.model.record import Record
from goqueue.wire.native import messages
from goqueue.wire.native import transactions as wire
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.packed_offsets import packed_offsets
from tests.behaviour.serving import name_of

LARGEST = 2**63 - 1
RECORDS = codec.encode([Record(b"1"), Record(b"2")])


@pytest.fixture
async def link(shared_server):
    made = Link(shared_server.native)
    yield made
    await made.close()


@pytest.fixture
async def topic(shared_server, request):
    name = name_of(request.node.nodeid)[-150:]
    async with Admin(shared_server.native) as admin:
        await admin.create_topic(name, 1)
    return name


async def ask(link, opcode, message, reply=messages.Done, tail=b""):
    answer, _ = await (await link.connection()).request(opcode, message, reply, tail)
    return answer


async def begun(link, transactional_id):
    init = wire.InitTransactions(transactional_id)
    who = await ask(link, Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity)
    began = await ask(link, Opcode.BEGIN_TRANSACTION, wire.BeginTransaction(who.producer_id, who.epoch), wire.Begun)
    return wire.TransactionRef(began.number, began.producer_id, began.epoch)


async def refusal(link, opcode, message, reply=messages.Done, tail=b""):
    try:
        await ask(link, opcode, message, reply, tail)
    except GoQueueError as error:
        assert type(error) is not GoQueueError, "an error without a code that clients know"
        assert error.code != "internal"
        return error.code
    return None


def publish_in(ref, topic, **options):
    given = {"producer_id": ref.producer_id, "producer_epoch": ref.epoch, "transaction": ref.number, **options}
    return messages.Publish(topic, 0, **given)


def requests_of(ref, topic):
    """Everything that can be asked about a transaction."""
    lease = messages.LeasedRecords(topic, 0, 1, "token", ((0, 1),))
    return [
        (Opcode.PREPARE_PART, wire.PreparePart(ref)),
        (Opcode.COMMIT_TRANSACTION, wire.EndTransaction(ref)),
        (Opcode.ABORT_TRANSACTION, wire.EndTransaction(ref)),
        (Opcode.ADD_ACKS, wire.AddAcks(ref, topic, "ack", (lease,))),
        (Opcode.ADD_OFFSETS, wire.AddOffsets(ref, topic, (messages.PartitionOffset(topic, 0, 0),))),
    ]


async def values(server, topic, **settings):
    async with Consumer(topic, bootstrap=server.native, **settings) as consumer:
        return [one.value for one in await consumer.poll(wait_ms=0)]


async def test_numbers_producers_and_epochs_that_do_not_fit_are_refused(shared_server, link, topic):
    mine, other = await begun(link, topic), await begun(link, f"{topic}-other")
    wrong = [
        wire.TransactionRef(other.number, mine.producer_id, mine.epoch),
        wire.TransactionRef(mine.number, other.producer_id, other.epoch),
        wire.TransactionRef(mine.number, mine.producer_id, mine.epoch + 1),
        wire.TransactionRef(mine.number, mine.producer_id, -1),
        wire.TransactionRef(mine.number, LARGEST, 0),
        wire.TransactionRef(LARGEST, mine.producer_id, mine.epoch),
        wire.TransactionRef(0, mine.producer_id, mine.epoch),
        wire.TransactionRef(-1, -1, -1),
    ]
    expected = {"unknown_transaction", "unknown_producer", "producer_fenced"}
    for ref in wrong:
        for opcode, message in requests_of(ref, topic):
            assert await refusal(link, opcode, message) in expected, (ref, opcode)
        assert await refusal(link, Opcode.PUBLISH, publish_in(ref, topic), messages.Published, RECORDS) in expected
    for ref in (mine, other):
        await ask(link, Opcode.PUBLISH, publish_in(ref, topic), messages.Published, RECORDS)
        await ask(link, Opcode.COMMIT_TRANSACTION, wire.EndTransaction(ref))
    assert await values(shared_server, topic) == [b"1", b"2"] * 2


async def test_a_transaction_that_has_ended_takes_nothing_more(shared_server, link, topic):
    for ending in (Opcode.COMMIT_TRANSACTION, Opcode.ABORT_TRANSACTION):
        ref = await begun(link, topic)
        for _ in range(2):
            await ask(link, ending, wire.EndTransaction(ref))
        for opcode, message in requests_of(ref, topic):
            if opcode != ending:
                assert await refusal(link, opcode, message) == "transaction_ended", opcode
        answer = await refusal(link, Opcode.PUBLISH, publish_in(ref, topic), messages.Published, RECORDS)
        assert answer == "transaction_ended"
    assert await values(shared_server, topic, isolation="read_uncommitted") == []


async def test_records_of_a_transaction_need_their_producer_and_have_no_ids(shared_server, link, topic):
    ref = await begun(link, topic)
    for options in (
        {"producer_id": None},
        {"ids": ("a", "b")},
        {"partitions": 7},
    ):
        message = publish_in(ref, topic, **options)
        answer = await refusal(link, Opcode.PUBLISH, message, messages.Published, RECORDS)
        assert answer in {"invalid_request", "unknown_partition"}
    await ask(link, Opcode.COMMIT_TRANSACTION, wire.EndTransaction(ref))
    assert await values(shared_server, topic, isolation="read_uncommitted") == []


async def test_a_batch_that_is_sent_again_in_a_transaction_is_answered_as_the_first_time(shared_server, link, topic):
    ref = await begun(link, topic)
    first, again = [
        await ask(link, Opcode.PUBLISH, publish_in(ref, topic), messages.Published, RECORDS) for _ in range(2)
    ]
    assert (first.base_offset, first.duplicate) == (0, False)
    assert (again.base_offset, again.duplicate) == (0, True)
    gap = publish_in(ref, topic, sequence=7)
    assert await refusal(link, Opcode.PUBLISH, gap, messages.Published, RECORDS) == "out_of_order_sequence"
    await ask(link, Opcode.PUBLISH, publish_in(ref, topic, sequence=2), messages.Published, RECORDS)
    await ask(link, Opcode.COMMIT_TRANSACTION, wire.EndTransaction(ref))
    assert await values(shared_server, topic) == [b"1", b"2"] * 2


async def test_names_and_times_out_of_bounds_are_refused(link, topic):
    for name, timeout_ms in (("", 1000), ("x" * 1000, 1000), (topic, 0), (topic, -1), (topic, LARGEST)):
        init = wire.InitTransactions(name, timeout_ms)
        assert await refusal(link, Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity) == "invalid_request"
        part = wire.BeginPart(name, timeout_ms)
        assert await refusal(link, Opcode.BEGIN_PART, part, wire.Begun) == "invalid_request"
    assert await refusal(link, Opcode.DECIDE_PARTS, wire.DecideParts("", ()), wire.PartsDecided) == "invalid_request"


async def test_an_instance_that_says_who_it_was_does_not_fence_a_newer_one(link, topic):
    old, new = await begun(link, topic), await begun(link, topic)
    init = wire.InitTransactions(topic, 1000, old.producer_id, old.epoch)
    assert await refusal(link, Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity) == "producer_fenced"
    for producer_id, epoch in ((new.producer_id, new.epoch + 1), (LARGEST, 0), (-1, -1)):
        init = wire.InitTransactions(topic, 1000, producer_id, epoch)
        assert await refusal(link, Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity) == "unknown_producer"
    other = await begun(link, f"{topic}-other")
    init = wire.InitTransactions(topic, 1000, other.producer_id, other.epoch)
    assert await refusal(link, Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity) == "producer_fenced"
    await ask(link, Opcode.COMMIT_TRANSACTION, wire.EndTransaction(new))


async def test_leases_that_make_no_sense_are_refused_and_only_an_abort_is_left(shared_server, link, topic):
    async with Producer(shared_server.native) as producer:
        await producer.send_many(topic, [b"0", b"1", b"2"])
    reply, _ = await link.request(Opcode.TAKE, messages.Take(topic, "worker", (topic,)), messages.TakeReply)
    (part,) = reply.parts

    def acks(ref, *runs, action="ack", **options):
        lease = messages.LeasedRecords(topic, 0, part.grant, part.token, runs)
        return wire.AddAcks(ref, topic, action, (lease,), **options)

    for runs in ([], [(0, 0)], [(0, -1)], [(0, 10**12)], [(-3, 3)], [(3, 1)], [(2**62, 1)], [(LARGEST, 2)]):
        ref = await begun(link, topic)
        answer = await refusal(link, Opcode.ADD_ACKS, acks(ref, *runs), wire.AcksAdded)
        assert answer in {"invalid_request", "unknown_receipt"}, runs
        await ask(link, Opcode.ABORT_TRANSACTION, wire.EndTransaction(ref))
    ref = await begun(link, topic)
    good = messages.LeasedRecords(topic, 0, part.grant, part.token, ((0, 1),))
    bad = messages.LeasedRecords(topic, 0, part.grant, "forged", ((1, 1),))
    two = wire.AddAcks(ref, topic, "ack", (good, bad))
    assert await refusal(link, Opcode.ADD_ACKS, two, wire.AcksAdded) is not None
    assert await refusal(link, Opcode.COMMIT_TRANSACTION, wire.EndTransaction(ref)) == "transaction_conflict"
    await ask(link, Opcode.ABORT_TRANSACTION, wire.EndTransaction(ref))
    ref = await begun(link, topic)
    assert (await ask(link, Opcode.ADD_ACKS, acks(ref, (0, 3)), wire.AcksAdded)).dead == 0
    assert await refusal(link, Opcode.ADD_ACKS, acks(ref, (0, 3)), wire.AcksAdded) is not None
    await ask(link, Opcode.ABORT_TRANSACTION, wire.EndTransaction(ref))
    apart = messages.LeasedRecords(topic, 0, part.grant, part.token, (), packed_offsets([0, 2]))
    ref = await begun(link, topic)
    assert (await ask(link, Opcode.ADD_ACKS, wire.AddAcks(ref, topic, "ack", (apart,)), wire.AcksAdded)).dead == 0
    assert await refusal(link, Opcode.ADD_ACKS, acks(ref, (2, 1)), wire.AcksAdded) is not None
    await ask(link, Opcode.ABORT_TRANSACTION, wire.EndTransaction(ref))


@pytest.mark.parametrize("opcode", [one for one in Opcode if 50 <= one <= 58])
@pytest.mark.parametrize("head", [None, 7, "text", [], [[]], [None] * 9, {}, [-(2**63)] * 6, [[1, 2, 3], 4, 5, 6]])
async def test_heads_that_are_something_else_are_refused(link, opcode, head):
    with pytest.raises(GoQueueError) as refused:
        await ask(link, opcode, head, msgspec.Raw)
    assert refused.value.code in {"invalid_request", "unknown_producer", "unknown_transaction", "producer_fenced"}


async def test_a_reader_says_which_records_it_wants_and_older_readers_get_what_is_committed(shared_server, link, topic):
    ref = await begun(link, topic)
    await ask(link, Opcode.PUBLISH, publish_in(ref, topic), messages.Published, RECORDS)
    parts = (messages.FetchFrom(topic, 0, 0),)
    old = msgspec.to_builtins(messages.Fetch(parts))[:4]
    (part,) = (await ask(link, Opcode.FETCH, old, messages.Fetched)).parts
    assert (part.length, part.stable_offset, part.high_watermark) == (0, 0, 2)
    for isolation, end in (("read_committed", 0), ("read_uncommitted", 2)):
        (part,) = (await ask(link, Opcode.FETCH, messages.Fetch(parts, isolation=isolation), messages.Fetched)).parts
        assert part.next_offset == end
        questions = (messages.OffsetQuestion(topic, 0, "latest"),)
        (answer,) = (
            await ask(link, Opcode.LIST_OFFSETS, messages.ListOffsets(questions, isolation), messages.Offsets)
        ).answers
        assert answer.offset == end
    wrong = [*msgspec.to_builtins(messages.Fetch(parts))[:4], "read_everything"]
    assert await refusal(link, Opcode.FETCH, wrong, messages.Fetched) == "invalid_request"
    await ask(link, Opcode.ABORT_TRANSACTION, wire.EndTransaction(ref))


async def test_an_instance_that_missed_an_answer_is_known_and_never_takes_its_id_back_from_a_newer_one(link, topic):
    async def init(*who, instance):
        request = wire.InitTransactions(topic, 60_000, *who, instance=instance)
        return await ask(link, Opcode.INIT_TRANSACTIONS, request, messages.ProducerIdentity)

    first = await init(instance="a")
    missed = await init(first.producer_id, first.epoch, instance="a")
    again = await init(first.producer_id, first.epoch, instance="a")
    assert again.epoch == missed.epoch + 1
    newer = await init(instance="b")
    for epoch in (first.epoch, missed.epoch, again.epoch):
        request = wire.InitTransactions(topic, 60_000, first.producer_id, epoch, "a")
        assert await refusal(link, Opcode.INIT_TRANSACTIONS, request, messages.ProducerIdentity) == "producer_fenced"
    begin = wire.BeginTransaction(newer.producer_id, newer.epoch)
    assert (await ask(link, Opcode.BEGIN_TRANSACTION, begin, wire.Begun)).epoch == newer.epoch
