"""Talk to a broker from Python: producer, consumer, admin. `goqueue.client.sync` has the same without asyncio."""

from goqueue.client.admin import Admin
from goqueue.client.batch import Delivery, Sent
from goqueue.client.consumer import Consumer, Message, RawBatch
from goqueue.client.producer import Producer
from goqueue.model.log import LogId
from goqueue.model.topic import Cleanup, Durability, Topic, TopicConfig

__all__ = [
    "Admin",
    "Cleanup",
    "Consumer",
    "Delivery",
    "Durability",
    "LogId",
    "Message",
    "Producer",
    "RawBatch",
    "Sent",
    "Topic",
    "TopicConfig",
]
