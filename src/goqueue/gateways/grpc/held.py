"""Members whose membership is a stream: for them the listener knows the generation better than they do.

The stream keeps in step with the group, and a client learns of it a moment later. Without this, two rebalances in that
moment would make its commits those of a member that was left behind.
"""

from collections.abc import Callable

__all__ = ["HeldMembers"]


class HeldMembers:
    """Those of one listener."""

    def __init__(self) -> None:
        self._generations: dict[tuple[str, str], Callable[[], int]] = {}

    def hold(self, group: str, member_id: str, generation: Callable[[], int]) -> None:
        self._generations[group, member_id] = generation

    def release(self, group: str, member_id: str) -> None:
        self._generations.pop((group, member_id), None)

    def generation(self, group: str, member_id: str | None, said: int | None) -> int | None:
        """In which one a member speaks: what it said, unless its stream knows."""
        known = None if member_id is None else self._generations.get((group, member_id))
        return said if known is None else known()
