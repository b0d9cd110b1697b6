"""Retry policy: number of attempts, and the pauses between them."""

import msgspec

from goqueue.model.ids import InstantNs

__all__ = ["RetryPolicy"]

NS_PER_MS = 1_000_000
GOLDEN = 0x9E3779B97F4A7C15


class RetryPolicy(msgspec.Struct, frozen=True):
    """`jitter` is the random share of the pause."""

    max_attempts: int = 3
    backoff_ms: int = 1000
    max_backoff_ms: int = 60_000
    jitter: float = 0.0

    def is_exhausted(self, failures: int) -> bool:
        return failures >= self.max_attempts

    def visible_at(self, offset: int, failures: int, now: InstantNs) -> InstantNs:
        """When a record with this number of failures becomes visible again.

        The random share is derived from the offset and the count, so that repeating a decision gives the same result.
        """
        pause_ns = min(self.backoff_ms << min(failures - 1, 40), self.max_backoff_ms) * NS_PER_MS
        chance = ((offset + 1) * (failures + 1) * GOLDEN & 0xFFFFFFFF) / 0x100000000
        return InstantNs(now + int(pause_ns * (1 - self.jitter * chance)))
