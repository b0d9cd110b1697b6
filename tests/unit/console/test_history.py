"""What the charts of the console are made of: rates from counts that only grow, for an hour at most."""

import pytest

from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.publish_records import Outgoing, publish_records
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.gateways.console.history import MOST_TOPICS, History
from goqueue.gateways.console.timeline import FINE_KEPT
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, TopicName
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy

T = TopicName("orders")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def broker(clock):
    async with Broker(MemoryStore(MemoryDisk()), clock, SeededEntropy(), MemoryIdIndex()) as opened:
        await create_topic(opened, T, 1, TopicConfig())
        yield opened


async def put(broker, count: int) -> None:
    await publish_records(broker, Placement(), T, [Outgoing(Record(b"x" * 10)) for _ in range(count)])


async def test_a_rate_is_what_came_since_the_last_look_over_the_time_that_passed(broker, clock):
    history = History(broker)
    await put(broker, 10)
    clock.advance_ms(2000)
    await history.sample()
    assert history.whole.last("published") == 5.0
    assert history.of(T).last("published") == 5.0
    clock.advance_ms(1000)
    await history.sample()
    assert history.whole.last("published") == 0.0


async def test_what_was_counted_before_is_no_rate(broker, clock):
    await put(broker, 1000)
    history = History(broker)
    clock.advance_ms(1000)
    await history.sample()
    assert history.whole.last("published") == 0.0


async def test_a_topic_that_is_deleted_and_made_again_counts_from_nothing(broker, clock):
    history = History(broker)
    await put(broker, 50)
    clock.advance_ms(1000)
    await history.sample()
    await delete_topic(broker, T)
    clock.advance_ms(1000)
    await history.sample()
    assert len(history.of(T)) == 0
    assert history.whole.last("published") == 0.0
    await create_topic(broker, T, 1, TopicConfig())
    await put(broker, 7)
    clock.advance_ms(1000)
    await history.sample()
    assert history.whole.last("published") == 7.0


async def test_a_clock_that_is_set_back_makes_no_rates(broker, clock):
    history = History(broker)
    await put(broker, 5)
    clock.advance_ms(-5000)
    await history.sample()
    assert len(history.whole) == 0
    await put(broker, 3)
    clock.advance_ms(1000)
    await history.sample()
    assert history.whole.last("published") >= 3.0


async def test_no_more_is_kept_than_is_shown(broker, clock):
    for number in range(MOST_TOPICS + 5):
        await create_topic(broker, TopicName(f"t{number}"), 1, TopicConfig())
    history = History(broker)
    for _ in range(FINE_KEPT + 50):
        clock.advance_ms(1000)
        await history.sample()
    assert len(history.whole) == FINE_KEPT
    kept = [name for name in (f"t{number}" for number in range(MOST_TOPICS + 5)) if history.of(name)]
    assert len(kept) < MOST_TOPICS + 5
    assert all(len(history.of(name)) == FINE_KEPT for name in kept)


async def test_delayed_records_are_counted_as_they_stand(broker, clock):
    history = History(broker)
    due = clock.now_ns() + 10**12
    await publish_records(broker, Placement(), T, [Outgoing(Record(b"later"), due=due)])
    clock.advance_ms(1000)
    await history.sample()
    assert history.whole.last("delayed") == 1


async def test_the_newest_rate_is_known_of_topics_whose_history_is_not_kept(broker, clock):
    for number in range(MOST_TOPICS + 5):
        await create_topic(broker, TopicName(f"t{number}"), 1, TopicConfig())
    history = History(broker)
    last = TopicName(f"t{MOST_TOPICS + 4}")
    await publish_records(broker, Placement(), last, [Outgoing(Record(b"x")) for _ in range(6)])
    clock.advance_ms(2000)
    await history.sample()
    assert len(history.of(last)) == 0
    assert history.rate(last, "published") == 3.0
    assert history.rate("missing", "published") == 0.0
