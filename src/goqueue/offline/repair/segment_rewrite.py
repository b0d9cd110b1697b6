"""Segment rewrite without damaged ranges, and rebuild of segment indexes.

The journal must no longer refer to positions in these files; see `journal_restart`. The new file is renamed over the
old one before the checkpoint has the new size. A crash in between leaves a file that ends early: readers skip the
missing end, and a second repair corrects the checkpoint. The other order could lose records.
"""

from collections.abc import Collection, Iterable

import msgspec

from goqueue.adapters.disk.checkpoint import CheckpointState, save_checkpoint
from goqueue.adapters.disk.files import FileSystem
from goqueue.adapters.disk.log import cleaned_path
from goqueue.adapters.disk.segment import LOG_SUFFIX, SIDE_SUFFIXES
from goqueue.adapters.disk.segment_index import SegmentIndex
from goqueue.adapters.disk.walk import Gap, walk
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.repair.lost_and_found import LostAndFound
from goqueue.offline.verify.segment_check import ENDS_EARLY

__all__ = ["SegmentKey", "cut_damage", "rebuild_indexes", "segments_of"]

SegmentKey = tuple[LogId, int]
"""Log and base offset of a segment."""


def cut_damage(
    folder: DataFolder, state: CheckpointState, suspects: Collection[SegmentKey], lost: LostAndFound
) -> tuple[CheckpointState, set[SegmentKey]]:
    """Rewrite the suspected segments that are damaged; returns the new checkpoint and the damaged segments."""
    gaps = {
        (log, info.base_offset): found
        for log, info in segments_of(state)
        if (log, info.base_offset) in suspects and (found := _keep_gaps(folder, log, info, lost))
    }
    lost.write_report()
    logs: dict[str, list[SegmentInfo]] = {name: [] for name in state.logs}
    for log, info in segments_of(state):
        key = (log, info.base_offset)
        if key in gaps and any(gap.reason != ENDS_EARLY for gap in gaps[key]):
            _rewrite(folder, log, info)
        logs[str(log)].append(_measured(folder, log, info) if key in suspects else info)
    replaced = msgspec.structs.replace(state, logs={name: tuple(infos) for name, infos in logs.items()})
    if replaced != state:
        save_checkpoint(folder.files, folder.path, replaced)
    return replaced, set(gaps)


def segments_of(state: CheckpointState) -> Iterable[tuple[LogId, SegmentInfo]]:
    return [(LogId.parse(name), info) for name, infos in state.logs.items() for info in infos]


def _keep_gaps(folder: DataFolder, log: LogId, info: SegmentInfo, lost: LostAndFound) -> list[Gap]:
    path = folder.stem(log, info.base_offset) + LOG_SUFFIX
    if not folder.files.exists(path):
        folder.files.make_dirs(folder.log_folder(log))
        folder.files.open(path, create=True).close()
        folder.files.sync_dir(folder.log_folder(log))
    file = folder.files.open(path)
    try:
        runs = walk(file, 0, info.size, expected_offset=info.base_offset, next_offset=info.next_offset)
        gaps = [found for found in runs if isinstance(found, Gap)]
    finally:
        file.close()
    for gap in gaps:
        offsets = (gap.first_offset, gap.last_offset) if gap.first_offset <= gap.last_offset else (None, None)
        lost.keep(path, gap.position, gap.length, gap.reason, first_offset=offsets[0], last_offset=offsets[1])
    return gaps


def _rewrite(folder: DataFolder, log: LogId, info: SegmentInfo) -> None:
    files, home = folder.files, folder.log_folder(log)
    stem = folder.stem(log, info.base_offset)
    cleaned = cleaned_path(home, info.base_offset)
    source, target = files.open(stem + LOG_SUFFIX), files.open(cleaned, create=True)
    try:
        target.truncate(0)
        size = 0
        for found in walk(source, 0, info.size, expected_offset=info.base_offset, next_offset=info.next_offset):
            if not isinstance(found, Gap):
                target.write(size, [found.records])
                size += len(found.records)
        target.sync()
    finally:
        source.close()
        target.close()
    _remove_indexes(files, stem)
    files.sync_dir(home)
    files.rename(cleaned, stem + LOG_SUFFIX)
    files.sync_dir(home)


def _measured(folder: DataFolder, log: LogId, info: SegmentInfo) -> SegmentInfo:
    """Description of the file as it is now, up to the known size: bytes beyond it were never confirmed."""
    file = folder.files.open(folder.stem(log, info.base_offset) + LOG_SUFFIX)
    size = newest = 0
    try:
        end = min(info.size, file.size())
        for found in walk(file, 0, end, expected_offset=info.base_offset, next_offset=info.next_offset):
            if not isinstance(found, Gap):
                size = found.position + len(found.records)
                newest = max(newest, found.max_timestamp_ns)
    finally:
        file.close()
    return SegmentInfo(info.base_offset, info.next_offset, size, newest)


def rebuild_indexes(folder: DataFolder, segments: Iterable[tuple[LogId, SegmentInfo]]) -> list[str]:
    """Build the indexes of these segments from their logs; returns the names of the segments."""
    rebuilt = []
    for log, info in segments:
        stem = folder.stem(log, info.base_offset)
        if folder.files.exists(stem + LOG_SUFFIX):
            _rebuild(folder.files, stem, info)
            folder.files.sync_dir(folder.log_folder(log))
            rebuilt.append(folder.relative(stem))
    return rebuilt


def _rebuild(files: FileSystem, stem: str, info: SegmentInfo) -> None:
    _remove_indexes(files, stem)
    file = files.open(stem + LOG_SUFFIX)
    try:
        index = SegmentIndex(files, stem)
        index.rebuild(file, info)
        index.persist(info.size, sealed=True)
    finally:
        file.close()
    for suffix in SIDE_SUFFIXES:
        if files.exists(stem + suffix):
            file = files.open(stem + suffix)
            try:
                file.sync()
            finally:
                file.close()


def _remove_indexes(files: FileSystem, stem: str) -> None:
    for suffix in SIDE_SUFFIXES:
        if files.exists(stem + suffix):
            files.remove(stem + suffix)
