"""Delay limits: the rules for due times, the same for every transport."""

from collections.abc import Sequence

from goqueue.errors import InvalidRecord
from goqueue.model.topic import Cleanup, Topic

__all__ = ["AT_ONCE", "LATEST_NS", "check_due", "check_dues", "due_ns"]

NS_PER_MS = 1_000_000
AT_ONCE = 0
"""The due time of a record that is not delayed. Any instant in the past means the same."""
LATEST_NS = (1 << 63) - 1
"""In the year 2262."""


def due_ns(delay_ms: int | None, deliver_at_ns: int | None, *, now_ns: int) -> int:
    """The due time that results from a delay, an instant, or neither."""
    if delay_ms is not None and deliver_at_ns is not None:
        raise InvalidRecord("a delay and a delivery time cannot both be given", hint="give one of them")
    if delay_ms is not None:
        if delay_ms < 0:
            raise InvalidRecord(f"delay must be 0 ms or more, got {delay_ms}", hint="use 0 for immediate delivery")
        return now_ns + delay_ms * NS_PER_MS if delay_ms else AT_ONCE
    if deliver_at_ns is None:
        return AT_ONCE
    if deliver_at_ns < 0:
        raise InvalidRecord(
            f"delivery time must be 0 ns (1970) or later, got {deliver_at_ns}", hint="give Unix time in nanoseconds"
        )
    return deliver_at_ns


def check_dues(topic: Topic, dues: Sequence[int], *, since_ns: int) -> None:
    """Like `check_due`, for the records of a batch; no due time is before 1970."""
    if dues:
        if min(dues) < 0:
            raise InvalidRecord(
                f"delivery time must be 0 ns (1970) or later, got {min(dues)}", hint="give Unix time in nanoseconds"
            )
        check_due(topic, max(dues), since_ns=since_ns)


def check_due(topic: Topic, due: int, *, since_ns: int) -> None:
    """Check that a record written at `since_ns` is still retained when it is due."""
    if due > LATEST_NS:
        raise InvalidRecord(
            f"delivery time must be at most {LATEST_NS} ns, got {due}", hint="the latest is in the year 2262"
        )
    kept_ms = topic.config.retention_ms
    if kept_ms is None or topic.config.cleanup is Cleanup.COMPACT or due - since_ns <= kept_ms * NS_PER_MS:
        return
    raise InvalidRecord(
        f"a delay of {(due - since_ns) // NS_PER_MS} ms, but {topic.name} keeps records for {kept_ms} ms",
        hint="the record would be gone before it is due: choose an earlier time, or a longer retention for the topic",
    )
