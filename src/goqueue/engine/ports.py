"""What the engine needs from the outside: storage, time, chance. Adapters provide it, test twins too."""

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
"""Streams whose snapshots are those of several other streams: a msgpack map of these by their names."""
Payload = bytes | Callable[[], bytes]
"""A snapshot, or what makes it, in any thread."""


class Clock(Protocol):
    """The only source of time."""

    def now_ns(self) -> InstantNs: ...
    async def sleep_ms(self, duration_ms: int) -> None: ...


class Entropy(Protocol):
    """The only source of chance."""

    def token_bytes(self, length: int) -> bytes: ...


class AppendRecords(NamedTuple):
    """Stamped records for the end of a log; `next_offset` is the one after the last of them."""

    log: LogId
    records: Buffer
    next_offset: int


class StateEvent(NamedTuple):
    """A change of some state machine, kept in order and given back by recovery."""

    stream: str
    payload: bytes


class CreateLog(NamedTuple):
    log: LogId


class DeleteLog(NamedTuple):
    log: LogId


class DropSegments(NamedTuple):
    """Forget whole segments: retention."""

    log: LogId
    base_offsets: tuple[int, ...]


Operation = AppendRecords | StateEvent | CreateLog | DeleteLog | DropSegments
Entry = tuple[Operation, ...]
"""Operations that happen together: after a crash all of them are there, or none."""


class Log(Protocol):
    """One partition's records."""

    @property
    def start_offset(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def tail_offset(self) -> int:
        """Records from here on are in the file that is being written: mostly still in memory."""

    @property
    def size(self) -> int: ...
    @property
    def segments(self) -> tuple[SegmentInfo, ...]: ...
    @property
    def failure(self) -> GoQueueError | None: ...
    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk: ...
    def peek(self, offset: int, max_bytes: int) -> Buffer:
        """Bytes from the record with this offset on, or from a little before it: of one segment, and unchecked."""

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None: ...


class CompactionPolicy(NamedTuple):
    """Which records a compaction may leave out: none at or above `limit_offset`, no tombstone that is newer.

    Records that nobody is ever to see, of aborted transactions say, go, and take the place of no others.
    """

    limit_offset: int
    drop_tombstones_before_ns: int
    never_seen: BitMap64 = NONE


class Recovery(Protocol):
    """Takes the state that storage kept: first the snapshots, then every later event in order."""

    def restore(self, stream: str, snapshot: bytes) -> None: ...
    def apply(self, event: StateEvent) -> None: ...


class StorageObserver(Protocol):
    """Is told what an operator should know; each call is rare."""

    def damaged(self, damage: Damage) -> None: ...
    def file_damaged(self, path: str, reason: str) -> None:
        """The file is kept twice or can be built again, so nothing is lost."""

    def read_failed(self, log: LogId) -> None: ...
    def journal_damaged(self, description: str, entries: int) -> None: ...
    def tail_dropped(self, where: str, size: int) -> None: ...
    def log_failed(self, log: LogId, failure: GoQueueError) -> None: ...
    def storage_failed(self, failure: GoQueueError) -> None: ...


class SlowWork(Protocol):
    """The part of a checkpoint or compaction that takes long: `run` may go beside writes, in a thread of its own."""

    def run(self) -> None: ...


class Storage(Protocol):
    """Durable logs and state behind one journal.

    `write` and everything that begins or finishes work belongs to one owner: no two such calls run at the same time.
    `sync`, `prepare`, the slow work and reading may run beside them.
    """

    def open(self, recovery: Recovery) -> None: ...
    def close(self) -> None: ...
    def logs(self) -> Sequence[LogId]: ...
    def log(self, log: LogId) -> Log: ...
    def write(self, entries: Sequence[Entry]) -> list[GoQueueError | None]: ...
    def begin_sync(self) -> None:
        """A sync is about to come: what can be done for it meanwhile may begin. The owner calls it."""

    def sync(self) -> Lsn: ...
    def prepare(self, *, sparing: bool = False) -> None:
        """Do ahead what would hold up a later write; or, `sparing` the disk, give back what was done ahead."""

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
    """Ids of consecutive records: digests of 16 bytes, one after the other; 16 zeros for a record without an id."""

    space: int
    partition: int
    base_offset: int
    timestamp_ns: int
    digests: bytes


class FoundId(NamedTuple):
    """The place of one of the digests asked for, which is given by its number."""

    step: int
    partition: int
    offset: int
    timestamp_ns: int


class IdIndexDamaged(Exception):
    """The index cannot be used; it is a view, and is built again."""


class IdIndex(Protocol):
    """Places of records by the digests of their ids, on disk.

    `find` is called from the event loop. The others take long: one at a time, beside `find`; `reset` is called only
    while nobody looks for anything. All but `close` raise IdIndexDamaged, and DiskFull where something is written.
    """

    def open(self) -> int:
        """The number given with the last `add`; 0 when there was none."""

    def close(self) -> None: ...
    def find(self, space: int, digests: bytes) -> list[FoundId]: ...
    def add(self, ids: Sequence[IndexedIds], number: int) -> None:
        """Take the places, in place of older ones of the same digests, and the number; durable on return."""

    def forget(self, space: int, before_ns: int, after: bytes, most: int) -> bytes | None:
        """Of up to `most` digests behind `after` forget the older ones; where to go on, or None at the end."""

    def spaces(self) -> list[int]:
        """Those in which there is anything."""

    def reset(self) -> None:
        """Be empty, whatever state it is in."""


class CompileProto(Protocol):
    """Takes tens of milliseconds, and up to seconds: called in threads, several at a time."""

    def __call__(self, root: str, texts: Mapping[str, str], /) -> bytes:
        """The FileDescriptorSet of the file named `root` and of all it imports; InvalidSchema if it has errors."""
