"""Idle retention: how long the broker keeps what is not used any more."""

from typing import Annotated

import msgspec

__all__ = ["LONGEST_KEPT_MS", "ExpirySettings", "OffsetsRetention"]

MINUTE_MS = 60_000
WEEK_MS = 7 * 24 * 60 * MINUTE_MS
LONGEST_KEPT_MS = (1 << 53) - 1
"""Beyond this, clients that keep numbers as doubles would round."""

Kept = Annotated[int, msgspec.Meta(ge=MINUTE_MS, le=LONGEST_KEPT_MS)]
OffsetsRetention = Kept


class ExpirySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long what is not used any more is kept, at least a minute."""

    offsets_retention_ms: OffsetsRetention = WEEK_MS
    """A consumer group without members, leases, retries and workers, with the offsets it committed and what it
    acknowledged; a topic and a group may have an `offsets_retention_ms` of their own."""
    producers_retention_ms: Kept = WEEK_MS
    """What an idempotent producer has sent, by which a batch that is sent again is recognised."""
    transactional_ids_retention_ms: Kept = WEEK_MS
    """A transactional id without an open transaction."""
