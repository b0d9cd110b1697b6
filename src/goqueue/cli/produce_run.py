"""The work of `goqueue produce`: read, send, keep count of what became of each record."""

import asyncio
import contextlib
import os
import stat
import sys
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from goqueue.adapters.clock import SystemClock
from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, print_answer
from goqueue.cli.produce_progress import ProgressLine, progress_line, silence
from goqueue.cli.record_input import RecordParser, read_lines
from goqueue.cli.waiting import until_interrupted
from goqueue.client import Admin, Delivery, Producer, Sent
from goqueue.errors import GoQueueError, InvalidRequest, UnknownPartition

__all__ = ["Job", "Report", "Source", "run_job"]

MOST_NAMED_FAILURES = 10
MOST_MADE_UP_S = 0.05
LOOK_EVERY = 100


class Job(msgspec.Struct, frozen=True):
    """What to do with each value or line, and how."""

    topic: str
    parse: RecordParser
    per_second: float | None
    producer_settings: dict[str, Any]


class Source(msgspec.Struct, frozen=True):
    """Values from the command line, or else the lines of a file, or else of standard input."""

    values: list[bytes] | None
    file: Path | None

    @property
    def word(self) -> str:
        return "value" if self.values is not None else "line"

    async def chunks(self) -> AsyncIterator[list[bytes]]:
        if self.values is not None:
            yield self.values
            return
        fd = sys.stdin.fileno() if self.file is None else os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.isatty(fd):
                print("one record on each line; Ctrl-D ends", file=sys.stderr)
            async for lines in read_lines(fd):
                yield lines
        finally:
            if self.file is not None:
                os.close(fd)

    @property
    def may_be_long(self) -> bool:
        """Not what is typed: whoever does that sees it already."""
        return self.values is None and (self.file is not None or not sys.stdin.isatty())

    def size(self) -> int | None:
        """How many bytes there are to read, if that is known."""
        found = os.fstat(sys.stdin.fileno()) if self.file is None else os.stat(self.file)
        if stat.S_ISDIR(found.st_mode):
            raise Refused(f"{self.file or 'standard input'} is a folder", hint="give a file")
        return found.st_size if stat.S_ISREG(found.st_mode) else None


class PartitionReport(msgspec.Struct):
    partition: int
    records: int
    first_offset: int | None
    last_offset: int | None


class Report(msgspec.Struct):
    """What became of everything."""

    topic: str
    written: int = 0
    duplicates: int = 0
    failed: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    confirmed: bool = True
    partitions: list[PartitionReport] = []

    def wrote(self, sent: Sent) -> None:
        if sent.duplicate:
            self.duplicates += 1
            return
        self.written += 1
        offset = sent.offset if sent.offset >= 0 else None
        for part in self.partitions:
            if part.partition == sent.partition:
                part.records += 1
                part.last_offset = offset
                return
        self.partitions.append(PartitionReport(sent.partition, 1, offset, offset))

    def refused(self, place: str, error: GoQueueError) -> None:
        self.failed += 1
        if self.failed <= MOST_NAMED_FAILURES:
            print(f"error: {place}: {error.message}", file=sys.stderr)
        if self.failed == 1 and error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)

    def print(self, output: Output, *, quiet: bool) -> None:
        if output is not Output.TABLE:
            self.partitions.sort(key=lambda part: part.partition)
            print_answer(self, output, lambda: None)
        elif not quiet or self.failed:
            print(self._words(), file=sys.stderr)

    def _words(self) -> str:
        verb = "wrote" if self.confirmed else "sent, without confirmation,"
        rest = f"; {self.duplicates:,} were there before" if self.duplicates else ""
        rest += f"; {self.failed:,} could not be written" if self.failed else ""
        if self.written == 1 and self.confirmed:
            (part,) = self.partitions
            return f"wrote 1 record to {self.topic}/{part.partition} at offset {part.last_offset}{rest}"
        pace = f" in {self.seconds:.1f} s, {self.written / self.seconds:,.0f}/s" if self.seconds >= 1 else ""
        return f"{verb} {self.written:,} record{'' if self.written == 1 else 's'} to {self.topic}{pace}{rest}"


async def run_job(server: str, job: Job, source: Source) -> Report:
    """Read and send until there is nothing more, the broker does not take it, or somebody says stop."""
    async with Admin(server) as admin:
        # Asked before anything is read: a topic or a broker that is not there is no matter of a single record.
        await admin.topic(job.topic)
    report = Report(job.topic, confirmed=job.producer_settings["acks"] != "none")
    began = asyncio.get_running_loop().time()
    with progress_line(source.size()) if source.may_be_long else silence() as progress:
        async with Producer(server, **job.producer_settings) as producer:
            sending = _Sending(producer, job, source, report)
            try:
                report.interrupted = await until_interrupted(sending.run(progress))
            finally:
                # Also when the input breaks off: what was read is written.
                await sending.finish()
    report.seconds = round(asyncio.get_running_loop().time() - began, 3)
    return report


class _Sending:
    """Records under way, in the order in which they were read."""

    def __init__(self, producer: Producer, job: Job, source: Source, report: Report) -> None:
        self._producer = producer
        self._job = job
        self._source = source
        self._report = report
        self._under_way: deque[tuple[int, Delivery]] = deque()
        self._pace = _Pace(job.per_second)
        self._gave_up = False

    async def run(self, progress: ProgressLine) -> None:
        number = 0
        async for lines in self._source.chunks():
            for start in range(0, len(lines), LOOK_EVERY):
                some = lines[start : start + LOOK_EVERY]
                for line in some:
                    number += 1
                    await self._pace.next_turn()
                    await self._send(number, line)
                self._look_after()
                progress.advance(sum(map(len, some)) + len(some), number)
                if self._gave_up:
                    return

    async def _send(self, number: int, line: bytes) -> None:
        try:
            record, partition, record_id, delay_ms, deliver_at_ns = self._job.parse(line)
            delivery = await self._producer.send(
                self._job.topic,
                record.value,
                key=record.key,
                headers=record.headers,
                partition=partition,
                priority=record.priority,
                id=record_id,
                delay_ms=delay_ms,
                deliver_at_ns=deliver_at_ns,
            )
        except GoQueueError as error:
            self._refused(number, error)
        else:
            self._under_way.append((number, delivery))

    def _look_after(self) -> None:
        """Take note of those that are settled, oldest first."""
        while self._under_way and self._under_way[0][1].done():
            number, delivery = self._under_way.popleft()
            try:
                self._report.wrote(delivery.result())
            except GoQueueError as error:
                self._refused(number, error)

    def _refused(self, number: int, error: GoQueueError) -> None:
        self._report.refused(f"{self._source.word} {number}", error)
        # What is wrong with the record is its own affair; anything else is going to happen to the next one too.
        self._gave_up |= not isinstance(error, InvalidRequest | UnknownPartition)

    async def finish(self) -> None:
        # The record that a failure is about tells of it.
        with contextlib.suppress(GoQueueError):
            await self._producer.flush()
        self._look_after()


class _Pace:
    """Lets so many through in a second, at even distances; what was missed for longer is not made up for."""

    def __init__(self, per_second: float | None) -> None:
        self._per_second = per_second
        self._clock = SystemClock()
        self._next_at = 0.0

    async def next_turn(self) -> None:
        if self._per_second is None:
            return
        now = asyncio.get_running_loop().time()
        self._next_at = max(self._next_at, now - MOST_MADE_UP_S)
        ahead_ms = (self._next_at - now) * 1000
        if ahead_ms >= 1:
            await self._clock.sleep_ms(int(ahead_ms))
        self._next_at += 1 / self._per_second
