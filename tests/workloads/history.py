"""History of a run: what clients asked for and were told, and what of it a broken promise would contradict.

Times are numbers of a counter: of two events the one with the smaller number was over before the other began.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from goqueue.model.log import LogId

__all__ = ["At", "Delivery", "History", "Outcome", "Transaction", "violations"]


class At(NamedTuple):
    """One record of one topic."""

    topic: str
    partition: int
    offset: int


class Delivery(NamedTuple):
    group: str
    at: At
    value: bytes
    asked: int
    """When the poll that returned it began."""


@dataclass
class Transaction:
    """A job that was done, and the two records that were written for it."""

    job: bytes
    outcome: str = "abandoned"
    """Or `unknown`, once its commit was asked for; `committed`, `aborted` when that was confirmed."""


@dataclass
class History:
    """Written by clients while the broker is killed; a confirmation is noted after it has arrived."""

    attempted: set[bytes] = field(default_factory=set)
    published: dict[bytes, At] = field(default_factory=dict)
    deliveries: list[Delivery] = field(default_factory=list)
    done: dict[tuple[str, At], int] = field(default_factory=dict)
    """When an ack or a reject was confirmed."""
    rejecting: dict[str, set[At]] = field(default_factory=lambda: defaultdict(set))
    """Records that a group wanted to reject, confirmed or not."""
    rejected: set[tuple[str, At]] = field(default_factory=set)
    committed: list[tuple[int, str, LogId, int]] = field(default_factory=list)
    """Offsets of streams: when the commit was confirmed, for which group and partition, and the offset."""
    transactions: dict[str, Transaction] = field(default_factory=dict)
    _clock: Iterator[int] = field(default_factory=lambda: count(1))

    def now(self) -> int:
        return next(self._clock)


class Outcome(NamedTuple):
    """What lies in the topics when all is over."""

    records: Mapping[At, bytes]
    """Of the topics that were published to."""
    letters: Mapping[At, bytes]
    """Values of dead letters, by where their records came from."""
    letters_total: int
    outputs: Iterable[bytes]
    """What transactions wrote: `name of the transaction/job/part`."""


def violations(
    history: History, outcome: Outcome, queues: Iterable[str], streams: Iterable[str], transforms: Iterable[str]
) -> list[str]:
    """One line for each promise that was broken; none, if the broker kept them all."""
    return [
        *_of_the_log(history, outcome.records),
        *_of_order(outcome.records),
        *_of_deliveries(history, outcome.records, [*queues, *streams, *transforms]),
        *_of_streams(history),
        *_of_letters(history, outcome),
        *_of_transactions(history, outcome),
    ]


def _of_the_log(history: History, records: Mapping[At, bytes]) -> Iterator[str]:
    for value, at in history.published.items():
        if records.get(at) != value:
            yield f"lost: {value!r} was confirmed at {at}, where {records.get(at)!r} lies"
    for value, times in Counter(records.values()).items():
        if times > 1:
            yield f"duplicated: {value!r} lies {times} times in its topic"
        if value not in history.attempted:
            yield f"unexpected: {value!r} was never published"


def _of_order(records: Mapping[At, bytes]) -> Iterator[str]:
    """A publisher sends `name/number` with its name as key, one after the other."""
    latest: dict[bytes, int] = {}
    for at in sorted(records):
        publisher, number = records[at].rsplit(b"/", 1)
        if int(number) <= latest.get(publisher, -1):
            yield f"reordered: {records[at]!r} at {at} lies behind number {latest[publisher]}"
        latest[publisher] = int(number)


def _of_deliveries(history: History, records: Mapping[At, bytes], groups: list[str]) -> Iterator[str]:
    seen: dict[str, set[At]] = {group: set() for group in groups}
    for one in history.deliveries:
        seen[one.group].add(one.at)
        if records.get(one.at) != one.value:
            yield f"unexpected: {one.group} was given {one.value!r} at {one.at}, where {records.get(one.at)!r} lies"
        confirmed = history.done.get((one.group, one.at))
        if confirmed is not None and one.asked > confirmed:
            yield f"redelivered: {one.group} was given {one.at} in a poll that began after its end was confirmed"
    for group, some in seen.items():
        for at in records.keys() - some:
            yield f"never delivered: {group} was not given {at}"


def _of_streams(history: History) -> Iterator[str]:
    # By time, with the highest offset that was committed until then.
    commits: dict[tuple[str, LogId], list[tuple[int, int]]] = defaultdict(list)
    for when, group, log, offset in sorted(history.committed):
        known = commits[group, log]
        known.append((when, max(offset, known[-1][1] if known else 0)))
    for one in history.deliveries:
        known = commits.get((one.group, LogId(one.at.topic, one.at.partition)), [])
        before = bisect_left(known, (one.asked, 0))
        if before and one.at.offset < known[before - 1][1]:
            yield f"redelivered: {one.group} was given {one.at} after offset {known[before - 1][1]} was committed"


def _of_letters(history: History, outcome: Outcome) -> Iterator[str]:
    if outcome.letters_total != len(outcome.letters):
        yield f"duplicated: {outcome.letters_total} dead letters of {len(outcome.letters)} records"
    wanted = {at for some in history.rejecting.values() for at in some}
    for at, value in outcome.letters.items():
        if at not in wanted:
            yield f"unexpected: {value!r} at {at} is a dead letter, and was never rejected"
        if outcome.records.get(at) != value:
            yield f"unexpected: the dead letter of {at} has the value {value!r}"
    for group, at in history.rejected:
        if at not in outcome.letters:
            yield f"lost: {at} was rejected by {group}, and is no dead letter"


def _of_transactions(history: History, outcome: Outcome) -> Iterator[str]:
    parts: dict[str, list[bytes]] = defaultdict(list)
    doers: dict[bytes, list[str]] = defaultdict(list)
    for value in outcome.outputs:
        name, job, part = value.split(b"|")
        parts[name.decode()].append(part)
        if part == b"a":
            doers[job].append(name.decode())
    for name, found in parts.items():
        if sorted(found) != [b"a", b"b"]:
            yield f"not atomic: of transaction {name} the parts {found} can be read"
        known = history.transactions.get(name)
        if known is None or known.outcome in ("aborted", "abandoned"):
            yield f"unexpected: transaction {name} can be read, and was {known.outcome if known else 'never begun'}"
    for name, known in history.transactions.items():
        if known.outcome == "committed" and name not in parts:
            yield f"lost: transaction {name} was committed"
    for job in outcome.records.values():
        if len(doers[job]) != 1:
            yield f"not exactly once: {job!r} was done by {doers[job] or 'no transaction'}"
