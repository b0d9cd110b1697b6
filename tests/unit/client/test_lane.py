"""A lane to one partition: order and numbers through every kind of failure."""

import asyncio

import msgspec
import pytest

from goqueue.client.batch import Batch
from goqueue.client.connection import NOTHING
from goqueue.client.lane import UNDER_WAY, Lane, LaneSettings
from goqueue.errors import (
    BrokerUnreachable,
    ClientClosed,
    DiskFull,
    GoQueueError,
    InvalidRequest,
    OutOfOrderSequence,
    RecordTooLarge,
    RequestTimeout,
    StorageBusy,
    UnknownProducer,
)
from goqueue.model.record import Record
from goqueue.wire.native.messages import ProducerIdentity, Publish, Published

LOST = BrokerUnreachable("lost")
BUSY = StorageBusy("busy")
WRONG_NUMBER = OutOfOrderSequence("not the next")
REFUSED = RecordTooLarge("refused")


class FakeConnection:
    """Keeps what was sent; a test answers it."""

    def __init__(self):
        self.max_frame_bytes = 1 << 20
        self.sent = []
        self.told = []
        self.answers = []
        self.is_lost = False
        self.is_writable = True
        self.writable = asyncio.Event()
        self.writable.set()

    def send(self, _, head, tail, answered):
        self.sent.append((msgspec.msgpack.decode(head, type=Publish), tail))
        self.answers.append(answered)

    def answer(self, number, outcome):
        """Once, as a connection does."""
        answered, self.answers[number] = self.answers[number], None
        if answered is not None:
            error = outcome if isinstance(outcome, GoQueueError) else None
            answered(error, NOTHING if error else outcome, NOTHING)

    def tell(self, _, head, tail):
        self.told.append((msgspec.msgpack.decode(head, type=Publish), tail))

    async def when_writable(self):
        await self.writable.wait()

    def hang_up(self, _):
        self.is_lost = True
        for number in range(len(self.answers)):
            self.answer(number, LOST)


class FakeLink:
    bootstrap = "broker:1"

    def __init__(self):
        self.live_connection = FakeConnection()
        self.connections = [self.live_connection]
        self.is_down = False
        self.identities = 0

    @property
    def live(self):
        return None if self.live_connection.is_lost else self.live_connection

    async def connection(self):
        if self.is_down:
            raise LOST
        if self.live is None:
            self.live_connection = FakeConnection()
            self.connections.append(self.live_connection)
        return self.live_connection

    async def ask(self, *_):
        self.identities += 1
        return ProducerIdentity(self.identities, 0)


class Scene:
    def __init__(self, **settings):
        self.link = FakeLink()
        self.finished = []
        chosen = {"durability": None, "idempotent": True, "wants_replies": True} | settings
        self.lane = Lane("orders", 0, self.link, LaneSettings(**chosen), self.note)
        self.batches = []

    def note(self, batch, error):
        self.finished.append((self.batches.index(batch), error))

    def add(self, count=1, *, size=10, within_s=60.0):
        batch = Batch("orders", 0, asyncio.get_running_loop().time() + within_s)
        batch.fill([Record(b"x" * size)] * count)
        batch.seal()
        self.batches.append(batch)
        self.lane.add(batch)
        return batch

    @property
    def connection(self):
        return self.link.live_connection

    async def sent(self, count):
        """Wait until the current connection has carried so many batches; their numbers."""
        async with asyncio.timeout(5):
            while len(self.connection.sent) < count:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        assert len(self.connection.sent) == count
        return [head.sequence for head, _ in self.connection.sent]

    def answer(self, number, outcome=None):
        head = memoryview(msgspec.msgpack.encode(Published(100 + number, 1, 7)))
        self.connection.answer(number, outcome or head)

    async def known(self, *, within_s=60.0):
        """The broker has written a first batch."""
        self.add(within_s=within_s)
        await self.sent(1)
        self.answer(0)
        await asyncio.sleep(0)
        self.connection.sent.clear()
        self.connection.answers.clear()

    async def done(self, *numbers):
        async with asyncio.timeout(5):
            await asyncio.wait([self.batches[number].wait() for number in numbers])


@pytest.fixture
async def scene():
    made = Scene()
    yield made
    await made.lane.close()


async def test_the_first_batch_goes_alone_and_then_five_are_under_way(scene):
    for _ in range(8):
        scene.add(2)
    assert await scene.sent(1) == [0]
    scene.answer(0)
    assert await scene.sent(1 + UNDER_WAY) == [0, 2, 4, 6, 8, 10]
    scene.answer(1)
    assert await scene.sent(2 + UNDER_WAY) == [0, 2, 4, 6, 8, 10, 12]


async def test_after_a_loss_everything_is_sent_again_in_order_and_with_its_numbers(scene):
    await scene.known()
    for _ in range(3):
        scene.add()
    await scene.sent(3)
    scene.answer(0)
    scene.connection.hang_up("")
    await asyncio.sleep(0.1)
    assert await scene.sent(2) == [2, 3]
    assert {head.producer_id for head, _ in scene.connection.sent} == {1}


async def test_behind_one_that_was_not_taken_all_numbers_are_wrong_and_both_are_sent_again(scene):
    await scene.known()
    for _ in range(3):
        scene.add()
    assert await scene.sent(3) == [1, 2, 3]
    scene.answer(0, BUSY)
    scene.answer(1, WRONG_NUMBER)
    scene.answer(2, WRONG_NUMBER)
    assert (await scene.sent(6))[3:] == [1, 2, 3]
    assert scene.finished[1:] == []
    for number in (3, 4, 5):
        scene.answer(number)
    await scene.done(1, 2, 3)
    assert scene.finished[1:] == [(1, None), (2, None), (3, None)]


async def test_those_behind_a_refused_batch_get_its_numbers(scene):
    await scene.known()
    scene.add(4)
    scene.add(2)
    scene.add(1)
    assert await scene.sent(3) == [1, 5, 7]
    scene.answer(0, REFUSED)
    scene.answer(1, WRONG_NUMBER)
    scene.answer(2, LOST)
    assert (await scene.sent(5))[3:] == [1, 3]
    assert scene.finished[1:] == [(1, REFUSED)]


async def test_a_first_batch_that_is_refused_frees_the_number_zero(scene):
    scene.add(4)
    scene.add(2)
    assert await scene.sent(1) == [0]
    scene.answer(0, REFUSED)
    assert await scene.sent(2) == [0, 0]


async def test_a_producer_that_the_broker_forgot_goes_on_under_a_new_identity(scene):
    await scene.known()
    scene.add(2)
    scene.add(2)
    await scene.sent(2)
    scene.answer(0, UnknownProducer("who?"))
    scene.answer(1, UnknownProducer("who?"))
    assert (await scene.sent(3))[2:] == [0]
    assert scene.connection.sent[2][0].producer_id == 2
    assert scene.finished[1:] == []


async def test_a_batch_in_doubt_is_not_sent_again_under_a_new_identity(scene):
    await scene.known()
    in_doubt, behind = scene.add(2), scene.add(2)
    assert await scene.sent(2) == [1, 3]
    scene.connection.hang_up("")
    await asyncio.sleep(0.1)
    assert await scene.sent(2) == [1, 3]
    never_sent = scene.add(2)
    assert await scene.sent(3) == [1, 3, 5]
    for number in range(3):
        scene.answer(number, UnknownProducer("who?"))
    await scene.done(1, 2)
    for batch in (in_doubt, behind):
        with pytest.raises(RequestTimeout, match=r"may have been written.*who\?"):
            batch.outcome()
    assert (await scene.sent(4))[3:] == [0]
    assert scene.connection.sent[3][0].producer_id == 2
    scene.answer(3)
    await scene.done(3)
    assert never_sent.outcome().base_offset == 103


async def test_a_batch_in_doubt_that_the_broker_then_refuses_for_a_while_stays_in_doubt(scene):
    await scene.known()
    in_doubt = scene.add()
    await scene.sent(1)
    scene.connection.hang_up("")
    await asyncio.sleep(0.1)
    await scene.sent(1)
    scene.answer(0, BUSY)
    await scene.sent(2)
    scene.answer(1, UnknownProducer("who?"))
    await scene.done(1)
    with pytest.raises(RequestTimeout, match="may have been written"):
        in_doubt.outcome()
    assert len(scene.connection.sent) == 2


async def test_numbers_that_are_wrong_for_no_reason_cost_one_batch_and_the_identity(scene):
    await scene.known()
    scene.add()
    scene.add()
    await scene.sent(2)
    scene.answer(0, WRONG_NUMBER)
    scene.answer(1, WRONG_NUMBER)
    assert (await scene.sent(3))[2:] == [0]
    assert scene.connection.sent[2][0].producer_id == 2
    assert scene.finished[1:] == [(1, WRONG_NUMBER)]


async def test_a_full_disk_is_waited_for(scene):
    await scene.known()
    scene.add()
    await scene.sent(1)
    for number in range(3):
        scene.answer(number, DiskFull("full"))
        await scene.sent(number + 2)
    scene.answer(3)
    await scene.done(1)
    assert scene.finished[1:] == [(1, None)]


async def test_a_batch_without_an_answer_fails_in_time_and_says_that_it_may_be_written(scene):
    await scene.known(within_s=0.1)
    scene.link.is_down = True
    late = scene.add(within_s=0.1)
    later = scene.add()
    await scene.sent(2)
    await scene.done(1)
    with pytest.raises(RequestTimeout, match="may have been written"):
        late.outcome()
    with pytest.raises(RequestTimeout, match="may have been written"):
        later.outcome()


async def test_a_batch_that_was_never_sent_says_so_and_those_with_time_left_go_on(scene):
    scene.link.live_connection.is_lost = scene.link.is_down = True
    late = scene.add(within_s=0.1)
    scene.add()
    await scene.done(0)
    with pytest.raises(RequestTimeout, match="was never sent"):
        late.outcome()
    scene.link.is_down = False
    await asyncio.sleep(0.2)
    assert await scene.sent(1) == [0]


async def test_the_deadline_holds_also_while_connecting_takes_for_ever(scene):
    async def for_ever():
        await asyncio.Event().wait()

    scene.link.live_connection.is_lost = True
    scene.link.connection = for_ever
    late = scene.add(within_s=0.05)
    await scene.done(0)
    with pytest.raises(RequestTimeout, match="does not answer"):
        late.outcome()


async def test_a_batch_over_the_frame_limit_fails_alone(scene):
    await scene.known()
    scene.add(size=1 << 20)
    scene.add()
    assert await scene.sent(1) == [1]
    assert isinstance(scene.finished[1][1], RecordTooLarge)


async def test_what_makes_an_identity_impossible_fails_what_waits_for_it(scene):
    async def refuse(*_):
        raise InvalidRequest("no identities here")

    scene.link.ask = refuse
    scene.add()
    await scene.done(0)
    assert scene.finished[0][1].code == "invalid_request"


async def test_closing_fails_everything_once_and_leaves_no_task(scene):
    await scene.known()
    for _ in range(7):
        scene.add()
    await scene.sent(UNDER_WAY)
    scene.answer(2, BUSY)
    await asyncio.sleep(0)
    await scene.lane.close()
    assert sorted(number for number, _ in scene.finished[1:]) == list(range(1, 8))
    assert all(isinstance(error, ClientClosed) for _, error in scene.finished[1:])
    scene.connection.hang_up("")
    await asyncio.sleep(0.05)
    assert len(scene.finished) == 8
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_without_replies_nothing_is_sent_while_the_broker_takes_nothing():
    scene = Scene(wants_replies=False)
    scene.add()
    assert len(scene.connection.told) == 1
    scene.connection.is_writable = False
    scene.connection.writable.clear()
    scene.add()
    scene.add()
    await asyncio.sleep(0.02)
    assert (len(scene.connection.told), len(scene.finished)) == (1, 1)
    scene.connection.is_writable = True
    scene.connection.writable.set()
    await scene.done(1, 2)
    assert len(scene.connection.told) == 3
    assert scene.link.identities == 0
    await scene.lane.close()


async def test_without_idempotence_five_are_under_way_at_once_and_there_is_no_identity():
    scene = Scene(idempotent=False)
    for _ in range(6):
        scene.add()
    await scene.sent(UNDER_WAY)
    assert scene.link.identities == 0
    assert {head.producer_id for head, _ in scene.connection.sent} == {None}
    await scene.lane.close()


async def test_a_lane_that_has_given_up_rests_until_there_is_something_to_send(scene):
    scene.link.is_down = True
    scene.connection.is_lost = True
    scene.add(within_s=0.05)
    await scene.done(0)
    tasks = set()
    for _ in range(20):
        await asyncio.sleep(0)
        tasks |= asyncio.all_tasks() - {asyncio.current_task()}
    assert len(tasks) <= 1


# In transactions: the identity is given, and after a failure there is nothing to go on with.


@pytest.fixture
async def transactional():
    made = Scene(identity=ProducerIdentity(42, 7))
    yield made
    await made.lane.close()


async def test_with_a_given_identity_what_may_pass_is_sent_again_with_its_numbers(transactional):
    scene = transactional
    await scene.known()
    for _ in range(3):
        scene.add()
    await scene.sent(3)
    scene.answer(0, BUSY)
    scene.answer(1, WRONG_NUMBER)
    scene.answer(2, WRONG_NUMBER)
    assert await scene.sent(6) == [1, 2, 3, 1, 2, 3]
    scene.connection.hang_up("")
    await asyncio.sleep(0.1)
    assert await scene.sent(3) == [1, 2, 3]
    assert {(head.producer_id, head.producer_epoch) for head, _ in scene.connection.sent} == {(42, 7)}
    assert scene.link.identities == 0


@pytest.mark.parametrize("error", [REFUSED, WRONG_NUMBER, UnknownProducer("gone"), InvalidRequest("no")])
async def test_with_a_given_identity_one_refusal_ends_the_lane_and_each_batch_fails_once(transactional, error):
    scene = transactional
    await scene.known()
    for _ in range(UNDER_WAY + 2):
        scene.add()
    await scene.sent(UNDER_WAY)
    scene.answer(0, error)
    for number in range(1, UNDER_WAY):
        scene.answer(number, WRONG_NUMBER)
    await scene.done(*range(1, UNDER_WAY + 3))
    scene.add()
    finished = sorted(scene.finished, key=lambda one: one[0])
    assert finished == [(0, None), *((number, error) for number in range(1, UNDER_WAY + 4))]
    await asyncio.sleep(0.05)
    assert len(scene.connection.sent) == UNDER_WAY
    assert scene.link.identities == 0


async def test_with_a_given_identity_time_that_is_up_ends_the_lane(transactional):
    scene = transactional
    await scene.known()
    scene.add(within_s=0.05)
    scene.add(within_s=60)
    scene.link.is_down = True
    scene.connection.hang_up("")
    await scene.done(1, 2)
    assert [(number, type(error)) for number, error in scene.finished[1:]] == [(1, RequestTimeout), (2, RequestTimeout)]
    assert scene.link.identities == 0


async def test_closing_a_lane_fails_each_batch_once(transactional):
    scene = transactional
    await scene.known()
    for _ in range(UNDER_WAY + 2):
        scene.add()
    await scene.sent(UNDER_WAY)
    await scene.lane.close()
    assert [number for number, _ in scene.finished] == list(range(UNDER_WAY + 3))
