"""Jitter: the delay of a firing after its occurrence, so that many schedules of one time do not all fire at once.

The delay is a hash of the schedule and the occurrence, not random: after a restart, it is the same. It ends before the
next occurrence, so firings keep the order of their occurrences.
"""

from hashlib import blake2b

from goqueue.core.schedules.cron import Times, next_after
from goqueue.model.ids import InstantNs

__all__ = ["due_at"]

MS_NS = 1_000_000


def due_at(schedule_id: str, times: Times, jitter_ms: int, occurrence: InstantNs) -> InstantNs:
    """The due time of an occurrence: at the occurrence or later, and before the next one."""
    if jitter_ms == 0:
        return occurrence
    longest = jitter_ms
    following = next_after(times, occurrence)
    if following is not None:
        longest = min(longest, (following - occurrence - 1) // MS_NS)
    digest = blake2b(f"{schedule_id}@{occurrence}".encode(), digest_size=8).digest()
    return InstantNs(occurrence + int.from_bytes(digest, "big") % (longest + 1) * MS_NS)
