"""Is the data folder one, can it be written, does a broker have it, and is what lies at its end intact?"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from goqueue.cli.checks.finding import Check, ok, problem, warning
from goqueue.cli.times import bytes_text
from goqueue.errors import DataFolderInUse, GoQueueError
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.expected_logs import ExpectedLogs
from goqueue.offline.findings import NO_PROGRESS, Finding, Severity
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.read_only_files import ReadOnlyFileSystem, is_locked
from goqueue.offline.state_copies import read_checkpoints
from goqueue.offline.verify.segment_check import SegmentCheck

__all__ = ["check_folder", "is_data_folder"]

MIB = 1024 * 1024
MOST_READ = 256 * MIB
LEAST_FREE = 1024 * MIB
LEAST_FREE_SHARE = 0.1


def is_data_folder(data: str) -> bool:
    return Path(data).is_dir() and any(Path(data).iterdir())


def check_folder(data: str) -> Iterator[Check]:
    path = Path(data)
    if not path.exists():
        yield from _missing(path)
        return
    if not path.is_dir():
        yield problem("data folder", f"{path} is not a folder", "give another one with --data")
        return
    yield _writable(path)
    yield _free(path)
    if is_data_folder(data):
        yield from _contents(data)
    else:
        yield ok("contents", "empty; the broker makes its files at its first start")


def _missing(path: Path) -> Iterator[Check]:
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        yield problem("data folder", f"{path} does not exist and cannot be made", f"get the right to write in {above}")
        return
    yield ok("data folder", f"{path} does not exist; the broker makes it at its first start")
    yield _free(above)


def _writable(path: Path) -> Check:
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return problem("data folder", f"{path} cannot be written", "run as the user to whom it belongs, or chown it")
    return ok("data folder", f"{path} can be written")


def _free(path: Path) -> Check:
    use = shutil.disk_usage(path)
    found = f"{bytes_text(use.free)} of {bytes_text(use.total)} free"
    if use.free < LEAST_FREE:
        return problem("free space", found, "free some, or move the folder to a larger disk: writes are refused soon")
    if use.free < LEAST_FREE_SHARE * use.total:
        return warning("free space", found, "free some, or let topics keep less (--retention, --retention-bytes)")
    return ok("free space", found)


def _contents(data: str) -> Iterator[Check]:
    folder = DataFolder(ReadOnlyFileSystem(), data)
    try:
        folder.check()
    except GoQueueError as error:
        yield problem("contents", error.message, error.hint or "give another folder with --data")
        return
    if is_locked(folder.lock_path):
        yield ok("lock", "a broker has the folder open")
        yield ok("contents", "not checked while a broker writes them; it does so itself")
        return
    yield ok("lock", "nobody has the folder open")
    try:
        lock = folder.hold()
    except DataFolderInUse:
        yield ok("contents", "not checked, as a broker has just begun")
        return
    except OSError as error:
        yield warning("contents", f"not checked: {error.strerror}", "run as the user to whom the folder belongs")
        return
    try:
        yield _quick_check(folder)
    except GoQueueError as error:
        yield problem("contents", error.message, error.hint or f"run `goqueue storage verify {data}`")
    finally:
        lock.close()


def _quick_check(folder: DataFolder) -> Check:
    """The checkpoint, the journal, and the last segment of each log: where a crash or a bad disk shows first."""
    checkpoints = read_checkpoints(folder)
    found: list[Finding] = list(checkpoints.findings)
    state = checkpoints.newest
    damaged: list[str] = []
    segments = read = 0
    if state is not None:
        journal = JournalScan(folder, state.lsn, NO_PROGRESS)
        damaged = [folder.relative(fault.path) for fault in journal.faults if fault.kind == "damaged"]
        for log, expected in ExpectedLogs(folder, state, journal).logs().items():
            if not expected or read + expected[-1].info.size > MOST_READ:
                continue
            read += expected[-1].info.size
            segments += 1
            found += SegmentCheck(folder, log, expected[-1], sealed=False, progress=NO_PROGRESS).run()
    bad = [f"{name}: an entry cannot be read" for name in damaged]
    bad += [f"{one.file}: {one.what}" for one in found if one.severity is not Severity.INFO]
    if bad:
        verify = f"run `goqueue storage verify {folder.path}`, then `goqueue storage repair` with --dry-run"
        return problem("contents", bad[0] + _more(len(bad) - 1), verify)
    what = f"checkpoint, journal and the last segments of {segments} logs ({bytes_text(read)}) are intact"
    return ok("contents", what)


def _more(count: int) -> str:
    return f", and {count} more" if count else ""
