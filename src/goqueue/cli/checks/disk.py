"""How fast is the disk: a sync of a small write, and many bytes in a row?"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from goqueue.cli.checks.finding import Check, ok, warning

__all__ = ["check_disk"]

MIB = 1024 * 1024
SMALL = bytes(4096)
LARGE = bytes(MIB)
MOST_SYNCS, SYNCS_WITHIN_S = 500, 1.0
MOST_WRITTEN, WRITE_WITHIN_S = 128, 1.5
ROOM = 1024 * MIB
SLOW_SYNC_S, SLOW_MIB_S = 0.05, 40


def check_disk(data: str) -> Iterator[Check]:
    """Writes into a folder of its own on the same disk, for about two seconds, and takes it away again."""
    place = _place(Path(data))
    if place is None:
        yield warning("disk speed", "not measured: no place to write", "get the right to write beside the data folder")
        return
    if shutil.disk_usage(place).free < ROOM:
        yield warning("disk speed", "not measured: too little room", "free some space")
        return
    with tempfile.TemporaryDirectory(prefix=".goqueue-doctor-", dir=place) as folder:
        yield _syncs(Path(folder) / "syncs")
        yield _stream(Path(folder) / "stream")


def _place(data: Path) -> Path | None:
    """Beside the folder, not in it, where that is the same disk."""
    existing = next(path for path in (data.absolute(), *data.absolute().parents) if path.exists())
    beside = existing.parent
    if existing == data.absolute() and beside.stat().st_dev == existing.stat().st_dev and os.access(beside, os.W_OK):
        return beside
    return existing if existing.is_dir() and os.access(existing, os.W_OK) else None


def _syncs(path: Path) -> Check:
    took: list[float] = []
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        until = time.perf_counter() + SYNCS_WITHIN_S
        while len(took) < MOST_SYNCS and time.perf_counter() < until:
            before = time.perf_counter()
            os.write(fd, SMALL)
            os.fdatasync(fd)
            took.append(time.perf_counter() - before)
    finally:
        os.close(fd)
    took.sort()
    half, most = took[len(took) // 2], took[min(len(took) - 1, int(len(took) * 0.99))]
    found = f"p50 {half * 1000:.2f} ms, p99 {most * 1000:.2f} ms over {len(took)} syncs of 4 KiB"
    if most > SLOW_SYNC_S:
        return warning("sync (fsync)", found, "confirmations wait for it: use a local SSD, or durability memory")
    return ok("sync (fsync)", found)


def _stream(path: Path) -> Check:
    written = 0
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        before = time.perf_counter()
        while written < MOST_WRITTEN and time.perf_counter() < before + WRITE_WITHIN_S:
            os.write(fd, LARGE)
            written += 1
        os.fsync(fd)
        per_s = written / max(time.perf_counter() - before, 1e-9)
    finally:
        os.close(fd)
    found = f"{per_s:,.0f} MiB/s over {written} MiB, with the sync at the end"
    if per_s < SLOW_MIB_S:
        return warning("sequential writes", found, "this is the most that producers can write; use a faster disk")
    return ok("sequential writes", found)
