"""Talk to a broker from Python: producer, consumer, worker, admin; `goqueue.client.sync` has them without asyncio."""

from goqueue.client.admin import Admin
from goqueue.client.batch import Delivery, Sent
from goqueue.client.cancelling import Cancellation
from goqueue.client.consumer import Consumer, Message, RawBatch
from goqueue.client.part import Part
from goqueue.client.producer import Producer
from goqueue.client.transaction import Transaction
from goqueue.client.worker import Job, Settlement, Worker
from goqueue.model.log import LogId
from goqueue.model.topic import Cleanup, Durability, Topic, TopicConfig
from goqueue.wire.native.letters import LetterEdit, LetterSelect

__all__ = [
    "Admin",
    "Cancellation",
    "Cleanup",
    "Consumer",
    "Delivery",
    "Durability",
    "Job",
    "LetterEdit",
    "LetterSelect",
    "LogId",
    "Message",
    "Part",
    "Producer",
    "RawBatch",
    "Sent",
    "Settlement",
    "Topic",
    "TopicConfig",
    "Transaction",
    "Worker",
]
