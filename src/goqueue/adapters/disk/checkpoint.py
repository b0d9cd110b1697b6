"""Checkpoint: the state of the node at one LSN, so that recovery reads only the journal after it.

The file: magic `GQCP`, version u8, 3 zeros, CRC-32C u32 of the body, body (msgpack). Snapshots of state
machines are files of their own in the same frame with magic `GQSN`. Both are kept twice, so that one damaged
sector loses nothing. To change a layout raise VERSION; `parse` refuses unknown versions.
"""

import errno
import hashlib
import struct
from collections.abc import Callable, Mapping

import msgspec

from goqueue.adapters.disk.files import FileSystem, read_whole, remove_file, write_atomically
from goqueue.codec import crc32c
from goqueue.engine.ports import Payload
from goqueue.model.log import SegmentInfo

__all__ = [
    "CHECKPOINT",
    "COPY_SUFFIX",
    "SNAPSHOTS",
    "CheckpointState",
    "SnapshotFile",
    "load_checkpoint",
    "load_snapshot",
    "parse",
    "remove_old_snapshots",
    "save_checkpoint",
    "save_snapshots",
]

VERSION = 1
CHECKPOINT = "checkpoint"
SNAPSHOTS = "snapshots"
COPY_SUFFIX = ".copy"
SNAPSHOT_SUFFIXES = (".snap", f".snap{COPY_SUFFIX}", ".tmp")

_HEAD = struct.Struct(">4sB3xI")


class CheckpointState(msgspec.Struct, frozen=True):
    """Segments of every log, and the LSN of the newest snapshot of each state stream."""

    lsn: int = 0
    logs: dict[str, tuple[SegmentInfo, ...]] = {}
    snapshots: dict[str, int] = {}


class SnapshotFile(msgspec.Struct, frozen=True):
    """Snapshot of one state machine with its stream name, because the file is named by a digest."""

    stream: str
    lsn: int
    payload: bytes


def seal(magic: bytes, body: bytes) -> bytes:
    return _HEAD.pack(magic, VERSION, crc32c(body)) + body


def parse(magic: bytes, content: bytes) -> bytes | None:
    """Body of the file, or None if it is not intact."""
    if len(content) < _HEAD.size:
        return None
    body = content[_HEAD.size :]
    return body if content == seal(magic, body) else None


def _save_twice(files: FileSystem, path: str, content: bytes) -> None:
    write_atomically(files, path + COPY_SUFFIX, content)
    write_atomically(files, path, content)


Report = Callable[[str, str], None]
"""Callback for an existing file that cannot be used: path and reason."""


def no_report(path: str, reason: str) -> None:
    """Report that does nothing, for callers that compare both copies themselves."""


def _intact_bodies(files: FileSystem, path: str, magic: bytes, report: Report) -> list[bytes]:
    bodies = (_intact_body(files, copy, magic, report) for copy in (path, path + COPY_SUFFIX))
    return [body for body in bodies if body is not None]


def _intact_body(files: FileSystem, path: str, magic: bytes, report: Report) -> bytes | None:
    reason = "it is a folder, or its checksum is wrong"
    body = None
    try:
        body = parse(magic, read_whole(files, path))
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        reason = f"it cannot be read: {error.strerror}"
    if body is None and files.exists(path):
        report(path, reason)
    return body


def load_checkpoint(files: FileSystem, folder: str, report: Report = no_report) -> CheckpointState | None:
    """Newest intact copy of the checkpoint."""
    bodies = _intact_bodies(files, f"{folder}/{CHECKPOINT}", b"GQCP", report)
    states = [msgspec.msgpack.decode(body, type=CheckpointState) for body in bodies]
    return max(states, key=lambda state: state.lsn, default=None)


def save_checkpoint(files: FileSystem, folder: str, state: CheckpointState) -> None:
    _save_twice(files, f"{folder}/{CHECKPOINT}", seal(b"GQCP", msgspec.msgpack.encode(state)))


def snapshot_path(folder: str, stream: str, lsn: int) -> str:
    digest = hashlib.blake2b(stream.encode(), digest_size=16).hexdigest()
    return f"{folder}/{SNAPSHOTS}/{digest}-{lsn:020d}.snap"


def save_snapshots(files: FileSystem, folder: str, lsn: int, snapshots: Mapping[str, Payload]) -> None:
    for stream, payload in snapshots.items():
        made = payload() if callable(payload) else payload
        body = msgspec.msgpack.encode(SnapshotFile(stream, lsn, made))
        _save_twice(files, snapshot_path(folder, stream, lsn), seal(b"GQSN", body))


def load_snapshot(files: FileSystem, folder: str, stream: str, lsn: int, report: Report = no_report) -> bytes | None:
    """Payload of a snapshot, or None if neither copy is intact."""
    bodies = _intact_bodies(files, snapshot_path(folder, stream, lsn), b"GQSN", report)
    return msgspec.msgpack.decode(bodies[0], type=SnapshotFile).payload if bodies else None


def remove_old_snapshots(files: FileSystem, folder: str, current: Mapping[str, int]) -> None:
    """Remove snapshots of streams that have a newer one or no longer exist."""
    wanted = {snapshot_path(folder, stream, lsn) for stream, lsn in current.items()}
    for name in files.list(f"{folder}/{SNAPSHOTS}"):
        path = f"{folder}/{SNAPSHOTS}/{name}"
        if name.endswith(SNAPSHOT_SUFFIXES) and path.removesuffix(COPY_SUFFIX) not in wanted:
            remove_file(files, path)
