"""Tracing settings: the share of records that is traced, and the number of spans kept in memory."""

from typing import Annotated

import msgspec

__all__ = ["TracingSettings"]


class TracingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Failures are traced at any rate, unless tracing is disabled."""

    enabled: bool = True
    """Whether spans are noted at all."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Share of records that are traced, in topics without a `trace_rate` of their own. With 0, only failures are
    traced."""
    ring: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 10_000
    """Number of spans kept in memory."""
