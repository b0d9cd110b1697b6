"""How a topic treats its five lanes: their weights, or strict order, and how long a lane may be passed over."""

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
    """A lane passed over for so long is served next, also in strict order."""

    def __post_init__(self) -> None:
        # A weight of 0 would be a lane that is served by the starvation bound alone: strict order says that better.
        if len(self.weights) != LANES or not all(LIGHTEST <= weight <= HEAVIEST for weight in self.weights):
            raise InvalidRequest(
                f"{self.weights} are not weights of lanes",
                hint=f"give {LANES} numbers from {LIGHTEST} to {HEAVIEST}, critical first",
            )
        if not 1 <= self.starvation_ms <= LONGEST_STARVATION_MS:
            raise InvalidRequest(
                f"a lane cannot be passed over for {self.starvation_ms} ms",
                hint=f"give 1 to {LONGEST_STARVATION_MS} ms",
            )
