"""Disk guard: stops writes when the disk is too full, and resumes them when there is space again."""

__all__ = ["DiskGuard"]

STOP_AT_USED = 0.90
RESUME_BELOW_USED = 0.89
"""Slightly below the stop, so that writes do not flap at the threshold."""


class DiskGuard:
    """Takes the disk usage; says whether records are accepted."""

    def __init__(self, stop_at_used: float = STOP_AT_USED) -> None:
        self._stop_at = stop_at_used
        self._resume_below = stop_at_used - (STOP_AT_USED - RESUME_BELOW_USED)
        self.used_share = 0.0
        self.is_full = False

    def update(self, used_share: float) -> bool:
        """True if the answer changed."""
        before = self.is_full
        self.used_share = used_share
        self.is_full = used_share >= (self._resume_below if before else self._stop_at)
        return self.is_full != before
