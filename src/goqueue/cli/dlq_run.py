"""The work of `goqueue dlq`: many requests one after the other, with a look at how far it is."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import msgspec

from goqueue.cli.remote import with_commands_as_hints
from goqueue.cli.waiting import until_interrupted
from goqueue.client import Admin
from goqueue.wire.native.letters import (
    UNCHANGED,
    Cursor,
    FoundLetter,
    LetterEdit,
    LetterMove,
    LetterRefusal,
    LetterSelect,
    RedriveReply,
)

__all__ = ["Done", "Work", "find_letters", "run_purge", "run_redrive"]

AT_ONCE = 1000
"""Letters in one request: it must be answered in time."""
PAGE = 1000
MOST_TOLD = 1000


class Work(msgspec.Struct, frozen=True):
    topic: str
    select: LetterSelect
    limit: int | None = None
    dry_run: bool = False
    edit: LetterEdit = UNCHANGED
    per_second: float | None = None


class Done(msgspec.Struct):
    """What became of all requests together."""

    topic: str
    dry_run: bool
    dlq_topic: str = ""
    matched: int = 0
    done: int = 0
    failed: int = 0
    missing: int = 0
    moves: list[LetterMove] = []
    failures: list[LetterRefusal] = []
    stopped: str | None = None
    interrupted: bool = False

    def add(self, reply: RedriveReply) -> None:
        self.dlq_topic = reply.topic
        self.matched += reply.matched
        self.done += reply.done
        self.failed += reply.failed
        self.missing += reply.missing
        self.moves += reply.moves[: MOST_TOLD - len(self.moves)]
        self.failures += reply.failures[: MOST_TOLD - len(self.failures)]
        self.stopped = reply.stopped


async def find_letters(admin: Admin, topic: str, select: LetterSelect, limit: int) -> tuple[list[FoundLetter], bool]:
    """So many of them, and whether there may be more."""
    found: list[FoundLetter] = []
    after: Cursor | None = None
    while len(found) < limit:
        page = await admin.dead_letters(topic, select, limit=min(PAGE, limit - len(found)), after=after)
        found += page.letters
        after = page.next
        if after is None:
            return found, False
    more = await admin.dead_letters(topic, select, limit=1, after=after)
    return found, bool(more.letters) or more.next is not None


Ask = Callable[[Admin, int, Cursor | None, tuple[int, ...] | None], Awaitable[RedriveReply]]


def run_redrive(server: str, work: Work) -> Done:
    async def step(admin: Admin, limit: int, after: Cursor | None, ends: tuple[int, ...] | None) -> RedriveReply:
        return await admin.redrive_dead_letters(
            work.topic,
            work.select,
            work.edit,
            dry_run=work.dry_run,
            limit=limit,
            per_second=work.per_second,
            after=after,
            ends=ends,
        )

    at_once = AT_ONCE if work.per_second is None else max(1, min(AT_ONCE, int(work.per_second)))
    return _run(server, work, step, at_once)


def run_purge(server: str, work: Work) -> Done:
    async def step(admin: Admin, limit: int, after: Cursor | None, ends: tuple[int, ...] | None) -> RedriveReply:
        return await admin.purge_dead_letters(
            work.topic, work.select, dry_run=work.dry_run, limit=limit, after=after, ends=ends
        )

    return _run(server, work, step, 10 * AT_ONCE)


def _run(server: str, work: Work, ask: Ask, at_once: int) -> Done:
    done = Done(work.topic, work.dry_run)

    async def run() -> None:
        async with Admin(server) as admin:
            with _progress() as progress:
                if progress.is_shown:
                    total = (await admin.dead_letter_stats(work.topic)).count
                    progress.begin(min(total, work.limit or total))
                await _each(admin, work, ask, at_once, done, progress)

    async def until_done() -> bool:
        return await until_interrupted(run())

    with with_commands_as_hints(server):
        done.interrupted = asyncio.run(until_done())
    return done


async def _each(admin: Admin, work: Work, ask: Ask, at_once: int, done: Done, progress: "Progress") -> None:
    after: Cursor | None = None
    ends: tuple[int, ...] | None = None
    while work.limit is None or done.matched < work.limit:
        limit = at_once if work.limit is None else min(at_once, work.limit - done.matched)
        reply = await ask(admin, limit, after, ends)
        done.add(reply)
        progress.advance(reply.matched)
        after, ends = reply.next, reply.ends
        if after is None or reply.stopped:
            return


class Progress:
    """Nothing to see, where there is nobody to look."""

    is_shown = False

    def begin(self, total: int) -> None:
        pass

    def advance(self, count: int) -> None:
        pass


@contextmanager
def _progress() -> Iterator[Progress]:
    """On a terminal, gone when the block ends."""
    if not sys.stderr.isatty():
        yield Progress()
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("dead letters"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        class Bar(Progress):
            is_shown = True

            def begin(self, total: int) -> None:
                bars.update(task, total=total)

            def advance(self, count: int) -> None:
                bars.advance(task, count)

        yield Bar()
