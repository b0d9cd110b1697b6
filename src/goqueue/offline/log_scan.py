"""Log scan: the description of segments from their files alone, without checkpoint or journal."""

from typing import NamedTuple

from goqueue import codec
from goqueue.adapters.disk.files import FileSystem, file_size
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.adapters.disk.walk import Gap, walk
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.findings import NO_PROGRESS, Progress

__all__ = ["Measured", "measure_log", "measure_segment"]

_HIGHEST = 1 << 62


class Measured(NamedTuple):
    """A segment as found in its file; `info.size` is the size of the file, including damage."""

    info: SegmentInfo
    last_offset: int
    """Offset of the last intact record; base offset - 1 if there is none."""
    gaps: tuple[Gap, ...]


def measure_segment(
    files: FileSystem, path: str, base_offset: int, bound: int | None, progress: Progress = NO_PROGRESS
) -> Measured:
    """Walk a whole file. `bound` is the base offset of the next segment; without it the records determine the end.

    Offsets that a damaged end may have used are not used again: a consumer that had read past them would never see
    the new records.
    """
    size = file_size(files, path)
    last, newest = base_offset - 1, 0
    gaps: list[Gap] = []
    file = files.open(path)
    try:
        for found in walk(file, 0, size, expected_offset=base_offset, next_offset=bound or _HIGHEST):
            if isinstance(found, Gap):
                gaps.append(found)
                progress.advance(found.length)
            else:
                last = found.last_offset
                newest = max(newest, found.max_timestamp_ns)
                progress.advance(len(found.records))
    finally:
        file.close()
    end = last + 1
    if gaps and gaps[-1].position + gaps[-1].length == size:
        end += gaps[-1].length // codec.HEADER_SIZE
        if bound is None:
            gaps[-1] = gaps[-1]._replace(last_offset=end - 1)
    next_offset = bound if bound is not None else end
    return Measured(SegmentInfo(base_offset, next_offset, size, newest), last, tuple(gaps))


def measure_log(folder: DataFolder, log: LogId, progress: Progress = NO_PROGRESS) -> list[Measured]:
    """All segments of a log that have a file, measured."""
    bases = folder.segment_bases(log)
    bounds = [*bases[1:], None]
    return [
        measure_segment(folder.files, folder.stem(log, base) + LOG_SUFFIX, base, bound, progress)
        for base, bound in zip(bases, bounds, strict=False)
    ]
