"""State copies: the checkpoint and the snapshots of state machines, each kept twice, read and compared."""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

from goqueue.adapters.disk.checkpoint import COPY_SUFFIX, CheckpointState, SnapshotFile, parse, seal, snapshot_path
from goqueue.adapters.disk.files import read_whole
from goqueue.errors import DataFolderDamaged
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.findings import Finding, Kind, Severity

__all__ = ["CheckpointCopies", "SnapshotCopies", "read_checkpoints", "read_snapshots", "unused_snapshots"]

_T = TypeVar("_T")
_VERSION_AT = 4
_TWIN = "restored from the other copy"
_SUFFIX = ".snap"


class CheckpointCopies(NamedTuple):
    """The checkpoint and its copy; None if missing or damaged."""

    states: tuple[CheckpointState | None, CheckpointState | None]
    findings: list[Finding]

    @property
    def newest(self) -> CheckpointState | None:
        """The copy that recovery uses."""
        intact = [state for state in self.states if state is not None]
        return max(intact, key=lambda state: state.lsn, default=None)


def read_checkpoints(folder: DataFolder) -> CheckpointCopies:
    contents = [read_whole(folder.files, path) for path in folder.checkpoint_copies]
    main, copy = (_decode(content, b"GQCP", CheckpointState) for content in contents)
    if main is None and copy is None:
        _refuse_newer_versions(folder, contents)
        found = [
            Finding(
                folder.relative(path),
                Kind.CHECKPOINT_LOST,
                Severity.ERROR,
                "damaged, as is the other copy" if content else "missing, as is the other copy or it is damaged",
                remedy="built again from the log folders and the journal",
            )
            for path, content in zip(folder.checkpoint_copies, contents, strict=True)
        ]
        return CheckpointCopies((None, None), found)
    found = [
        _bad_copy(folder, path, Kind.CHECKPOINT_COPY, missing=not content)
        for path, content, state in zip(folder.checkpoint_copies, contents, (main, copy), strict=True)
        if state is None
    ]
    if main is not None and copy is not None and main != copy:
        # The copy is written first, so a crash between the two leaves it one checkpoint ahead.
        crashed = copy.lsn > main.lsn
        found.append(
            Finding(
                folder.relative(folder.checkpoint_copies[0]),
                Kind.CHECKPOINTS_DIFFER,
                Severity.INFO if crashed else Severity.WARNING,
                f"says LSN {main.lsn}, its copy LSN {copy.lsn}",
                remedy="the newer one is written twice",
            )
        )
    return CheckpointCopies((main, copy), found)


class SnapshotCopies(NamedTuple):
    """One snapshot; None if neither copy is intact."""

    path: str
    snapshot: SnapshotFile | None
    findings: list[Finding]


def read_snapshots(folder: DataFolder, state: CheckpointState | None) -> Iterator[SnapshotCopies]:
    """Snapshots that the checkpoint names; without a checkpoint, all snapshots in the folder."""
    if state is not None:
        for stream, lsn in state.snapshots.items():
            yield _read_snapshot(folder, snapshot_path(folder.path, stream, lsn), (stream, lsn))
        return
    names = folder.files.list(folder.snapshots)
    for name in sorted({name.removesuffix(COPY_SUFFIX) for name in names if _SUFFIX in name}):
        if name.endswith(_SUFFIX):
            yield _read_snapshot(folder, f"{folder.snapshots}/{name}", None)


def _read_snapshot(folder: DataFolder, path: str, wanted: tuple[str, int] | None) -> SnapshotCopies:
    paths = (path, path + COPY_SUFFIX)
    contents = [read_whole(folder.files, one) for one in paths]
    snapshots = []
    for content in contents:
        snapshot = _decode(content, b"GQSN", SnapshotFile)
        if snapshot is not None and wanted not in (None, (snapshot.stream, snapshot.lsn)):
            snapshot = None
        snapshots.append(snapshot)
    intact = next((snapshot for snapshot in snapshots if snapshot is not None), None)
    if intact is None:
        of = f" of {wanted[0]}" if wanted else ""
        what = f"the snapshot{of} is unreadable in both copies: that state is lost"
        return SnapshotCopies(path, None, [Finding(folder.relative(path), Kind.SNAPSHOT_LOST, Severity.ERROR, what)])
    found = [
        _bad_copy(folder, one, Kind.SNAPSHOT_COPY, missing=not content)
        for one, content, snapshot in zip(paths, contents, snapshots, strict=True)
        if snapshot is None
    ]
    return SnapshotCopies(path, intact, found)


def unused_snapshots(folder: DataFolder, state: CheckpointState) -> Iterator[Finding]:
    """Snapshots that the checkpoint does not name, left by an interrupted checkpoint or removal."""
    wanted = {snapshot_path(folder.path, stream, lsn) for stream, lsn in state.snapshots.items()}
    for name in folder.files.list(folder.snapshots):
        path = f"{folder.snapshots}/{name}".removesuffix(COPY_SUFFIX)
        if path.endswith(_SUFFIX) and path not in wanted:
            what = "a snapshot that the checkpoint does not name; the next one removes it"
            yield Finding(f"snapshots/{name}", Kind.SNAPSHOT_UNUSED, Severity.INFO, what)


def _decode(content: bytes, magic: bytes, kind: type[_T]) -> _T | None:
    body = parse(magic, content)
    if body is None:
        return None
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except msgspec.DecodeError:
        return None


def _bad_copy(folder: DataFolder, path: str, kind: Kind, *, missing: bool) -> Finding:
    what = "missing, the other copy is intact" if missing else "damaged, the other copy is intact"
    return Finding(folder.relative(path), kind, Severity.WARNING, what, remedy=_TWIN)


def _refuse_newer_versions(folder: DataFolder, contents: list[bytes]) -> None:
    """Reject an intact checkpoint with a higher version: a newer GoQueue wrote it, it is not damaged."""
    for content in contents:
        if len(content) > _VERSION_AT:
            ours = seal(b"GQCP", content[12:])
            if content[_VERSION_AT] > ours[_VERSION_AT] and ours == content[:4] + ours[4:5] + content[5:]:
                raise DataFolderDamaged(
                    f"{folder.path} was written by a newer version of GoQueue (format {content[_VERSION_AT]})",
                    hint="use the tools of that version",
                )
