from goqueue.engine.fetch import FetchFrom, fetch
from goqueue.engine.topics import create_topic
from goqueue.model.topic import TopicConfig, topic_name
from tests.unit.engine.support import appended

TOPIC = topic_name("orders")


async def test_a_busy_partition_does_not_starve_the_others(open_broker):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, 2, TopicConfig())
        for _ in range(5):
            await appended(broker.partition(TOPIC, 0), bytes(3000))
        await appended(broker.partition(TOPIC, 1), b"small")
        parts = [FetchFrom(TOPIC, number, 0) for number in (0, 1)]
        answers = [await fetch(broker, parts, max_bytes=2000, wait_ms=0) for _ in range(2)]
        assert any(answer[0].size for answer in answers)
        assert any(answer[1].size for answer in answers)
