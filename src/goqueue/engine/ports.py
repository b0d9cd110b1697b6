"""Ports of the engine: storage, clock, entropy, id index and Protobuf compiler, implemented by adapters and test
twins."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from pyroaring import BitMap64

from goqueue.errors import GoQueueError
from goqueue.model.ids import InstantNs, Lsn
from goqueue.model.log import Chunk, Damage, LogId, SegmentInfo

__all__ = [
    "BUNDLE",
    "AppendRecords",
    "Buffer",
    "Clock",
    "CompactionPolicy",
    "CompileProto",
    "CreateLog",
    "DeleteLog",
    "DropSegments",
    "Entropy",
    "Entry",
    "FoundId",
    "IdIndex",
    "IdIndexDamaged",
    "IndexedIds",
    "Log",
    "Operation",
    "Payload",
    "Recovery",
    "SlowWork",
    "StateEvent",
    "Storage",
    "StorageObserver",
]

Buffer = bytes | bytearray | memoryview
NONE = BitMap64()
BUNDLE = "bundle/"
"""Prefix of streams whose snapshots bundle those of several streams: a msgpack map by their names."""
Payload = bytes | Callable[[], bytes]
"""A snapshot, or a function that makes it in any thread."""


class Clock(Protocol):
    """The only source of time."""

    def now_ns(self) -> InstantNs: ...
    async def sleep_ms(self, duration_ms: int) -> None: ...


class Entropy(Protocol):
    """The only source of randomness."""

    def token_bytes(self, length: int) -> bytes: ...


class AppendRecords(NamedTuple):
    """Stamped records for the end of a log; `next_offset` is the offset after the last of them."""

    log: LogId
    records: Buffer
    next_offset: int


class StateEvent(NamedTuple):
    """A change of a state machine, kept in order and replayed by recovery."""

    stream: str
    payload: bytes


class CreateLog(NamedTuple):
    log: LogId


class DeleteLog(NamedTuple):
    log: LogId


class DropSegments(NamedTuple):
    """Retention: drop whole segments."""

    log: LogId
    base_offsets: tuple[int, ...]


Operation = AppendRecords | StateEvent | CreateLog | DeleteLog | DropSegments
Entry = tuple[Operation, ...]
"""Operations of one atomic journal entry: after a crash all of them are there, or none."""


class Log(Protocol):
    """The records of one partition."""

    @property
    def start_offset(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def tail_offset(self) -> int:
        """First offset of the file that is being written; records from here on are mostly still in memory."""

    @property
    def size(self) -> int: ...
    @property
    def segments(self) -> tuple[SegmentInfo, ...]: ...
    @property
    def failure(self) -> GoQueueError | None: ...
    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk: ...
    def peek(self, offset: int, max_bytes: int) -> Buffer:
        """Bytes of one segment from this record, or from a little before it; unchecked."""

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None: ...


class CompactionPolicy(NamedTuple):
    """The records that a compaction may drop: none at or above `limit_offset`, and no newer tombstone.

    Records in `never_seen`, such as those of aborted transactions, are dropped and do not supersede others.
    """

    limit_offset: int
    drop_tombstones_before_ns: int
    never_seen: BitMap64 = NONE


class Recovery(Protocol):
    """Receives the stored state: first the snapshots, then every later event in order."""

    def restore(self, stream: str, snapshot: bytes) -> None: ...
    def apply(self, event: StateEvent) -> None: ...


class StorageObserver(Protocol):
    """Receives events for the operator; each call is rare."""

    def damaged(self, damage: Damage) -> None: ...
    def file_damaged(self, path: str, reason: str) -> None:
        """The file has a second copy or can be rebuilt, so nothing is lost."""

    def read_failed(self, log: LogId) -> None: ...
    def journal_damaged(self, description: str, entries: int) -> None: ...
    def tail_dropped(self, where: str, size: int) -> None: ...
    def log_failed(self, log: LogId, failure: GoQueueError) -> None: ...
    def storage_failed(self, failure: GoQueueError) -> None: ...


class SlowWork(Protocol):
    """The slow part of a checkpoint or compaction: `run` may run beside writes, in its own thread."""

    def run(self) -> None: ...


class Storage(Protocol):
    """Durable logs and state behind one journal.

    `write` and the methods that begin or finish work belong to one owner: no two such calls overlap. `sync`, `prepare`,
    the slow work and reading may run beside them.
    """

    def open(self, recovery: Recovery) -> None: ...
    def close(self) -> None: ...
    def logs(self) -> Sequence[LogId]: ...
    def log(self, log: LogId) -> Log: ...
    def write(self, entries: Sequence[Entry]) -> list[GoQueueError | None]: ...
    def begin_sync(self) -> None:
        """Announce a sync, so that write-back can start early. Called by the owner."""

    def sync(self) -> Lsn: ...
    def prepare(self, *, sparing: bool = False) -> None:
        """Do ahead what would delay a later write or, if `sparing` the disk, give back such preparations."""

    @property
    def failure(self) -> GoQueueError | None: ...
    @property
    def written_lsn(self) -> Lsn: ...
    @property
    def journal_bytes(self) -> int: ...
    def begin_checkpoint(self, snapshots: Mapping[str, Payload | None]) -> SlowWork: ...
    def finish_checkpoint(self, work: SlowWork) -> None: ...
    def begin_compaction(self, log: LogId, policy: CompactionPolicy) -> SlowWork | None: ...
    def finish_compaction(self, work: SlowWork) -> None: ...
    def free_share(self) -> float: ...


class IndexedIds(NamedTuple):
    """Ids of consecutive records: concatenated digests of 16 bytes, 16 zeros for a record without an id."""

    space: int
    partition: int
    base_offset: int
    timestamp_ns: int
    digests: bytes


class FoundId(NamedTuple):
    """The position found for a digest; `step` is the index of the digest in the query."""

    step: int
    partition: int
    offset: int
    timestamp_ns: int


class IdIndexDamaged(Exception):
    """The index cannot be used. It is a view and is rebuilt."""


class IdIndex(Protocol):
    """An index on disk from digests of record ids to positions.

    `find` is called from the event loop. The other methods are slow: one at a time, beside `find`; `reset` is called
    only while no `find` runs. All but `close` raise IdIndexDamaged, and DiskFull where they write.
    """

    def open(self) -> int:
        """The number given with the last `add`; 0 if there was none."""

    def close(self) -> None: ...
    def find(self, space: int, digests: bytes) -> list[FoundId]: ...
    def add(self, ids: Sequence[IndexedIds], number: int) -> None:
        """Add positions, replacing older ones of the same digests, and the number; durable on return."""

    def forget(self, space: int, before_ns: int, after: bytes, most: int) -> bytes | None:
        """Look at up to `most` digests after `after` and forget the old ones; returns where to continue, None at the
        end."""

    def spaces(self) -> list[int]:
        """The spaces that have entries."""

    def reset(self) -> None:
        """Empty the index, whatever state it is in."""


class CompileProto(Protocol):
    """Takes tens of milliseconds to seconds; called in threads, several at a time."""

    def __call__(self, root: str, texts: Mapping[str, str], /) -> bytes:
        """The FileDescriptorSet of the file named `root` and of its imports; InvalidSchema if it has errors."""
