"""How much is traced, and how much of it is kept at hand."""

from typing import Annotated

import msgspec

__all__ = ["TracingSettings"]


class TracingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Failures are traced at any rate, unless it is not enabled."""

    enabled: bool = True
    """Whether spans are noted at all."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """The share of records that are traced, for topics without a `trace_rate` of their own: none but failures."""
    ring: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 10_000
    """Spans that are kept in memory."""
