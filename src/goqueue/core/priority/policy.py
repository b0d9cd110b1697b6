"""Lane policy of a topic: weights of the five lanes, or strict order, and the starvation limit."""

import msgspec

from goqueue.errors import InvalidRequest
from goqueue.model.priority import LANES

__all__ = ["LanePolicy"]

LIGHTEST, HEAVIEST = 1, 1000
LONGEST_STARVATION_MS = 24 * 3600 * 1000


class LanePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights are shares of the records delivered while every lane has some; only their ratio counts."""

    weights: tuple[int, ...] = (50, 25, 15, 7, 3)
    strict: bool = False
    """Always the highest lane that has records, whatever the weights."""
    starvation_ms: int = 30_000
    """A lane that was not served for this long is served next, also in strict order."""

    def __post_init__(self) -> None:
        # A lane of weight 0 would be served by the starvation limit alone: strict order expresses that better.
        if len(self.weights) != LANES or not all(LIGHTEST <= weight <= HEAVIEST for weight in self.weights):
            raise InvalidRequest(
                f"{self.weights} are not weights of lanes",
                hint=f"give {LANES} numbers from {LIGHTEST} to {HEAVIEST}, critical first",
            )
        if not 1 <= self.starvation_ms <= LONGEST_STARVATION_MS:
            raise InvalidRequest(
                f"the starvation limit must be from 1 to {LONGEST_STARVATION_MS} ms, got {self.starvation_ms}",
                hint="the default is 30000 ms",
            )
