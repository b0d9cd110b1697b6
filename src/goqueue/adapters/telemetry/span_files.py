"""Span files: one line for each run; a new file begins by size or age, and the oldest files are removed.

A file is called `spans-….jsonl.open` while it is written to. Programs that read each file once should take files
that end in `.jsonl`. After a crash the last line may be incomplete.
"""

import os
from collections.abc import Iterator
from io import FileIO
from typing import Annotated

import msgspec

from goqueue.adapters.telemetry.logs import Logger
from goqueue.adapters.telemetry.span_lines import line_of
from goqueue.model.span import SpanRun

__all__ = ["SpanFileSettings", "SpanFiles"]

MIB = 1024 * 1024
COMPLETE, OPEN = ".jsonl", ".jsonl.open"
PREFIX = "spans-"
MOST_FILES = 10_000
LOOKS_PER_FILE = 1200
"""Steps of a quarter of a second: a file is completed after five minutes at any size."""
CHUNK = 256 * 1024
RUN_BYTES = 512
"""Approximate memory of a run without contexts."""

FileBytes = Annotated[int, msgspec.Meta(ge=4096, le=1 << 40)]


class SpanFileSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files of spans, for a longer history than the spans in memory."""

    enabled: bool = True
    """True if spans are also written to files."""
    folder: str = ""
    """Folder of the files; none means `traces` in the data folder."""
    file_bytes: FileBytes = 16 * MIB
    """Size at which a new file begins; at most `tracing.files.keep_bytes`."""
    keep_bytes: FileBytes = 256 * MIB
    """Size of all files together; the newest file is always kept."""


class SpanFiles:
    """See `goqueue.adapters.telemetry.span_outlet.Destination`. Failed spans are counted, and logged once."""

    name = "files"
    room = 100_000

    def __init__(self, folder: str, settings: SpanFileSettings, logger: Logger) -> None:
        self._folder = folder
        self._settings = settings
        self._log = logger
        self._file: FileIO | None = None
        self._size = 0
        self._looks = 0
        self._last_stamp = -1
        self._is_failing = False

    def weight(self, run: SpanRun) -> int:
        return 1 + (len(run.contexts.entries) + len(run.contexts.states)) // RUN_BYTES

    def send(self, runs: Iterator[SpanRun]) -> tuple[int, int]:
        sent = failed = 0
        for lines, spans, now_ns in self._chunks(runs):
            if self._write(lines, now_ns):
                sent += spans
            else:
                failed += spans
        self._looks += 1
        if self._looks >= LOOKS_PER_FILE:
            self.close()
        return sent, failed

    def _chunks(self, runs: Iterator[SpanRun]) -> Iterator[tuple[list[bytes], int, int]]:
        """Lines to be written together, the number of their spans, and the end of the last one."""
        lines: list[bytes] = []
        size = spans = now_ns = 0
        for run in runs:
            lines.append(line_of(run))
            size += len(lines[-1]) + 1
            spans += run.count
            now_ns = run.end_ns
            if size >= CHUNK or self._size + size >= self._settings.file_bytes:
                yield lines, spans, now_ns
                lines, size, spans = [], 0, 0
        if lines:
            yield lines, spans, now_ns

    def close(self) -> None:
        """Complete the file."""
        if self._file is None:
            return
        try:
            self._file.close()
            path = str(self._file.name)
            os.rename(path, path.removesuffix(OPEN) + COMPLETE)
        except OSError as error:
            self._failed(error)
        self._file = None

    def give_up(self) -> None:
        """Nothing to do: a blocked write cannot be ended; the next start completes the file."""

    def _write(self, lines: list[bytes], now_ns: int) -> bool:
        try:
            file = self._file or self._begin(now_ns)
            text = b"\n".join(lines) + b"\n"
            self._append(file, text)
            self._size += len(text)
            if self._size >= self._settings.file_bytes:
                self.close()
        except OSError as error:
            self._failed(error)
            return False
        if self._is_failing:
            self._is_failing = False
            self._log.info("spans are written again", folder=self._folder)
        return True

    def _append(self, file: FileIO, text: bytes) -> None:
        """Append the whole text or nothing, so that no line is incomplete on a full disk."""
        try:
            rest = memoryview(text)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            os.truncate(file.fileno(), self._size)
            file.seek(self._size)
            raise

    def _begin(self, now_ns: int) -> FileIO:
        os.makedirs(self._folder, exist_ok=True)
        names = self._complete_others()
        if names:
            self._last_stamp = max(self._last_stamp, _stamp(names[-1]))
        self._remove_oldest(names)
        # If the clock was set back, a new file must not look older than earlier ones.
        self._last_stamp = max(now_ns, self._last_stamp + 1)
        path = f"{self._folder}/{PREFIX}{self._last_stamp:020d}{OPEN}"
        self._file = FileIO(path, "xb", opener=_opened)
        self._size = self._looks = 0
        return self._file

    def _complete_others(self) -> list[str]:
        """Complete the files that a killed process left open; returns all complete files, the oldest first."""
        for name in os.listdir(self._folder):
            if name.startswith(PREFIX) and name.endswith(OPEN):
                os.rename(f"{self._folder}/{name}", f"{self._folder}/{name.removesuffix(OPEN)}{COMPLETE}")
        names = (name for name in os.listdir(self._folder) if name.startswith(PREFIX) and name.endswith(COMPLETE))
        return sorted(name for name in names if _stamp(name) >= 0)

    def _remove_oldest(self, names: list[str]) -> None:
        """Remove the oldest files, so that there is room for the next."""
        sizes = [os.path.getsize(f"{self._folder}/{name}") for name in names]
        room = self._settings.keep_bytes - self._settings.file_bytes
        total = sum(sizes)
        for left, (name, size) in enumerate(zip(names, sizes, strict=True)):
            if total <= room and len(names) - left < MOST_FILES:
                return
            os.remove(f"{self._folder}/{name}")
            total -= size

    def _failed(self, error: OSError) -> None:
        if self._is_failing:
            return
        self._is_failing = True
        self._log.error(
            "spans cannot be written; they are dropped until they can",
            folder=self._folder,
            reason=error.strerror or str(error),
            hint="make room, or set tracing.files.folder to a folder that can be written",
        )


def _opened(path: str, flags: int) -> int:
    """Opener with restricted permissions, because the files contain keys of records."""
    return os.open(path, flags, 0o640)


def _stamp(name: str) -> int:
    """Timestamp in the file name; -1 if the file is not a span file."""
    digits = name.removeprefix(PREFIX).removesuffix(COMPLETE)
    return int(digits) if digits.isascii() and digits.isdecimal() else -1
