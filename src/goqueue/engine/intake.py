"""Intake: the state that every publish reads."""

from goqueue.core.partition.space import DiskGuard
from goqueue.core.producers.identities import ProducerIdentities
from goqueue.core.schemas.registry import Registry
from goqueue.engine.partitions import Partitions
from goqueue.engine.ports import Clock
from goqueue.engine.schemas.rules import ValueRules
from goqueue.engine.tracing.tracing import Tracing

__all__ = ["Intake"]


class Intake:
    """The part of `Broker` on the path of each record."""

    def __init__(self, clock: Clock, tracing: Tracing, schemas: Registry) -> None:
        self.clock = clock
        self.now_ns = clock.now_ns
        self.opened = Partitions()
        self.producer_ids = ProducerIdentities()
        self.value_rules = ValueRules(schemas)
        self.guard = DiskGuard()
        self.tracing = tracing
