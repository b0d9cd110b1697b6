"""Idle retention: how long the broker keeps unused groups, producers and transactional ids."""

from typing import Annotated

import msgspec

__all__ = ["LONGEST_KEPT_MS", "ExpirySettings", "OffsetsRetention"]

MINUTE_MS = 60_000
WEEK_MS = 7 * 24 * 60 * MINUTE_MS
LONGEST_KEPT_MS = (1 << 53) - 1
"""Beyond this, clients that store numbers as doubles would round."""

Kept = Annotated[int, msgspec.Meta(ge=MINUTE_MS, le=LONGEST_KEPT_MS)]
OffsetsRetention = Kept


class ExpirySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long unused state is kept, at least a minute."""

    offsets_retention_ms: OffsetsRetention = WEEK_MS
    """An empty consumer group without leases, retries and waiting workers, with its committed offsets and
    acknowledgements; a topic and a group may set their own `offsets_retention_ms`.
    """
    producers_retention_ms: Kept = WEEK_MS
    """State of an idempotent producer, from which a repeated batch is recognised."""
    transactional_ids_retention_ms: Kept = WEEK_MS
    """A transactional id without an open transaction."""
