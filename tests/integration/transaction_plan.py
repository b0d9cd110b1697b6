"""What one transaction is going to do: records in some partitions, jobs that it settles, an offset of a group."""

import random
from collections.abc import Sequence

import msgspec

from goqueue.client import LogId
from goqueue.client.open_transaction import OpenTransaction
from goqueue.client.worker import Job
from tests.integration.transaction_story import RULER, TOPICS, encoded, name_of
from tests.workloads.committed_reader import Entry

__all__ = ["PLACES", "Plan"]

PLACES = [(topic, number) for topic, count in TOPICS.items() for number in range(count)]


class Plan(msgspec.Struct, frozen=True):
    """What a transaction is going to do; jobs that it neither does nor rejects are tried again."""

    entry: Entry
    places: list[tuple[str, int]]
    acks: list[Job]
    dead: list[Job]
    failed: list[Job]

    @classmethod
    def of(cls, name: str, number: int, jobs: Sequence[Job], chance: random.Random) -> "Plan":
        fates = [(job, chance.random()) for job in jobs]
        acks = [job for job, fate in fates if fate < 0.6]
        dead = [job for job, fate in fates if 0.6 <= fate < 0.8]
        failed = [job for job, fate in fates if 0.8 <= fate < 0.9]
        with_offset = chance.random() < 0.5
        places = chance.choices(PLACES, k=chance.randint(2, 8))
        entry = Entry(
            f"{name}-{number}",
            len(places),
            0,
            tuple(name_of(job.value) for job in acks),
            tuple(name_of(job.value) for job in dead),
            f"group-{name}" if with_offset else "",
            number if with_offset else 0,
        )
        return cls(entry, places, acks, dead, failed)

    def value(self, index: int) -> bytes:
        return encoded(msgspec.structs.replace(self.entry, index=index))

    async def add_rest(self, transaction: OpenTransaction) -> None:
        """Acknowledgements and offsets."""
        if self.acks:
            await transaction.ack(*self.acks)
        if self.dead:
            await transaction.reject(*self.dead, reason="bad")
        if self.failed:
            await transaction.nack(*self.failed, reason="failed")
        if self.entry.group:
            await transaction.add_offsets(self.entry.group, {LogId(RULER, 0): self.entry.offset})
