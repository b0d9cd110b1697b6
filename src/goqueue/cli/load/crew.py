"""All processes of one load: started together, added up while they run, ended in any case."""

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from goqueue.cli.load.latencies import Latencies
from goqueue.cli.load.plan import Plan, Progress, Summary
from goqueue.errors import ERRORS_BY_CODE, GoQueueError

__all__ = ["LoadFailed", "Measured", "run_crew"]

READY_WITHIN_S = 60.0
BEYOND_S = 60.0
MOST_LINE = 1 << 20

Tell = Callable[[Progress], None]


class LoadFailed(GoQueueError):
    """A process of the load generator ended before it was done."""

    code = "load_failed"
    default_hint = "`goqueue doctor` says whether the broker can be reached"


class Measured(msgspec.Struct, frozen=True):
    """What all processes did together; seconds are those of the slowest."""

    records: int
    bytes: int
    seconds: float
    latencies: Latencies
    failures: dict[str, int]


class _Report(msgspec.Struct):
    ready: bool = False
    progress: Progress | None = None
    summary: Summary | None = None
    error: str | None = None
    message: str = ""
    hint: str | None = None


async def run_crew(plans: Sequence[Plan], tell: Tell) -> Measured:
    """One process for each plan; `tell` hears how far they are."""
    so_far = [Progress() for _ in plans]
    summaries: list[Summary] = []

    async def follow(number: int, process: asyncio.subprocess.Process, seconds: float) -> None:
        async with asyncio.timeout(seconds + BEYOND_S):
            while (report := await _report(process)).summary is None:
                so_far[number] = report.progress or so_far[number]
                tell(_sum(so_far))
        summaries.append(report.summary)

    async with _processes(plans) as crew:
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                for process in crew:
                    await _report(process)
            for process in crew:
                assert process.stdin is not None
                process.stdin.write(b"go\n")
            await asyncio.gather(*(follow(at, one, plans[at].seconds) for at, one in enumerate(crew)))
        except TimeoutError:
            raise LoadFailed("a process of the load generator does not answer") from None
    return _measured(summaries)


@asynccontextmanager
async def _processes(plans: Sequence[Plan]) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    crew: list[asyncio.subprocess.Process] = []
    try:
        for plan in plans:
            crew.append(
                await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "goqueue.cli.load.process", msgspec.json.encode(plan).decode()),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=MOST_LINE,
                    # Ctrl-C is for this process, which ends the others.
                    start_new_session=True,
                )
            )
        yield crew
    finally:
        for process in crew:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.terminate()
            await process.wait()


async def _report(process: asyncio.subprocess.Process) -> _Report:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise LoadFailed("a process of the load generator ended too early")
    report = msgspec.json.decode(line, type=_Report)
    if report.error is not None:
        kind: Any = ERRORS_BY_CODE.get(report.error, LoadFailed)
        raise kind(report.message, hint=report.hint)
    return report


def _sum(parts: Sequence[Progress]) -> Progress:
    return Progress(
        sum(one.records for one in parts), sum(one.bytes for one in parts), sum(one.errors for one in parts)
    )


def _measured(summaries: Sequence[Summary]) -> Measured:
    latencies = Latencies()
    failures: Counter[str] = Counter()
    for one in summaries:
        latencies.merge(one.latencies)
        failures.update(one.failures)
    return Measured(
        sum(one.records for one in summaries),
        sum(one.bytes for one in summaries),
        max((one.seconds for one in summaries), default=0.0),
        latencies,
        dict(failures),
    )
