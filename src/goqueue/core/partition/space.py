"""When the disk is too full to take more records, and when there is room again."""

__all__ = ["DiskGuard"]

STOP_AT_USED = 0.90
RESUME_BELOW_USED = 0.89
"""A little lower than the stop, so that writes do not flicker on and off at the edge."""


class DiskGuard:
    """Told how full the disk is; says whether records are accepted."""

    def __init__(self, stop_at_used: float = STOP_AT_USED) -> None:
        self._stop_at = stop_at_used
        self._resume_below = stop_at_used - (STOP_AT_USED - RESUME_BELOW_USED)
        self.used_share = 0.0
        self.is_full = False

    def update(self, used_share: float) -> bool:
        """Whether the answer changed."""
        before = self.is_full
        self.used_share = used_share
        self.is_full = used_share >= (self._resume_below if before else self._stop_at)
        return self.is_full != before
