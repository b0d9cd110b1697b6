"""Live transaction while it grows: lookups are fast, and an immutable value is made on request."""

from goqueue.core.transactions.events import Began
from goqueue.core.transactions.transaction import (
    TRANSITIONS,
    GroupOffset,
    PartitionPart,
    Pledge,
    State,
    Step,
    Transaction,
)

__all__ = ["LiveTransaction", "revived"]


class LiveTransaction:
    """A thousand partitions or pledges are added one by one, so they are not copied for each."""

    __slots__ = ("began", "offsets", "partitions", "pledged_count", "pledges", "state")

    def __init__(self, began: Began) -> None:
        self.began = began
        self.state = State.OPEN
        self.partitions: dict[tuple[str, int], PartitionPart] = {}
        self.pledges: list[Pledge] = []
        self.pledged_count = 0
        self.offsets: dict[tuple[str, str, int], GroupOffset] = {}

    @property
    def is_part(self) -> bool:
        return bool(self.began.key)

    def allows(self, step: Step) -> bool:
        return (self.state, step) in TRANSITIONS

    def go(self, step: Step) -> None:
        self.state = TRANSITIONS[self.state, step]

    def join(self, topic: str, partition: int) -> None:
        self.partitions.setdefault((topic, partition), PartitionPart(topic, partition))

    def pledge(self, pledge: Pledge) -> None:
        self.pledges.append(pledge)
        self.pledged_count += pledge.count

    def add_offset(self, given: GroupOffset) -> None:
        self.offsets[given.group, given.topic, given.partition] = given

    def value(self) -> Transaction:
        began = self.began
        return Transaction(
            number=began.number,
            producer_id=began.producer_id,
            epoch=began.epoch,
            transactional_id=began.transactional_id,
            key=began.key,
            state=self.state,
            began_at=began.at,
            deadline=began.deadline,
            timeout_ms=began.timeout_ms,
            partitions=tuple(self.partitions.values()),
            pledges=tuple(self.pledges),
            offsets=tuple(self.offsets.values()),
        )


def revived(kept: Transaction) -> LiveTransaction:
    """Rebuild it from its value."""
    began = Began(
        kept.number,
        kept.producer_id,
        kept.epoch,
        kept.transactional_id,
        kept.key,
        kept.timeout_ms,
        kept.began_at,
    )
    live = LiveTransaction(began)
    live.state = kept.state
    for part in kept.partitions:
        live.join(part.topic, part.partition)
    for pledge in kept.pledges:
        live.pledge(pledge)
    for offset in kept.offsets:
        live.add_offset(offset)
    return live
