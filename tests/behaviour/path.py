"""What an access path must offer, so that one suite can run over all of them."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol

from goqueue.model.log import LogId

__all__ = [
    "Ability",
    "Assignment",
    "Consuming",
    "DelayFacts",
    "Got",
    "GroupFacts",
    "Lent",
    "Out",
    "Path",
    "Place",
    "Refused",
    "TopicFacts",
    "WorkerFacts",
    "Working",
]


class Ability(Enum):
    """What a path can do; a test runs over every path that has the abilities it needs."""

    TOPICS = auto()
    RECORDS = auto()
    READ_ERRORS = auto()
    """Says that an offset is out of range, where others go on from the nearest there is."""
    GROUPS = auto()
    """Look at groups, and change where they go on."""
    MEMBERS = auto()
    """Joining, heartbeats and commits as requests of their own."""
    CONSUMING = auto()
    """A consumer that keeps its membership alive by itself."""
    DELAYS = auto()
    """Publish records for later, look at them and change them."""
    QUEUE = auto()
    """Take records for a while, and say of each what became of it."""
    RELEASE = auto()
    """Give back what was taken as if nothing had happened."""
    TRANSACTIONS = auto()
    """Records, acknowledgements and offsets that count together or not at all."""


class Refused(Exception):
    """The broker, or the client on its behalf, said no."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Out(NamedTuple):
    """A record to publish."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    priority: int = 2
    partition: int | None = None
    id: str | None = None
    delay_ms: int | None = None
    deliver_at_ns: int | None = None


class Place(NamedTuple):
    partition: int
    offset: int


class Got(NamedTuple):
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    priority: int


class Lent(NamedTuple):
    """A record that was taken from the queue; the receipt is whatever the path knows it by."""

    record: Got
    deliveries: int
    failures: int
    receipt: Any


class DelayFacts(NamedTuple):
    partition: int
    offset: int
    state: str
    due_ns: int | None


class TopicFacts(NamedTuple):
    name: str
    partitions: int
    epoch: int
    ranges: tuple[tuple[int, int], ...]
    config: dict[str, Any]


class Assignment(NamedTuple):
    """What a member is told."""

    member_id: str
    generation: int
    partitions: frozenset[LogId]
    revoke: frozenset[LogId] = frozenset()


class WorkerFacts(NamedTuple):
    """A worker as it is shown; without an address it only holds leases."""

    consumer: str
    address: str | None
    since: Any
    in_flight: int | None


class GroupFacts(NamedTuple):
    state: str
    members: dict[str, frozenset[LogId]]
    lag: dict[LogId, int]
    paused: bool
    delayed: int
    workers: tuple[WorkerFacts, ...]


class Consuming(Protocol):
    """A consumer at work in a group."""

    async def poll(self, *, wait_ms: int = 1000, limit: int = 500) -> list[Got]: ...
    async def commit(self) -> None:
        """Everything that was polled."""

    async def assigned(self) -> frozenset[LogId]: ...


class Working(Protocol):
    """A worker that takes from the queue of a group."""

    async def take(self, limit: int = 100, *, wait_ms: int = 0) -> list[Lent]: ...
    async def ack(self, *lent: Lent) -> None: ...
    async def nack(self, *lent: Lent, reason: str = "", delay_ms: int | None = None) -> None: ...
    async def reject(self, *lent: Lent, reason: str = "") -> None: ...
    async def extend(self, *lent: Lent, visibility_ms: int) -> None: ...
    async def release(self, *lent: Lent) -> None:
        """Needs RELEASE."""


class Path(Protocol):
    """One way to the broker. Raises Refused, whatever the path's own errors are."""

    abilities: frozenset[Ability]

    # TOPICS
    async def create_topic(self, name: str, partitions: int = 3, **config: Any) -> TopicFacts: ...
    async def topic(self, name: str) -> TopicFacts: ...
    async def topics(self) -> list[str]: ...
    async def alter_topic(self, name: str, **config: Any) -> TopicFacts:
        """Change these settings and leave the others."""

    async def delete_topic(self, name: str) -> None: ...
    async def ends(self, topic: str) -> list[tuple[int, int]]:
        """Earliest and latest offset of each partition."""

    # RECORDS
    async def publish(self, topic: str, records: Sequence[Out], *, durability: str | None = None) -> list[Place]: ...
    async def read(
        self,
        topic: str,
        partition: int,
        offset: int = 0,
        limit: int = 1000,
        *,
        isolation: str = "read_committed",
    ) -> list[Got]:
        """Another isolation needs TRANSACTIONS."""

    # GROUPS
    async def group(self, name: str) -> GroupFacts: ...
    async def groups(self) -> list[str]: ...
    async def committed(self, group: str) -> dict[LogId, int]: ...
    async def reset(
        self, group: str, to: str, value: int | None = None, *, topics: list[str], dry_run: bool = False
    ) -> dict[LogId, int]: ...
    async def pause_group(self, group: str, *, paused: bool) -> None: ...
    async def delete_group(self, group: str) -> None: ...

    # MEMBERS
    async def join(self, group: str, topics: Sequence[str], **options: Any) -> Assignment: ...
    async def heartbeat(
        self, group: str, member: Assignment, owned: frozenset[LogId] | None = None, *, wait_ms: int = 0
    ) -> Assignment: ...
    async def poll(self, group: str, member: Assignment, *, wait_ms: int = 0) -> list[Got]:
        """From the start of what the member was told to read."""

    async def leave(self, group: str, member_id: str) -> None: ...
    async def commit(self, group: str, offsets: Mapping[LogId, int], member: Assignment | None = None) -> None: ...

    # DELAYS
    async def delayed(self, topic: str, *, skip: int = 0, limit: int = 100) -> list[DelayFacts]:
        """Those that are pending, by time."""

    async def delay(self, topic: str, place: Place) -> tuple[DelayFacts, bytes | None]:
        """What became of it, and the value of the record."""

    async def cancel(self, topic: str, place: Place) -> DelayFacts: ...
    async def cancel_many(self, topic: str, places: Sequence[Place]) -> tuple[list[Place], dict[Place, str]]:
        """Those that are cancelled, and for each of the others a code that says why not."""

    async def reschedule(self, topic: str, place: Place, due_ns: int) -> DelayFacts: ...
    async def delay_stats(self, topic: str) -> dict[str, int]: ...

    # TRANSACTIONS
    async def begin_transaction(self, transactional_id: str, timeout_ms: int = 60_000) -> Any:
        """As an instance that has just come, which fences the one before; a handle for the others."""

    async def publish_in(self, handle: Any, topic: str, partition: int, values: Sequence[bytes]) -> None: ...
    async def ack_in(self, handle: Any, lent: Lent, action: str = "ack") -> None:
        """Or "nack", or "reject"."""

    async def offsets_in(self, handle: Any, group: str, topic: str, partition: int, offset: int) -> None: ...
    async def commit_transaction(self, handle: Any) -> None: ...
    async def abort_transaction(self, handle: Any) -> None: ...

    # CONSUMING
    def consumer(self, group: str, *topics: str, **options: Any) -> AbstractAsyncContextManager[Consuming]: ...

    # QUEUE
    def worker(
        self, group: str, *topics: str, visibility_ms: int | None = None, key_order: bool = False
    ) -> AbstractAsyncContextManager[Working]: ...
    def forged(self, lent: Lent) -> dict[str, Lent]:
        """The same record with receipts that nobody was given, by what is wrong with them."""
